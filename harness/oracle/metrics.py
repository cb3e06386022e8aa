"""What is measured of an iterate: many lanes and checkpoints at once, exactly, from the problem itself."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from algorithms.checks import Floats
from algorithms.targets import CdfTarget, Target, cramer_distance
from harness.oracle.mdp import FiniteMDP
from harness.oracle.returns import true_law

VALUE_METRICS = ("rmspbe", "rmsve", "size")
CDF_METRICS = (*VALUE_METRICS, "rdmspbe", "cramer")


class Metrics:
    """Metrics of linear predictors θ [..., n, k] on one problem.

    rmspbe   √MSPBE of the mean                     rmsve    √Σ d(s)(v̂ − v)²
    size     RMS over states of v̂                   rdmspbe  √D-MSPBE
    cramer   √Σ d(s) ℓ2²(F(s), true law of the return at the atoms)
    """

    def __init__(self, mdp: FiniteMDP, target: Target) -> None:
        self.mdp, self.target = mdp, target
        self.names = CDF_METRICS if isinstance(target, CdfTarget) else VALUE_METRICS

    def __call__(self, theta: Floats) -> Floats:
        """[..., metrics]; NaN where θ is."""
        with np.errstate(all="ignore"):
            F = theta @ self.mdp.features.T  # [..., n, states]
            F = np.swapaxes(F, -1, -2)
            values = self.target.mean(F)
            columns = [self.rmspbe(values), self._rmsve(values), np.sqrt((values**2).mean(-1))]
            if isinstance(self.target, CdfTarget):
                columns += [self._rdmspbe(F), self._cramer(F)]
            return np.stack(columns, axis=-1)

    def _projected(self, error: Floats) -> Floats:
        """‖Π error‖_D of errors [..., states]."""
        push = (error * self.mdp.d) @ self.mdp.features
        return np.sqrt(np.maximum((push @ self.mdp.C_inverse * push).sum(-1), 0.0))

    def rmspbe(self, values: Floats) -> Floats:
        """Of values [..., states], whatever predicted them: projected onto the problem's own features."""
        mdp = self.mdp
        return self._projected(mdp.r_pi + mdp.gamma * values @ mdp.P_pi.T - values)

    def _rmsve(self, values: Floats) -> Floats:
        return np.sqrt(((values - self.mdp.v) ** 2) @ self.mdp.d)

    @cached_property
    def _backup(self) -> tuple[Floats, Floats]:
        """E_π[T F(s') + t] as a tensor [states, n, states, n] and a constant [states, n]."""
        table, n, S = self.mdp.table, self.target.outputs, self.mdp.states
        shift = self.target.shift(table.reward, table.discount)
        weight = (table.probability * table.rho)[:, None]
        T = np.zeros((S, S, n, n))
        np.add.at(T, (table.state, table.next_state), weight[..., None] * shift.matrix())
        constant = np.zeros((S, n))
        np.add.at(constant, table.state, weight * shift.constant)
        return T.transpose(0, 2, 1, 3), constant

    def _rdmspbe(self, F: Floats) -> Floats:
        T, constant = self._backup
        size = T.shape[0] * T.shape[1]
        g = (F.reshape(*F.shape[:-2], size) @ T.reshape(size, size).T).reshape(F.shape) + constant
        per_atom = self._projected(np.swapaxes(g - F, -1, -2))
        return np.sqrt((per_atom**2).sum(-1))

    @cached_property
    def _law(self) -> Floats:
        assert isinstance(self.target, CdfTarget)
        return true_law(self.mdp, self.target).cdf

    def _cramer(self, F: Floats) -> Floats:
        assert isinstance(self.target, CdfTarget)
        return np.sqrt(cramer_distance(F, self._law, self.target.spacing) ** 2 @ self.mdp.d)
