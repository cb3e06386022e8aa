"""Metrics of predictions: many lanes and checkpoints at once, computed exactly from the problem itself."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from algorithms.checks import Floats
from algorithms.targets import CdfTarget, Target, cramer_distance
from harness.oracle.backup import Backup
from harness.oracle.mdp import FiniteMDP
from harness.oracle.returns import true_law


class Metrics:
    """Metrics of predictions F [..., states, n] on one problem; the target names those that apply.

    rmspbe   √MSPBE of the mean                     rmsve    √Σ d(s)(v̂ − v)²
    size     RMS over states of v̂                   rdmspbe  √D-MSPBE, in the problem's own features
    cramer   √Σ d(s) ℓ2²(F(s), true law of the return at the atoms)
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
                "rmsve": lambda: self._rmsve(values),
                "size": lambda: np.sqrt((values**2).mean(-1)),
                "rdmspbe": lambda: self._rdmspbe(F),
                "cramer": lambda: self._cramer(F),
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

    def _rmsve(self, values: Floats) -> Floats:
        return np.sqrt(((values - self.mdp.v) ** 2) @ self.mdp.d)

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
        return np.sqrt(cramer_distance(F, self._law, self.target.spacing) ** 2 @ self.mdp.d)
