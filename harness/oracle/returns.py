"""Two different laws: the true law of the return, and the fixed point of the projected operator.

The first is the law of the real returns; the second is what a distributional TD method can converge to on its atoms.
With `cramer` the second has the exact mean and too large a variance; with `nearest` even the mean is wrong, and it may
not be unique.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.targets import CdfTarget, Target, cramer_distance
from dgtd.harness.oracle.mdp import FiniteMDP

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Backup:
    """matrix  [states·n, states·n], rows and columns state by state   constant  [states, n]."""

    matrix: sp.csr_matrix
    constant: Floats

    @staticmethod
    def of(mdp: FiniteMDP, target: Target) -> Backup:
        """The operator of a problem with a target."""
        o, n = mdp.transitions, target.outputs
        chance = o.probability * mdp.target[o.state, o.action]
        used = chance > 0
        state, following, chance = o.state[used], o.next_state[used], chance[used]
        shift = target.shift(o.reward[used], np.where(o.ends[used], 0.0, mdp.gamma))
        columns = (following[:, None] * n + np.arange(n)).ravel()
        parts = []
        for extra in (0, 1):
            inside = shift.row + extra < n
            rows = np.where(inside, state[:, None] * n + shift.row + extra, 0).ravel()
            values = np.where(inside, chance[:, None] * shift.weight[:, extra], 0.0).ravel()
            parts.append(sp.csr_matrix((values, (rows, columns)), shape=(mdp.states * n, mdp.states * n)))
        constant = np.zeros((mdp.states, n))
        np.add.at(constant, state, chance[:, None] * shift.constant)
        matrix = parts[0] + parts[1]
        matrix.eliminate_zeros()
        return Backup(matrix, constant)

    def __call__(self, F: Floats) -> Floats:
        """The backup of predictions [..., states, n]."""
        flat = F.reshape(-1, self.constant.size)
        return (self.matrix @ flat.T).T.reshape(F.shape) + self.constant

    def tensor(self, F: torch.Tensor) -> torch.Tensor:
        """The backup of one prediction [states, n], differentiable."""
        rows, columns, values, constant = self._tensors
        moved = F.new_zeros(F.numel()).index_add(0, rows, values * F.flatten()[columns])
        return moved.reshape(F.shape) + constant

    @cached_property
    def _tensors(self) -> tuple[torch.Tensor, ...]:
        import torch

        coo = self.matrix.tocoo()
        indices = (torch.as_tensor(part.astype(np.int64)) for part in (coo.row, coo.col))
        return (*indices, torch.as_tensor(coo.data), torch.as_tensor(self.constant))


FINE = 1000  # the fine grid has at least this many cells
SETTLED = 1e-13


def return_variance(mdp: FiniteMDP) -> Floats:
    """[states]: from its own Bellman equation, no grid: E[G²] = E[r² + 2rγv(s') + γ²E[G(s')²]]."""
    o = mdp.transitions
    chance = o.probability * mdp.target[o.state, o.action]
    gamma = np.where(o.ends, 0.0, mdp.gamma)
    known = np.bincount(o.state, chance * (o.reward**2 + 2 * o.reward * gamma * mdp.v[o.next_state]), mdp.states)
    second = np.linalg.solve(np.eye(mdp.states) - mdp.gamma**2 * mdp.P_pi, known)
    return np.maximum(second - mdp.v**2, 0.0)


@dataclass(frozen=True)
class ReturnLaw:
    """cdf [states, m − 1] at the atoms; the largest errors of its grid's moments over the states.

    resolution   ℓ2 between this law and the one from a grid half as fine, at the atoms: the grid's remaining effect
    """

    cdf: Floats
    mean_error: float
    variance_excess: float
    resolution: float


def true_law(mdp: FiniteMDP, target: CdfTarget) -> ReturnLaw:
    """The law of the return at the target's atoms, from a grid that is finer by an integer factor."""
    factor = 2 * -(-FINE // (2 * target.outputs))
    laws = []
    for finer in (factor, factor // 2):
        grid = CdfTarget(target.v_min, target.v_max, finer * target.outputs + 1)
        laws.append((grid, _fixed_point(mdp, grid, Backup.of(mdp, grid))))
    grid, fine = laws[0]
    at_atoms, half = (law[:, :: law.shape[1] // target.outputs] for _, law in laws)
    resolution = float(cramer_distance(at_atoms, half, target.spacing).max())
    return ReturnLaw(at_atoms, *_moments_off(mdp, grid, fine), resolution)


@dataclass(frozen=True)
class ProjectedLaw:
    """The fixed point of the projected operator on the atoms.

    unique   whether I − T has no null direction; if False, `cdf` is the one reached from point masses at v
    """

    cdf: Floats
    unique: bool
    mean_error: float
    variance_excess: float


def projected_law(mdp: FiniteMDP, target: CdfTarget) -> ProjectedLaw:
    """F = E_π[T F(s') + t] on the target's own atoms, with its own projection."""
    target = replace(target, linear=False)
    backup = Backup.of(mdp, target)
    T = backup.matrix
    system = sp.identity(T.shape[0], format="csc") - T.tocsc()
    smallest = np.linalg.svd(system.toarray(), compute_uv=False)[-1] if T.shape[0] <= 1500 else 1.0
    cdf = _fixed_point(mdp, target, backup)
    return ProjectedLaw(cdf, bool(smallest > 1e-9), *_moments_off(mdp, target, cdf))


def _fixed_point(mdp: FiniteMDP, grid: CdfTarget, backup: Backup, most: int = 100_000) -> Floats:
    """Apply the operator to point masses at v until nothing changes; every iterate is a law, so the limit is too."""
    T, t = backup.matrix, backup.constant.ravel()
    law = grid.point_mass(np.clip(mdp.v, grid.v_min, grid.v_max)).ravel()
    for _ in range(most):
        after = T @ law + t
        if np.abs(after - law).max() < SETTLED:
            return after.reshape(mdp.states, -1)
        law = after
    return law.reshape(mdp.states, -1)


def _moments_off(mdp: FiniteMDP, grid: CdfTarget, cdf: Floats) -> tuple[float, float]:
    """Over the states: the largest error of the grid's mean, and by how much its variance is too large at most."""
    p = grid.probabilities(cdf)
    mean = p @ grid.support
    excess = p @ grid.support**2 - mean**2 - return_variance(mdp)
    return float(np.abs(mean - mdp.v).max()), float(excess.max())
