"""`dgtd run` and `dgtd runs`: lanes into the store, and what is there."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import typer

from dgtd.algorithms.rules import PUBLISHED
from dgtd.harness.commands.carry_out import interrupted, progress
from dgtd.harness.commands.options import (
    ActingOptions,
    PredictorText,
    StorePath,
    Where,
    moment,
    runs_lanes,
)
from dgtd.harness.commands.output import (
    AsJson,
    of_names,
    open_store,
    open_to_read,
    print_json,
    print_table,
    say,
)
from dgtd.harness.experiment.search import kind_of, run_spec
from dgtd.harness.experiment.search import learner as learner_of
from dgtd.harness.oracle.metrics import Score
from dgtd.harness.places.world import find_place, find_world
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.predictors import parse, shown
from dgtd.harness.runs.spec import Request, RunSpec, StepSchedule
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import trainer_of


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
    projection: str = typer.Option("cramer", help="Off-grid handling: cramer, nearest, nearest-mass or floor."),
    schedule: str = typer.Option("constant", help="Step sizes, not of agents: constant or robbins-monro."),
    seed: int = typer.Option(0, help="Root of every stream."),
    predictor: str | None = PredictorText,
    learner: str | None = typer.Option(
        None, help="In a world: agent, or policy-iteration (SGD, online); or a trainer's name."
    ),
    episodes: int | None = typer.Option(None, help="Policy iteration: episodes until the next policy (20)."),
    frozen: int | None = typer.Option(None, help="Agents: steps until the copy that they bootstrap from is renewed."),
    metric: str | None = typer.Option(None, help="Agents: cramer, or kl as in C51."),
    theta_optimiser: str | None = typer.Option(None, help="Agents: adam or sgd, for θ."),
    w_optimiser: str | None = typer.Option(None, help="Agents: sgd or adam, for w."),
    as_json: bool = AsJson,
) -> int:
    """Run one rule on one problem; lanes that are stored already are not run again."""
    words = {
        "episodes": episodes, "frozen": frozen, "metric": metric, "theta_optimiser": theta_optimiser,
        "w_optimiser": w_optimiser,
    }  # fmt: skip
    settings = acting.settings | {name: value for name, value in words.items() if value is not None}
    chosen = None if predictor is None else parse(predictor)
    kind = kind_of(learner)
    acts = (
        find_world(problem) if rule in PUBLISHED or kind in ("agent", "policy-iteration") else find_place(problem)
    ).acts
    own = PUBLISHED[rule].target if rule in PUBLISHED else "value"
    if rule in PUBLISHED and target not in (None, own):
        raise ValueError(f"target of {rule!r} is {own!r}, got {target!r}")
    made = learner_of(
        kind, rule, problem, target=own if target is None else target, alpha=alpha, beta=beta, atoms=atoms,
        projection=projection, predictor=chosen, schedule=StepSchedule(schedule),
        cohort=min(10, seeds) if acts else None, **settings,
    )  # fmt: skip
    spec = run_spec(problem, made, steps, seed, states=acting.observations)
    trainer_of(spec)  # what can't run is said before anything does
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
        return interrupted(f"interrupted after {summary.done} cohorts")
    if found["outcomes"].keys() <= {"converged", "budget spent", "diverged"}:
        return 0
    reasons = "; ".join(found["errors"])
    print(f"dgtd: lanes of {label} on {problem} have no numbers: {reasons}", file=sys.stderr)
    return 2


def _summary(results: Store, spec: RunSpec, seeds: int) -> dict[str, Any]:
    run = run_hash(spec)
    rows = results.lanes(run, seeds)
    measured = [lane for lane in rows if lane.curves.size]
    lanes = Lanes.of_rows(measured, spec.times(), results.metrics(run)) if measured else None
    return {
        "run": run,
        "problem": spec.place.problem,
        "rule": spec.learner.rule.name,
        "predictor": shown(spec.learner.predictor),
        "alpha": spec.learner.alpha,
        "beta": spec.learner.beta,
        "steps": spec.probe.steps,
        "seeds": seeds,
        "outcomes": Counter(str(lane.outcome) for lane in rows),
        "errors": sorted({lane.error for lane in rows if lane.error}),
        "final": {} if lanes is None else _quartiles(spec, lanes),
        "microseconds_per_step": 1e6 * sum(lane.seconds for lane in rows) / max(len(rows), 1) / spec.probe.steps,
    }


def _quartiles(spec: RunSpec, lanes: Lanes) -> dict[str, Any]:
    """Of every metric at the end, and of the place's scores: a lane that diverged is worse than any other."""
    place = find_place(spec.place.problem)
    ends = [Score(name, "final", name, name in place.rising) for name in lanes.names]
    scores = [score for score in place.scores if score.metric in lanes.names]
    return {score.label: _middle(score.of(lanes)) for score in (*ends, *scores)}


def _middle(values: Any) -> dict[str, float]:
    """Quartiles; what is not known is passed over."""
    known = values[~np.isnan(values)]
    if not known.size:
        return dict.fromkeys(("q25", "median", "q75"), np.nan)
    # Between two lanes of which one diverged lies nothing: there a quartile is a lane.
    quantiles = np.quantile(known, [0.25, 0.5, 0.75], method="linear" if np.isfinite(known).all() else "nearest")
    return dict(zip(("q25", "median", "q75"), map(float, quantiles), strict=True))


def _print(found: dict[str, Any], already: int, expected: int) -> None:
    outcomes = ", ".join(f"{count} {name}" for name, count in found["outcomes"].items())
    say(f"{found['name']} on {found['problem']}, {found['steps']} steps: {outcomes} of {found['seeds']} lanes")
    for line in found["errors"]:
        say(f"  {line}")
    rows = [
        [name, *("–" if np.isnan(q[k]) else f"{q[k]:.4g}" for k in ("median", "q25", "q75"))]
        for name, q in found["final"].items()
    ]
    if rows:
        print_table("", ["final metric", "median", "25 %", "75 %"], rows, numbers={1, 2, 3})
    say(f"{found['microseconds_per_step']:.3g} µs per lane-step; {already} of {expected} cohorts were stored already")


def runs(
    problem: str | None = typer.Option(None, help="Only runs on this problem."),
    rule: str | None = typer.Option(None, help="Only runs of this rule."),
    since: str | None = typer.Option(None, help="Only runs first stored since a date, or an age as in 2h or 3d."),
    store: Path = StorePath,
    as_json: bool = AsJson,
) -> None:
    """Every stored run, and how its lanes ended."""
    start = "" if since is None else moment("since", since).isoformat()
    with open_to_read(store) as results:
        every = results.runs()
    found = [each for each in of_names(every, problem=problem, rule=rule) if each["created"] >= start]
    if as_json:
        print_json(found)
        return
    words, sizes = ["run", "problem", "rule", "predictor", "target"], ["alpha", "beta", "steps"]
    rows = []
    for each in found:
        lanes = ", ".join(f"{count} {outcome}" for outcome, count in each["outcomes"].items())
        rows.append([*(str(each[name]) for name in words), *(f"{each[name]:.12g}" for name in sizes), lanes])
    print_table("", [*words, *sizes, "lanes"], rows, numbers={5, 6, 7})
