"""Sweeps without seeds: the exact area under √E MSPBE over α × β/α, and the best step sizes by optimisation.

Each column of the map (one β/α) is a job, so it is stored, resumed and spread over workers like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.harness.experiment.search import Choice, Grid
from dgtd.harness.experiment.zones import Zones, outlook, small, zones
from dgtd.harness.oracle.lstd import lstd
from dgtd.harness.oracle.metrics import areas
from dgtd.harness.oracle.moments import LARGEST, Moments
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import FileRef, PlaceSpec, RunSpec, StepSchedule, log_times
from dgtd.harness.runs.store import LaneError, Store
from dgtd.harness.runs.work import Job

NARROW = 1.01  # the optimiser stops where step sizes are known within this factor
METRIC = "rmspbe"


@dataclass(frozen=True)
class Setting:
    """What is swept: a rule on a problem with a linear predictor."""

    problem: str
    target: str = "value"
    atoms: int = 21
    projection: str = "cramer"
    schedule: str = "constant"
    steps: int = 50_000

    def __post_init__(self) -> None:
        found = find_problem(self.problem)
        if found.network is not None:
            raise ValueError(f"problem {self.problem!r} has a nonlinear predictor: exact curves are of linear ones")
        log_times(self.steps)
        StepSchedule(self.schedule)

    def moments(self, rule: Rule) -> Moments:
        """The recursion, as the problem is sampled."""
        problem = find_problem(self.problem)
        return Moments(rule, problem.mdp, problem.target(self.target, self.atoms, self.projection))

    def curve(self, moments: Moments, alpha: float, beta: float, times: Sequence[int]) -> Floats:
        """[times]: E MSPBE."""
        schedule = StepSchedule(self.schedule).make()
        return moments.run(alpha, beta, times, metrics=(METRIC,), schedule=schedule).of(METRIC)

    def area(self, moments: Moments, alpha: float, beta: float) -> float:
        """Mean height of √E MSPBE over the steps; infinite where second moments pass all bounds."""
        times = log_times(self.steps)
        found = self.curve(moments, alpha, beta, times)
        with np.errstate(invalid="ignore"):
            return float(areas(np.array(times), np.sqrt(np.maximum(found, 0.0))[None])[0])


def column(rule: Rule, ratio: float, alphas: list[float], **setting: Any) -> dict[str, Any]:
    """The areas of one β/α; and what the certificate says at each, where it is quick (else None)."""
    what = Setting(**setting)
    moments = what.moments(rule)
    found = [what.area(moments, alpha, ratio * alpha) for alpha in alphas]
    quick = small(moments.mdp, moments.target)
    place = {name: getattr(what, name) for name in ("problem", "target", "atoms", "projection")}
    return {
        "areas": [area if np.isfinite(area) else None for area in found],
        "zones": zones(rule, ratio=ratio, alphas=alphas, **place) if quick else None,
    }


def optimum(rule: Rule, alpha: float, beta: float, **setting: Any) -> dict[str, float]:
    """The step sizes of the smallest exact area, by Nelder and Mead's method in their logarithms."""
    from scipy.optimize import minimize

    what = Setting(**setting)
    moments = what.moments(rule)

    def height(point: Floats) -> float:
        return min(what.area(moments, *np.exp(np.clip(point, -30.0, 10.0)).tolist()), 1e100)

    first = np.log([alpha, beta])
    simplex = first + np.array([[0.0, 0.0], [0.7, 0.0], [0.0, 0.7]])
    options = {"xatol": np.log(NARROW), "fatol": np.inf, "initial_simplex": simplex, "maxfev": 120}
    found = minimize(height, first, method="Nelder-Mead", options=options)
    best = np.exp(found.x)
    return {"alpha": float(best[0]), "beta": float(best[1]), "area": float(found.fun), "evaluations": int(found.nfev)}


@dataclass(frozen=True)
class Map:
    """area [alphas, ratios] (infinite: second moments grow beyond all bounds); zones: None if not known."""

    grid: Grid
    area: Floats
    zones: Zones | None

    @property
    def best(self) -> tuple[float, float]:
        """(α, β) of the smallest area on the grid."""
        i, j = np.unravel_index(int(np.argmin(self.area)), self.area.shape)
        alpha = self.grid.alphas[i]
        return alpha, self.grid.ratios[j] * alpha

    @property
    def stable(self) -> Floats:
        """[ratios], as in the grid: the largest stable α on it, 0 if none is, NaN if not known."""
        if self.zones is None:
            return np.full(len(self.grid.ratios), np.nan)
        return self.zones.largest_stable()[np.argsort(np.argsort(self.grid.ratios))]

    def kind(self, alpha: float, ratio: float) -> str:
        """What the certificate says of a point of the grid; empty if not known."""
        if self.zones is None:
            return ""
        at = np.searchsorted(self.zones.alphas, alpha), np.searchsorted(self.zones.ratios, ratio)
        return str(self.zones.kinds[at])


def column_jobs(rule: FileRef, setting: Setting, grid: Grid) -> list[Job]:
    """One per β/α."""
    return [Job.of(column, rule, ratio=ratio, alphas=list(grid.alphas), **vars(setting)) for ratio in grid.ratios]


def map_of(grid: Grid, columns: list[dict[str, Any]]) -> Map:
    area = np.array(
        [[np.inf if value is None else value for value in each["areas"]] for each in columns], dtype=float
    ).T
    known = [each["zones"] for each in columns if each["zones"] is not None]
    if not np.isfinite(area).any():
        raise ValueError("no stable step sizes: second moments grow without bound at every one; try smaller --alphas")
    return Map(grid, area, Zones.of(grid, known) if known else None)


def optimum_job(rule: FileRef, setting: Setting, start: tuple[float, float]) -> Job:
    """From the best of the grid."""
    return Job.of(optimum, rule, alpha=start[0], beta=start[1], **vars(setting))


if TYPE_CHECKING:
    from dgtd.harness.experiment.comparison import Comparison
    from dgtd.harness.experiment.experiment import Choices, Experiment

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
    found = what.curve(what.moments(rule), alpha, beta, times)
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


def outlook_job(spec: RunSpec, choice: Choice) -> Job | None:
    """What a certificate says of a run, where that is quick, or where the sweep went to its smallest steps."""
    learner, problem = spec.learner, spec.place.problem
    rule, place = resolve(learner.rule), find_problem(problem)
    if learner.predictor.kind != "linear" or place.network is not None or not rule.linear:
        return None
    if not choice.retreated and not small(place.mdp, place.target(learner.target, learner.atoms, learner.projection)):
        return None
    where: dict[str, Any] = {
        "problem": problem,
        "target": learner.target,
        "atoms": learner.atoms,
        "projection": learner.projection,
    }
    return Job.of(outlook, learner.rule, ratio=learner.beta / learner.alpha, **where)


def exact_jobs(experiment: Experiment, chosen: Choices) -> list[Job]:
    """For each entrant on each problem its exact curve and what a certificate says of it, where they can be had."""
    if experiment.in_worlds:
        return []
    specs = {pair: experiment.spec(*pair, *chosen[pair].best) for pair in experiment.pairs()}
    made = [job_of(spec) for spec in specs.values()] + [outlook_job(spec, chosen[pair]) for pair, spec in specs.items()]
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
            entry.exact = np.array(store.result(job), dtype=float)  # None, beyond all bounds, becomes NaN
        except LaneError as error:
            entry.why_not_exact = str(error)
    for problem in found.experiment.places:
        reached = lstd(find_problem(problem).mdp)
        if reached is not None and reached.limit > 0:
            found.lstd[problem] = reached
