"""Metrics of predictions: computed exactly from the problem itself, for many lanes at once; scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.targets import CdfTarget, Target, cramer_distance
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.returns import Backup, true_law

LAW = 1e-9  # by how much a mass may be below 0 in a law


def squares(target: Target) -> tuple[str, ...]:
    """The metrics whose squares are quadratic forms of a linear predictor's θ: all but a share of states."""
    return tuple(name for name in target.metrics if name != "improper")


class Metrics:
    """Metrics of predictions F [..., states, n] on one problem, as the target has them; it names those that apply.

    rmspbe   √MSPBE of the mean                     rmsve    √Σ d(s)(v̂ − v)²
    size     RMS over states of v̂                   rdmspbe  √D-MSPBE, in the problem's own features
    cramer   √Σ d(s) ℓ2²(F(s), true law of the return at the atoms)
    improper the share of states whose F is no law: it falls somewhere, or leaves [0, 1]
    """

    def __init__(self, mdp: FiniteMDP, target: Target) -> None:
        self.mdp, self.target = mdp, target
        self.names = target.metrics

    def __call__(self, F: Floats, names: tuple[str, ...] = ()) -> Floats:
        """[..., names], all of the target's if none is given; NaN where F is."""
        with np.errstate(all="ignore"):
            values = self.target.mean(F)
            of = {
                "rmspbe": lambda: self.rmspbe(values),
                "rmsve": lambda: np.sqrt(((values - self.mdp.v) ** 2) @ self.mdp.d),
                "size": lambda: np.sqrt((values**2).mean(-1)),
                "rdmspbe": lambda: self._rdmspbe(F),
                "cramer": lambda: self._cramer(F),
                "improper": lambda: self._improper(F),
            }
            return np.stack([of[name]() for name in names or self.names], axis=-1)

    def of_linear(self, theta: Floats) -> Floats:
        """Metrics of linear predictors θ [..., n, k]."""
        with np.errstate(all="ignore"):
            return self(np.swapaxes(theta @ self.mdp.features.T, -1, -2))

    def _projected(self, error: Floats) -> Floats:
        """‖Π error‖_D of errors [..., states]."""
        push = (error * self.mdp.d) @ self.mdp.features
        return np.sqrt(np.maximum((push @ self.mdp.C_inverse * push).sum(-1), 0.0))

    def rmspbe(self, values: Floats) -> Floats:
        """√MSPBE of values [..., states] of any predictor: projected onto the problem's own features."""
        mdp = self.mdp
        return self._projected(mdp.r_pi + mdp.gamma * values @ mdp.P_pi.T - values)

    @cached_property
    def _backup(self) -> Backup:
        return Backup.of(self.mdp, self.target)

    def _rdmspbe(self, F: Floats) -> Floats:
        per_atom = self._projected(np.swapaxes(self._backup(F) - F, -1, -2))
        return np.sqrt((per_atom**2).sum(-1))

    @cached_property
    def _law(self) -> Floats:
        assert isinstance(self.target, CdfTarget)
        return true_law(self.mdp, self.target).cdf

    def _cramer(self, F: Floats) -> Floats:
        assert isinstance(self.target, CdfTarget)
        return np.sqrt(cramer_distance(self.target.laws(F), self._law, self.target.spacing) ** 2 @ self.mdp.d)

    def _improper(self, F: Floats) -> Floats:
        assert isinstance(self.target, CdfTarget)
        least = self.target.probabilities(self.target.laws(F)).min(-1)
        return np.where(np.isfinite(least), least < -LAW, np.nan).mean(-1)


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


# Of a curve [lanes, checkpoints], by name.
NUMBERS: dict[str, Callable[[Integers, Floats], Floats]] = {
    "final": lambda times, curves: curves[:, -1],
    "auc": areas,
    "late": lambda times, curves: known(curves[:, times > (1 - LATE) * times[-1]]),
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
