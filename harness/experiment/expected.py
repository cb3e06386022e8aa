"""The exact expected learning curve of a contestant, as a stored job; or why it has none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from harness.experiment.exact import METRIC, Setting
from harness.oracle.lstd import lstd
from harness.oracle.moments import LARGEST, Moments
from harness.plugins import find_problem
from harness.runs.job import Job
from harness.runs.rule_files import resolve
from harness.runs.spec import PlaceSpec, RunSpec, StepSchedule
from harness.runs.store import LaneError, Store

if TYPE_CHECKING:
    from harness.experiment.comparison import Comparison
    from harness.experiment.experiment import Choices, Experiment

# A curve that would take longer than SECONDS in 50 000 steps is left out, in proportion for other numbers of steps, as
# lanes are; LEAST is always allowed. So `dgtd compare` by default has the curves of values on Baird's star (4 s each),
# Boyan's chain and the random walk, and neither the grid world's (80 s) nor those of lifts.
SECONDS, STEPS, LEAST = 5.0, 50_000, 1.0
# Of one transition in one step, in nanoseconds: in all, per entry of a second moment, and per output and row that the
# target's shift mixes. Processor time of 13 problems and targets is within a factor of two of this.
EACH, ENTRY, MIXED = 1000.0, 2.0, 15.0


def squares(rule: Rule, alpha: float, beta: float, times: list[int], **setting: Any) -> list[float | None]:
    """E MSPBE after each of the times; None from where second moments are beyond all bounds."""
    what = Setting(**setting)
    schedule = StepSchedule(what.schedule).make()
    found = what.moments(rule).run(alpha, beta, times, metrics=(METRIC,), schedule=schedule).of(METRIC)
    return [max(value, 0.0) if np.isfinite(value) else None for value in found.tolist()]


def job_of(spec: RunSpec) -> Job | str:
    """The job that computes a run's curve, or in words why there is none."""
    learner = spec.learner
    rule, place = resolve(learner.rule), find_problem(spec.place.problem)
    if learner.predictor.kind != "linear" or place.network is not None:
        return "its predictor is not linear"
    if not rule.linear:
        return "the rule is not linear in (δ, u)"
    if spec != _plain(spec):
        return "only the last iterate along trajectories is computed here, without a projection"
    setting = Setting(
        spec.place.problem, learner.target, learner.atoms, learner.projection, learner.schedule.name, spec.probe.steps
    )
    moments = setting.moments(rule)
    if moments.numbers > LARGEST:
        return f"it would need more than {LARGEST:,} numbers"
    limit = max(LEAST, SECONDS * setting.steps / STEPS)
    if seconds(moments, setting.steps) > limit:
        return f"it would take more than {limit:g} s"
    times = list(spec.probe.times)
    return Job.of(squares, learner.rule, alpha=learner.alpha, beta=learner.beta, times=times, **vars(setting))


def _plain(spec: RunSpec) -> RunSpec:
    """The run as an exact curve knows it."""
    schedule = StepSchedule(spec.learner.schedule.name)
    plain = spec.with_learner(radius=None, average=False, extragradient=False, start="problem", schedule=schedule)
    return replace(plain, place=PlaceSpec(spec.place.problem))


def seconds(moments: Moments, steps: int) -> float:
    """An estimate, from the number of transitions and the length of the vector: no clock decides what is shown."""
    n, side = moments.target.outputs, 2 * moments.size
    each = EACH + ENTRY * side**2 + MIXED * n * (side + 3 * n)
    return 1e-9 * each * moments.transitions * steps


def exact_jobs(experiment: Experiment, chosen: Choices) -> list[Job]:
    """One for each entrant on each problem that has an exact curve."""
    if experiment.in_worlds:
        return []
    made = [job_of(experiment.spec(*pair, *chosen[pair].best)) for pair in experiment.pairs()]
    return [job for job in made if isinstance(job, Job)]


def add_exact(found: Comparison, store: Store) -> None:
    """Write what the jobs gave, and what LSTD reaches, into the comparison."""
    if found.experiment.in_worlds:
        return
    for entry in found.entries:
        job = job_of(entry.spec)
        if isinstance(job, str):
            entry.why_not_exact = job
            continue
        try:
            entry.exact = _floats(store.result(job))
        except LaneError as error:
            entry.why_not_exact = str(error)
    for problem in found.experiment.places:
        reached = lstd(find_problem(problem).mdp)
        if reached is not None and reached.limit > 0:
            found.lstd[problem] = reached


def _floats(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=float)
