"""Sweeps without seeds: the exact area under √E MSPBE over α × β/α, and the best step sizes by optimisation.

Each column of the map (one β/α) is a job, so it is stored, resumed and spread over workers like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from harness.experiment.search import Grid
from harness.experiment.zones import Zones, small, zones
from harness.oracle.moments import Moments
from harness.oracle.score import areas
from harness.plugins import find_problem
from harness.runs.job import Job
from harness.runs.spec import FileRef, StepSchedule, log_times

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

    def area(self, moments: Moments, alpha: float, beta: float) -> float:
        """Mean height of √E MSPBE over the steps; infinite where second moments pass all bounds."""
        times = log_times(self.steps)
        schedule = StepSchedule(self.schedule).make()
        found = moments.run(alpha, beta, times, metrics=(METRIC,), schedule=schedule).of(METRIC)
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
    """From what the jobs gave."""
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
