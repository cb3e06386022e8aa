"""Maps of step sizes: where a rule is stable, heavy-tailed or diverging, by its certificate at every point of a grid.

On independent transitions. The mean-square radius is exact; the Lyapunov exponent, which tells heavy tails from
divergence, is an interval from long products, looked at only where the radius is not below 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import Target
from dgtd.harness.experiment.search import Grid
from dgtd.harness.oracle.certificates import Class, Dynamics, classify, lyapunov, mean_square
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.spec import FileRef
from dgtd.harness.runs.work import Job

SMALL = 64  # unknowns up to which a certificate takes a fraction of a second
# Behind an exponent: lanes, and steps in units of 1/α. The mean may turn while it grows: with 4000 steps at every α a
# part of a turn passes for decay (TDC at β/α = 1/16 on θ → 2θ, α = 2⁻⁷).
LANES, UNITS, FEWEST, MOST = 16, 200.0, 4000, 100_000
FINE = Grid(tuple(float(2.0**-i) for i in range(-1, 10)), tuple(float(2.0**i) for i in range(-4, 7)))
HALVINGS = 7  # of the distance between two points of the grid, to find the boundary between them
NEVER = (-np.inf, -1.0)  # an exponent that is not looked at: paths shrink where second moments do


def small(mdp: FiniteMDP, target: Target) -> bool:
    """Whether a grid of certificates is quick."""
    return 2 * target.outputs * mdp.features.shape[1] <= SMALL


def zone(rule: Rule, mdp: FiniteMDP, target: Target, alpha: float, beta: float, seed: int = 0) -> str:
    """The class at one pair of step sizes; `seed` is that of the long products."""
    dynamics = Dynamics(rule, mdp, target, alpha, beta)
    square = mean_square(dynamics)
    steps = int(np.clip(UNITS / alpha, FEWEST, MOST))
    paths = NEVER if square.high < 1 else lyapunov(dynamics, LANES, steps, seed)
    return str(classify((square.low, square.high), paths))


def zones(
    rule: Rule, problem: str, target: str, atoms: int, projection: str, ratio: float, alphas: list[float], seed: int = 0
) -> dict[str, Any]:
    """A column of a map: the class at each α with this β/α, and the largest α up to which second moments shrink.

    The edge is None where all of the column is stable, or nothing is.
    """
    place = find_problem(problem)
    law, rising = place.target(target, atoms, projection), sorted(alphas)
    kinds = {alpha: zone(rule, place.mdp, law, alpha, ratio * alpha, seed) for alpha in rising}
    stable = [kinds[alpha] == Class.STABLE for alpha in rising]
    edge = None
    if stable[0] and not all(stable):
        low, high = (float(np.log(rising[stable.index(False) - back])) for back in (1, 0))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            shrinks = mean_square(Dynamics(rule, place.mdp, law, np.exp(middle), ratio * np.exp(middle))).high < 1
            low, high = (middle, high) if shrinks else (low, middle)
        edge = float(np.exp(low))
    return {"kinds": [kinds[alpha] for alpha in alphas], "edge": edge}


FIRST, LAST = 2.0**-16, 2.0  # the step sizes between which the largest stable one is looked for
GROWS = 1e-9  # of the mean dynamics' largest entry: what rounding leaves of 0 does not grow


def outlook(
    rule: Rule, problem: str, target: str, atoms: int, projection: str, ratio: float
) -> dict[str, float | None]:
    """What becomes of a rule at one β/α, whatever α is.

    growth         the mean grows like exp(growth · α · steps), if this is above 0: at every α, however small
    stable_below   the α up to which second moments shrink; None if they do not, or if that takes long to find out
    """
    place = find_problem(problem)
    law = place.target(target, atoms, projection)
    slope = Dynamics(rule, place.mdp, law, 1.0, ratio).mean  # E[M] − 1 is linear in α at a fixed β/α
    slope = slope - np.eye(len(slope))
    growth = float(np.linalg.eigvals(slope).real.max())
    if growth <= GROWS * np.abs(slope).max():
        growth = 0.0
    if growth > 0 or not small(place.mdp, law):
        return {"growth": growth, "stable_below": None}

    def shrinks(alpha: float) -> bool:
        return mean_square(Dynamics(rule, place.mdp, law, alpha, ratio * alpha)).high < 1

    low, high = FIRST, LAST
    if not shrinks(low):
        return {"growth": growth, "stable_below": None}
    if shrinks(high):
        return {"growth": growth, "stable_below": high}
    while high > 1.05 * low:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if shrinks(middle) else (low, middle)
    return {"growth": growth, "stable_below": low}


def zone_jobs(rule: FileRef, problem: str, target: str, atoms: int, projection: str, grid: Grid) -> list[Job]:
    """One per β/α."""
    place = find_problem(problem)
    if place.network is not None:
        raise ValueError(f"problem {problem!r} has a nonlinear predictor: no certificate exists for it")
    law = place.target(target, atoms, projection)
    if not small(place.mdp, law):
        unknowns = 2 * law.outputs * place.mdp.features.shape[1]
        raise ValueError(f"a map needs at most {SMALL} unknowns, and {problem} ({target}) has {unknowns}")
    return [
        Job.of(
            zones, rule, problem=problem, target=target, atoms=atoms, projection=projection, ratio=ratio,
            alphas=list(grid.alphas),
        )
        for ratio in grid.ratios
    ]  # fmt: skip


@dataclass(frozen=True)
class Zones:
    """kinds [alphas, ratios] and edges [ratios], alphas and ratios rising; NaN where a column has no edge."""

    alphas: Floats
    ratios: Floats
    kinds: NDArray[np.str_]
    edges: Floats

    @staticmethod
    def of(grid: Grid, columns: list[dict[str, Any]]) -> Zones:
        alphas, ratios = np.array(grid.alphas), np.array(grid.ratios)
        order = np.argsort(ratios)
        kinds = np.array([each["kinds"] for each in columns]).T[np.ix_(np.argsort(alphas), order)]
        edges = np.array([each["edge"] for each in columns], dtype=float)  # None becomes NaN
        return Zones(np.sort(alphas), np.sort(ratios), kinds, edges[order])

    def share(self, kind: Class) -> float:
        """Of the map's points."""
        return float((self.kinds == str(kind)).mean())

    def largest_stable(self) -> Floats:
        """[ratios]: the largest α up to which all are stable; 0 if none is."""
        run = np.logical_and.accumulate(self.kinds == str(Class.STABLE), axis=0).sum(0)
        return np.where(run > 0, self.alphas[np.maximum(run - 1, 0)], 0.0)
