"""A score: one number per lane, and what a lane that diverged counts as. Every place declares its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers

LATE = 0.2  # the share of all steps over which a late mean is taken


class Measured(Protocol):
    """What a score is computed from: lanes, as a store gives them back."""

    @property
    def times(self) -> Integers:
        """[checkpoints]: numbers of steps."""

    @property
    def lost(self) -> NDArray[np.bool_]:
        """[lanes]: which diverged."""

    def of(self, name: str) -> Floats:
        """One metric, [checkpoints, lanes]."""


def areas(times: Integers, curves: Floats) -> Floats:
    """Mean height of each curve [lanes, checkpoints] over the steps; infinite where it was not finite."""
    t = np.asarray(times, dtype=float)
    with np.errstate(invalid="ignore"):
        area = np.trapezoid(curves, t, axis=1) / (t[-1] - t[0])
    return np.where(np.isfinite(area), area, np.inf)


def known(curves: Floats) -> Floats:
    """[lanes]: means over the checkpoints at which something is known; NaN if there is none."""
    there = np.isfinite(curves)
    with np.errstate(invalid="ignore"):
        return np.where(there, curves, 0.0).sum(1) / there.sum(1)


def _late(times: Integers, curves: Floats) -> Floats:
    return known(curves[:, times > (1 - LATE) * times[-1]])


# Of a curve [lanes, checkpoints], by name.
NUMBERS: dict[str, Callable[[Integers, Floats], Floats]] = {
    "final": lambda times, curves: curves[:, -1],
    "auc": areas,
    "late": _late,
    "mean": lambda times, curves: known(curves[:, 1:]),
}


@dataclass(frozen=True)
class Score:
    """A number of a metric's curve. A lane that diverged counts as infinitely bad, wherever it is looked at.

    number   final: at the last checkpoint      auc: the mean height over the steps
             late: the mean over the last fifth of them      mean: over all checkpoints but the first
    """

    metric: str
    number: str
    label: str
    higher: bool = False  # is better

    @property
    def worst(self) -> float:
        """What a lane that diverged counts as."""
        return -np.inf if self.higher else np.inf

    def of(self, lanes: Measured) -> Floats:
        """[lanes]; NaN where nothing is known yet."""
        found = NUMBERS[self.number](lanes.times, lanes.of(self.metric).T)
        return np.where(lanes.lost | np.isinf(found), self.worst, found)

    def losses(self, lanes: Measured) -> Floats:
        """[lanes]: the same with its sign turned where more is better, so that less is better everywhere."""
        found = self.of(lanes)
        return -found if self.higher else found
