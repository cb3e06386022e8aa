"""`dgtd run` and `dgtd runs`: lanes into the store, and what is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.commands.options import (
    INTERRUPTED,
    LEARNERS,
    RESUME,
    ActingOptions,
    PredictorText,
    StorePath,
    Where,
    runs_lanes,
)
from harness.commands.output import (
    AsJson,
    open_store,
    open_to_read,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from harness.runs.spec import RunSpec
    from harness.runs.store import Store

EARNED = ("return", "length", "value", "earned")  # in a world


@runs_lanes
def run(
    where: Where,
    acting: ActingOptions,
    problem: str = typer.Option(..., help="A problem, as in 'baird', or a world, as in 'cartpole-v1'."),
    rule: str = typer.Option(..., help="A rule: a name, or path/to/file.py:function; in a world also dqn or c51."),
    alpha: float | None = typer.Option(None, help="Step size of θ; of an agent, the rate of θ's optimiser."),
    beta: float | None = typer.Option(None, help="Step size of w."),
    steps: int = typer.Option(20_000, help="Steps per lane."),
    seeds: int = typer.Option(30, help="Lanes: seeds 0 … n − 1."),
    target: str | None = typer.Option(
        None, help="value, or cdf for the distributional form. Otherwise value, but dqn and c51 have their own."
    ),
    atoms: int | None = typer.Option(
        None, help="Atoms of the distributional form: 21, in a world 40, or 30 for policy iteration."
    ),
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest or floor."),
    schedule: str = typer.Option("constant", help="Step sizes, not of agents: constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    predictor: str | None = PredictorText,
    learner: str = typer.Option("agent", help="In a world: agent, or policy-iteration (SGD, online)."),
    episodes: int | None = typer.Option(None, help="Policy iteration: episodes until the next policy (20)."),
    frozen: int | None = typer.Option(None, help="Agents: steps until the copy that they bootstrap from is renewed."),
    metric: str | None = typer.Option(None, help="Agents: cramer, or kl as in C51."),
    theta_optimiser: str | None = typer.Option(None, help="Agents: adam or sgd, for θ."),
    w_optimiser: str | None = typer.Option(None, help="Agents: sgd or adam, for w."),
    as_json: bool = AsJson,
) -> int:
    """Run one rule on one problem; lanes that are stored already are not run again."""
    from algorithms.names import look_up
    from algorithms.rules import PUBLISHED
    from harness.commands.progress import progress
    from harness.plugins import find_problem
    from harness.runs.cohort import made_of
    from harness.runs.driver import execute
    from harness.runs.learning import check_learner
    from harness.runs.predictors import default_for, parse
    from harness.runs.rule_files import reference
    from harness.runs.spec import Learner, Place, Probe, Request, RunSpec, StepSchedule, log_times
    from harness.worlds.world import is_world

    chosen = None if predictor is None else parse(predictor)
    look_up("learner", learner, LEARNERS)
    words = {
        "episodes": episodes, "frozen": frozen, "metric": metric, "theta_optimiser": theta_optimiser,
        "w_optimiser": w_optimiser,
    }  # fmt: skip
    settings = acting.settings | {name: value for name, value in words.items() if value is not None}
    if is_world(problem) or rule in PUBLISHED or learner != "agent":
        given = {"target": target, "alpha": alpha, "beta": beta, "atoms": atoms, "predictor": chosen}
        options = {name: value for name, value in given.items() if value is not None} | settings
        options |= {"projection": projection, "cohort": min(10, seeds)}
        if StepSchedule(schedule) != StepSchedule():
            options["schedule"] = StepSchedule(schedule)
        spec = _in_a_world(problem, learner, rule, options)(steps, seed, states=acting.observations)
        made_of(spec)
    else:
        acting.refuse(problem)
        if settings:
            raise ValueError(f"{', '.join(settings)} is for learners in a world, and {problem!r} is none")
        for name, value in (("alpha", alpha), ("beta", beta)):
            if value is None:
                raise ValueError(f"Missing option '--{name}'.")
        place = find_problem(problem)
        atoms, target = 21 if atoms is None else atoms, "value" if target is None else target
        place.target(target, atoms, projection)
        made = Learner(
            reference(rule), alpha, beta, target, atoms, projection, StepSchedule(schedule),  # type: ignore[arg-type]
            predictor=chosen or default_for(place),
        )  # fmt: skip
        spec = RunSpec(Place(problem), made, Probe(log_times(steps)), seed)
        check_learner(spec)
    request = Request(spec, seeds)
    label = rule.upper() if rule in PUBLISHED else spec.learner.rule.name
    make = where.make  # a wrong executor is an error before there is a store
    with open_store(where.store) as results, progress(f"{label} on {problem}") as tick:
        summary = execute([request], results, make, timeout=where.timeout, progress=tick)
        found = _summary(results, spec, seeds) | {"name": label}
    if as_json:
        print_json(found)
    else:
        _print(found, summary.already, summary.expected)
    if summary.interrupted:
        print(f"dgtd: interrupted after {summary.done} cohorts; {RESUME}", file=sys.stderr)
        return INTERRUPTED
    if found["outcomes"].keys() <= {"converged", "budget spent", "diverged"}:
        return 0
    reasons = "; ".join(found["errors"])
    print(f"dgtd: lanes of {label} on {problem} have no numbers: {reasons}", file=sys.stderr)
    return 2


def _in_a_world(world: str, kind: str, rule: str, options: dict[str, Any]) -> Callable[..., RunSpec]:
    """Makes runs of a learner there, with the settings of its module where none are given."""
    from algorithms.rules import PUBLISHED
    from harness.compare import agents, policy_iteration

    module: Any = agents if kind == "agent" else policy_iteration
    own = PUBLISHED[rule].target if rule in PUBLISHED else options.get("target", "value")
    if kind == "agent" and options.setdefault("target", own) != own:
        raise ValueError(f"target of {rule!r} is {own!r}, got {options['target']!r}")
    return partial(agents.run_spec, world, module.learner(rule, world, **options))


def _summary(results: Store, spec: RunSpec, seeds: int) -> dict[str, Any]:
    import numpy as np

    from harness.runs.fingerprint import run_hash
    from harness.runs.predictors import shown
    from harness.runs.spec import Outcome

    run = run_hash(spec)
    lanes = results.lanes(run, seeds)
    outcomes: dict[str, int] = {}
    for lane in lanes:
        outcomes[str(lane.outcome)] = outcomes.get(str(lane.outcome), 0) + 1
    curves = [lane.curves for lane in lanes if lane.curves.size]
    metrics = {}
    if curves:
        # A lane that died has no final number: it is worse than any that has one. More is better of what is earned.
        final, names = np.stack(curves)[:, -1], results.metrics(run)
        lost = np.array([lane.outcome is Outcome.DIVERGED for lane in lanes if lane.curves.size])
        worst = np.where(np.isin(names, EARNED), -np.inf, np.inf)
        final = np.where(np.isfinite(final) & ~(lost[:, None] & np.isin(names, EARNED)), final, worst)
        quantiles = np.quantile(final, [0.25, 0.5, 0.75], axis=0, method="nearest")
        metrics = {
            name: dict(zip(("q25", "median", "q75"), quantiles[:, i], strict=True)) for i, name in enumerate(names)
        }
    seconds = sum(lane.seconds for lane in lanes)
    return {
        "run": run,
        "problem": spec.place.problem,
        "rule": spec.learner.rule.name,
        "predictor": shown(spec.learner.predictor),
        "alpha": spec.learner.alpha,
        "beta": spec.learner.beta,
        "steps": spec.probe.steps,
        "seeds": seeds,
        "outcomes": outcomes,
        "errors": sorted({lane.error for lane in lanes if lane.error}),
        "final": metrics,
        "microseconds_per_step": 1e6 * seconds / max(len(lanes), 1) / spec.probe.steps,
    }


def _print(found: dict[str, Any], already: int, expected: int) -> None:
    outcomes = ", ".join(f"{count} {name}" for name, count in found["outcomes"].items())
    say(f"{found['name']} on {found['problem']}, {found['steps']} steps: {outcomes} of {found['seeds']} lanes")
    for line in found["errors"]:
        say(f"  {line}")
    rows = [[name, *(f"{q[k]:.4g}" for k in ("median", "q25", "q75"))] for name, q in found["final"].items()]
    if rows:
        print_table("", ["final metric", "median", "25 %", "75 %"], rows, numbers={1, 2, 3})
    say(f"{found['microseconds_per_step']:.3g} µs per lane-step; {already} of {expected} cohorts were stored already")


def runs(store: Path = StorePath, as_json: bool = AsJson) -> None:
    """Every stored run, and how its lanes ended."""
    with open_to_read(store) as results:
        found = results.runs()
    if as_json:
        print_json(found)
        return
    rows = [
        [
            *(str(r[name]) for name in ("run", "problem", "rule", "predictor", "target")),
            *(f"{r[name]:.12g}" for name in ("alpha", "beta", "steps")),
            ", ".join(f"{n} {o}" for o, n in r["outcomes"].items()),
        ]
        for r in found
    ]
    print_table(
        "",
        ["run", "problem", "rule", "predictor", "target", "alpha", "beta", "steps", "lanes"],
        rows,
        numbers={5, 6, 7},
    )
