"""`dgtd compare`: the main job. Rules against each other on problems, with a report."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import shlex
import time
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import typer

from dgtd.harness.commands.carry_out import carried_out, progress
from dgtd.harness.commands.command import SEVERAL
from dgtd.harness.commands.options import (
    INTERRUPTED,
    ActingOptions,
    AtMostText,
    PredictorText,
    UntilDecided,
    Where,
    numbers,
    path_option,
    runs_lanes,
)
from dgtd.harness.commands.output import (
    AsJson,
    aside,
    open_store,
    plain,
    print_json,
    print_table,
    save_json,
    say,
    tell,
)
from dgtd.harness.experiment import agreement
from dgtd.harness.experiment.across import across
from dgtd.harness.experiment.across import as_dict as across_as_dict
from dgtd.harness.experiment.comparison import ALPHA, Comparison, Entry, as_dict, undecidable
from dgtd.harness.experiment.comparison import compare as compared
from dgtd.harness.experiment.deciding import declared_by, share_of, still_open, with_looks
from dgtd.harness.experiment.exact import add_exact, exact_jobs
from dgtd.harness.experiment.experiment import Choices, Experiment, entrants
from dgtd.harness.experiment.search import Grid, kind_at, kind_of
from dgtd.harness.judging.looks import AtMost
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.places.world import find_place
from dgtd.harness.report import page as pages
from dgtd.harness.report.sections import page, summary
from dgtd.harness.report.words import answer, details, sparkline
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.store import Store

PROBLEMS = "baird,random_walk,boyan,grid_world"
RULES = "gtd2,tdc"
UNDECIDED = 3  # the exit code of a budget that ends with open questions
ROUNDS = 2  # times that the default grid is extended where a choice lies on its edge
OutFolder = path_option("--out", "Folder for report.html, compare.json and figures/.", Path("results/compare"))


@runs_lanes
def compare(
    where: Where,
    acting: ActingOptions,
    problems: str = typer.Option(PROBLEMS, metavar=SEVERAL, help="Problems, or worlds."),
    rules: str = typer.Option(RULES, metavar=SEVERAL, help="Or file.py:function; in a world also dqn, c51."),
    targets: str = typer.Option("value,cdf", metavar=SEVERAL, help="value, cdf (distributional), or both."),
    seeds: int = typer.Option(30, help="Paired seeds: 0 … n − 1."),
    steps: int = typer.Option(50_000, help="Steps per lane."),
    alpha: float | None = typer.Option(None, help="Step size of θ for all; without it a sweep chooses."),
    beta: float | None = typer.Option(None, help="Step size of w for all; on a finite problem it goes with --alpha."),
    alphas: str | None = typer.Option(None, help="The sweep's α, separated by commas."),
    ratios: str | None = typer.Option(None, help="The sweep's β/α, separated by commas."),
    atoms: int | None = typer.Option(
        None, help="Atoms of the distributional forms: 21, in a world 40, or 30 for policy iteration."
    ),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest, nearest-mass or floor."),
    schedule: str = typer.Option("constant", help="constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    out: Path = OutFolder,
    predictor: str | None = PredictorText,
    learner: str | None = typer.Option(
        None, help="In a world: agent, or policy-iteration (with replay); or a trainer's name."
    ),
    threshold: float | None = typer.Option(
        None, help="Count the steps to this return. Otherwise: half-way to what the best agent earns."
    ),
    matters: str = typer.Option("2%", help="A smaller difference is too small to matter."),
    until_decided: bool = UntilDecided,
    at_most: str | None = AtMostText,
    as_json: bool = AsJson,
) -> int:
    """Compare rules and their distributional forms on problems, or agents in worlds; step sizes by a sweep."""
    kind = kind_of(learner)
    experiment = Experiment(
        split(problems), entrants(split(rules), split(targets)), steps, seeds, atoms, projection, schedule, seed, alpha,
        beta, grid(alphas, ratios, beta, kind, split(problems)),
        predictor=None if predictor is None else parse(predictor), kind=kind, settings=acting.settings,
        states=acting.observations, threshold=threshold, matters=share_of(matters),
    )  # fmt: skip
    limit = AtMost.of(at_most, until_decided)
    if until_decided:
        experiment = with_looks(experiment, limit)
    if not experiment.in_worlds:
        acting.refuse(problems)
    _ = where.make  # a wrong executor is an error before there is a store
    pages.writable(out)
    command = repeat(locals() | {"store": where.store} | vars(acting))
    rounds = ROUNDS if alphas is None and ratios is None else 0  # a grid that was asked for is left alone
    found = compared_with(experiment, where, rounds, limit.seconds)
    if found is None:
        return INTERRUPTED
    document = document_of(found) | {"command": command, "report": str(out / "report.html")}
    key = content_key(document)
    if not _drawn(out, key):
        (out / "compare.json").unlink(missing_ok=True)  # whoever interrupts the drawing leaves no key behind
        with progress("report") as tick:
            pages.write(page(found, command), out, tick)
    save_json(out / "compare.json", document | {"key": key})
    if as_json:
        print_json(document)
    else:
        _print(found, out / "report.html", command)
    return UNDECIDED if until_decided and any(duel.open for duel in found.duels) else 0


def compared_with(
    experiment: Experiment, where: Where, rounds: int = ROUNDS, seconds: float | None = None
) -> Comparison | None:
    """Run what is missing of an experiment, and compare; None if somebody interrupted.

    seconds   after which no batch is begun any more, where there are several looks
    """
    begun = time.monotonic()
    with open_store(where.store) as results:
        # Before anything runs, and after whatever is wrong with the input.
        if not experiment.looks and (words := undecidable(experiment.seeds, experiment.tests)):
            aside(words)
        searched = search(experiment, results, where, rounds)
        if searched is None:
            return None
        experiment, chosen = searched
        jobs = exact_jobs(experiment, chosen)
        if experiment.looks:
            jobs.append(declared_by(experiment, chosen, results))
        done = 0  # seeds of the look before
        for seeds, then in zip_longest(experiment.looks or (experiment.seeds,), experiment.looks[1:]):
            batch = time.monotonic()
            experiment = replace(experiment, seeds=seeds)
            if not carried_out("runs", experiment.final_requests(chosen), results, where, jobs):
                return None
            found = compared(experiment, results, chosen)
            if then is None or not any(duel.open for duel in found.duels):
                break
            now = time.monotonic()
            next_batch = (now - batch) * (then - seeds) / (seeds - done)
            if seconds is not None and now - begun + next_batch > seconds:
                break
            done = seeds
            aside(still_open(found))
        add_exact(found, results)
        return found


def document_of(found: Comparison) -> dict[str, Any]:
    """Everything that was found, for JSON."""
    more = {
        "across": across_as_dict(across(found)), "exact": agreement.as_dict(found), "answer": answer(found),
        "details": details(found),
    }  # fmt: skip
    return as_dict(found) | more


def search(experiment: Experiment, store: Store, where: Where, rounds: int) -> tuple[Experiment, Choices] | None:
    """Sweep on seeds of its own, and go on beyond an edge that was chosen; None if somebody interrupted."""
    if not carried_out("sweep", experiment.sweep_requests(), store, where):
        return None
    for _ in range(rounds):
        wider = experiment.wider(experiment.choose(store))
        if wider == experiment:
            break
        experiment = wider
        if not carried_out("wider sweep", experiment.sweep_requests(), store, where):
            return None
    return experiment, experiment.choose(store)


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


def grid(
    alphas: str | None, ratios: str | None, beta: float | None = None, kind: str = "", places: tuple[str, ...] = ()
) -> Grid | None:
    """The sweep's grid with what was given; None if nothing was."""
    if alphas is None and ratios is None:
        return None
    own = kind_at(places[0], kind) if places else Grid()
    acts = bool(places) and find_place(places[0]).acts
    if ratios is not None and acts:
        raise ValueError("ratios are those of step sizes on finite problems: in a world give --beta")
    sizes = own.alphas if alphas is None else numbers("alphas", alphas)
    shares = own.ratios if ratios is None else numbers("ratios", ratios)
    return Grid(sizes, shares, (own.beta if beta is None and not shares else beta) if acts else None)


def repeat(given: dict[str, Any]) -> str:
    """The command with every option that decides its numbers and is not its default: who runs them decides none."""
    words = ["dgtd", "compare"]
    for name, parameter in inspect.signature(compare).parameters.items():
        if name == "as_json" or name not in given or given[name] == parameter.default.default:
            continue
        value = given[name]
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words.append(repr(value) if isinstance(value, float) else str(value))
    return shlex.join(words)


def content_key(document: dict[str, Any]) -> str:
    """Of the numbers, times apart, and of the code that draws them: an unchanged report is not drawn again."""
    text = json.dumps(plain(document), sort_keys=True)
    digest = hashlib.sha256(re.sub(r'"(microseconds_\w+|sweep_seconds)": [^,}]+', "", text).encode())
    for file in sorted((Path(__file__).parents[1] / "report").iterdir()):
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _drawn(out: Path, key: str) -> bool:
    try:
        stored = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    listed = pages.written(out)
    known = bool(listed) and isinstance(stored, dict) and stored.get("key") == key
    return known and all((out / "figures" / f"{name}.{kind}").exists() for name in listed for kind in pages.FORMATS)


def _print(found: Comparison, path: Path, command: str) -> None:
    experiment = found.experiment
    for place in experiment.places:
        columns, rows = _in_world(found, place) if experiment.in_worlds else _on_problem(found, place)
        print_table(place, columns, rows, numbers=set(range(1, len(columns))))
    first, *rest = answer(found)
    tell("\n".join([first, *(f"  · {line}" for line in rest)]))
    score = experiment.score(experiment.places[0])
    best = "highest" if score.higher else "lowest"
    tell(f"★ {best} {score.label}, by paired tests against every other. [ ] 95 % intervals of the median.")
    sweep = sum(entry.choice.seconds for entry in found.entries)
    if sweep:
        tell(f"The sweep behind the step sizes took {sweep:.0f} s of one core, on seeds of its own.")
    say(f"report: {path}\nagain:  {command}")


def _in_world(found: Comparison, place: str) -> tuple[list[str], list[list[str]]]:
    table, *_ = summary(found, place)
    assert isinstance(table, pages.Table)
    return table.columns, [[text + (" ★" if won else "") for text, _, won in row] for row in table.rows]


def _on_problem(found: Comparison, place: str) -> tuple[list[str], list[list[str]]]:
    columns = ["rule", "α", "β", "RMSPBE, end", "area", "value error, end", "diverged", "µs/step",
               "RMSPBE over log steps"]  # fmt: skip
    return columns, [_row(found, entry) for entry in found.at(place)]


def _row(found: Comparison, entry: Entry) -> list[str]:
    cells = []
    for metric, number in (("rmspbe", "final"), ("rmspbe", "auc"), ("rmsve", "final")):
        interval = median_interval(entry.numbers(metric)[number], ALPHA)
        star = " ★" if found.winner(entry.place, metric, number) == entry.who.label else ""
        cells.append(interval.text(".2g") + star)
    values = entry.of("rmspbe")
    curve = sparkline(np.median(np.where(np.isfinite(values), values, np.inf), axis=0)[1:])
    learner = entry.spec.learner
    lost = f"{entry.diverged} of {entry.count}"
    beta = f"{learner.beta:.3g}" if entry.who.uses_w else "–"
    return [entry.who.label, f"{learner.alpha:.3g}", beta, *cells, lost,
            f"{entry.microseconds:.2g}", curve]  # fmt: skip
