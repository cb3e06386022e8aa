"""`dgtd compare`: the main job. Rules against each other on problems, with a report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import typer

from harness.commands.options import (
    INTERRUPTED,
    LEARNERS,
    ActingOptions,
    PredictorText,
    Where,
    a_path,
    numbers,
    runs_lanes,
)
from harness.commands.output import AsJson, open_store, print_json, print_table, save_json, say, tell

PROBLEMS = "baird,random_walk,boyan,grid_world"
RULES = "gtd2,tdc"
ROUNDS = 2  # times that the default grid is extended where a choice lies on its edge
OutFolder = typer.Option(
    Path("results/compare"), "--out", help="Folder for report.html, compare.json and figures/.", parser=a_path,
    metavar="PATH",
)  # fmt: skip


@runs_lanes
def compare(
    where: Where,
    acting: ActingOptions,
    problems: str = typer.Option(PROBLEMS, help="Problems, or worlds as in cartpole-v1, separated by commas."),
    rules: str = typer.Option(
        RULES, help="Names, or path/to/file.py:function, separated by commas. In a world also dqn, c51."
    ),
    targets: str = typer.Option("value,cdf", help="value, cdf (the distributional form), or both."),
    seeds: int = typer.Option(30, help="Paired seeds: 0 … n − 1."),
    steps: int = typer.Option(50_000, help="Steps per lane."),
    alpha: float | None = typer.Option(None, help="Step size of θ for all; without it a sweep chooses."),
    beta: float | None = typer.Option(None, help="Step size of w for all; on a finite problem it goes with --alpha."),
    alphas: str | None = typer.Option(None, help="The sweep's α, separated by commas."),
    ratios: str | None = typer.Option(None, help="The sweep's β/α, separated by commas."),
    atoms: int | None = typer.Option(
        None, help="Atoms of the distributional forms: 21, in a world 40, or 30 for policy iteration."
    ),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    out: Path = OutFolder,
    predictor: str | None = PredictorText,
    learner: str = typer.Option("agent", help="In a world: agent, or policy-iteration (SGD, with replay)."),
    threshold: float | None = typer.Option(
        None, help="In a world: count the steps to this return. Otherwise: half-way to what the best agent earns."
    ),
    as_json: bool = AsJson,
) -> int:
    """Compare rules and their distributional forms on problems, or agents in worlds; step sizes by a sweep."""
    from dataclasses import replace

    from algorithms.names import look_up
    from algorithms.rules import PUBLISHED
    from algorithms.stepping import check_steps
    from harness.commands.carry_out import carried_out
    from harness.commands.progress import progress
    from harness.compare import agreement
    from harness.compare.across import across
    from harness.compare.across import as_dict as across_as_dict
    from harness.compare.comparison import as_dict, number_of_tests, undecidable
    from harness.compare.comparison import compare as weigh
    from harness.compare.contest import Contest, choose
    from harness.compare.expected import add_exact, exact_jobs
    from harness.report.markup import writable
    from harness.report.page import page
    from harness.runs.predictors import parse
    from harness.worlds.world import is_world

    look_up("learner", learner, LEARNERS)
    if any(map(is_world, split(problems))) or set(split(rules)) & set(PUBLISHED) or learner != "agent":
        from harness.commands.control import compare_agents
        from harness.runs.spec import StepSchedule

        if ratios is not None:
            raise ValueError("ratios are those of step sizes on finite problems: in a world give --beta")
        return compare_agents(
            where, split(problems), split(rules), split(targets), seeds=seeds, steps=steps, alpha=alpha, beta=beta,
            alphas=None if alphas is None else numbers("alphas", alphas), atoms=atoms, projection=projection,
            seed=seed, predictor=predictor, kind=learner, threshold=threshold, out=out, as_json=as_json,
            settings=acting.settings, states=acting.observations, schedule=StepSchedule(schedule),
            command=repeat(locals() | {"store": where.store} | vars(acting)),
        )  # fmt: skip
    acting.refuse(problems)
    if threshold is not None:
        raise ValueError("threshold is a return of agents in a world: give a world")
    if (alpha is None) != (beta is None):
        raise ValueError("alpha and beta must be given together, or neither, for a sweep")
    if alpha is not None and (alphas is not None or ratios is not None):
        raise ValueError("alphas and ratios are the sweep's, and alpha and beta leave no sweep: give one or the other")
    if alpha is not None and beta is not None:
        check_steps(alpha, beta)
    contest = Contest(
        problems=split(problems), contestants=contestants(rules, targets), steps=steps, seeds=seeds,
        atoms=21 if atoms is None else atoms,
        projection=projection, schedule=schedule, root_seed=seed, grid=grid(alphas, ratios),
        steps_given=None if alpha is None or beta is None else (alpha, beta),
        predictor=None if predictor is None else parse(predictor),
    )  # fmt: skip
    _ = where.make  # a wrong executor is an error before there is a store
    writable(out)
    command = repeat(locals() | {"store": where.store})
    with open_store(where.store) as results:
        # Before anything runs, and after whatever is wrong with the input.
        if words := undecidable(contest.seeds, number_of_tests(contest)):
            print(f"dgtd: {words}", file=sys.stderr)

        if not carried_out("sweep", contest.sweep_requests(), results, where):
            return INTERRUPTED
        for _ in range(ROUNDS if alphas is None and ratios is None else 0):  # a grid that was asked for is left alone
            wider = contest.grid.beyond(choice.best for choice in choose(contest, results).values())
            if contest.steps_given is not None or wider == contest.grid:
                break
            contest = replace(contest, grid=wider)
            if not carried_out("wider sweep", contest.sweep_requests(), results, where):
                return INTERRUPTED
        chosen = choose(contest, results)
        if not carried_out("runs", contest.final_requests(chosen), results, where, exact_jobs(contest, chosen)):
            return INTERRUPTED
        found = weigh(contest, results, chosen)
        add_exact(found, results)
    document = (
        as_dict(found)
        | {"across": across_as_dict(across(found)), "exact": agreement.as_dict(found)}
        | {"command": command, "report": str(out / "report.html")}
    )
    key = content_key(document)
    if not _drawn(out, key):
        (out / "compare.json").unlink(missing_ok=True)  # whoever interrupts the drawing leaves no key behind
        with progress("report") as tick:
            page(found, command, out, tick)
    save_json(out / "compare.json", document | {"key": key})
    if as_json:
        print_json(document)
    else:
        _print(found, out / "report.html", command)
    return 0


def split(text: str) -> tuple[str, ...]:
    """Names separated by commas, but not by those inside brackets; each once."""
    parts, depth, word = [], 0, ""
    for letter in text + ",":
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(word.strip())
            word = ""
        else:
            word += letter
    if word:  # a bracket that is never closed: whoever looks the name up will say so
        parts.append(word[:-1].strip())
    return tuple(dict.fromkeys(part for part in parts if part))


def contestants(rules: str, targets: str) -> tuple[Any, ...]:
    """Every rule on values, then every rule on distributions."""
    from algorithms.targets import target_class
    from harness.compare.contest import Contestant
    from harness.runs.rule_files import reference

    kinds = split(targets)
    if not kinds:
        raise ValueError(f"targets must name value, cdf or both, got {targets!r}")
    for kind in kinds:
        target_class(kind)
    named = list(dict.fromkeys(map(reference, split(rules))))
    names = [rule.name for rule in named]
    aliases = [f"{rule.path}:{rule.name}" if names.count(rule.name) > 1 and rule.path else "" for rule in named]
    return tuple(Contestant(rule, kind, alias) for kind in kinds for rule, alias in zip(named, aliases, strict=True))


def grid(alphas: str | None, ratios: str | None) -> Any:
    """The sweep's grid, with what was given."""
    from dataclasses import replace

    from harness.compare.contest import Grid

    made = Grid()
    if alphas is not None:
        made = replace(made, alphas=numbers("alphas", alphas))
    if ratios is not None:
        made = replace(made, ratios=numbers("ratios", ratios))
    return made


def repeat(given: dict[str, Any]) -> str:
    """The command with every option that decides its numbers and is not its default: who runs them decides none."""
    import inspect

    words = ["dgtd", "compare"]
    for name, parameter in inspect.signature(compare).parameters.items():
        if name == "as_json" or name not in given or given[name] == parameter.default.default:
            continue
        value = given[name]
        words += [f"--{name.replace('_', '-')}", repr(value) if isinstance(value, float) else str(value)]
    return shlex.join(words)


def content_key(document: dict[str, Any]) -> str:
    """Of the numbers, times apart, and of the code that draws them: an unchanged report is not drawn again."""
    import hashlib
    import json
    import re

    from harness.commands.output import plain

    text = json.dumps(plain(document), sort_keys=True)
    digest = hashlib.sha256(re.sub(r'"(microseconds_\w+|sweep_seconds)": [^,}]+', "", text).encode())
    for file in sorted((Path(__file__).parents[1] / "report").iterdir()):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _drawn(out: Path, key: str) -> bool:
    import json

    from harness.report.markup import FORMATS, written

    try:
        stored = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    listed = written(out)
    return (
        bool(listed)
        and isinstance(stored, dict)
        and stored.get("key") == key
        and all((out / "figures" / f"{name}.{kind}").exists() for name in listed for kind in FORMATS)
    )


def _print(found: Any, path: Path, command: str) -> None:
    import numpy as np

    from harness.compare.comparison import ALPHA
    from harness.judging.statistics import median_interval
    from harness.report.words import answer, sparkline

    columns = [
        "rule",
        "α",
        "β",
        "RMSPBE, end",
        "area",
        "value error, end",
        "diverged",
        "µs/step",
        "RMSPBE over log steps",
    ]
    for problem in found.contest.problems:
        rows = []
        for entry in found.at(problem):
            cells = []
            for metric, number in (("rmspbe", "final"), ("rmspbe", "auc"), ("rmsve", "final")):
                interval = median_interval(entry.numbers(metric)[number], ALPHA)
                star = " ★" if found.winner(problem, metric, number) == entry.who.label else ""
                bounds = f" [{interval.low:.2g}, {interval.high:.2g}]" if interval.low > -np.inf else ""
                cells.append(f"{interval.estimate:.3g}{bounds}{star}")
            lost = f"{entry.diverged} of {len(entry.outcomes)}"
            values = entry.of("rmspbe")
            curve = sparkline(np.median(np.where(np.isfinite(values), values, np.inf), axis=0)[1:])
            rows.append(
                [entry.who.label, f"{entry.spec.learner.alpha:.3g}", f"{entry.spec.learner.beta:.3g}", *cells, lost,
                 f"{entry.microseconds:.2g}", curve]
            )  # fmt: skip
        print_table(problem, columns, rows, numbers={1, 2, 3, 4, 5, 7})
    head, *rest = answer(found)
    tell("\n".join([head, *(f"  · {line}" for line in rest)]))
    tell("★ lowest area, by paired tests against every other rule. [ ] 95 % intervals of the median.")
    sweep = sum(entry.choice.seconds for entry in found.entries)
    if sweep:
        tell(f"The sweep behind the step sizes took {sweep:.0f} s of one core, on seeds of its own.")
    say(f"report: {path}\nagain:  {command}")
