"""Two different laws: the true law of the return, and the fixed point of the projected operator.

The first is the law of the real returns; the second is what a distributional TD method can converge to on its atoms.
With `cramer` the second has the exact mean and too large a variance; with `nearest` even the mean is wrong, and it may
not be unique.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from algorithms.checks import Floats
from algorithms.targets import CdfTarget, cramer_distance
from harness.oracle.backup import Backup
from harness.oracle.mdp import FiniteMDP

FINE = 1000  # the fine grid has at least this many cells
SETTLED = 1e-13


@dataclass(frozen=True)
class Moments:
    """Mean and variance of the return per state, from their own Bellman equations: no grid."""

    mean: Floats
    variance: Floats


def moments(mdp: FiniteMDP) -> Moments:
    """v = E[r + γv(s')], and the second moment likewise: E[G²] = E[r² + 2rγv(s') + γ²E[G(s')²]]."""
    o = mdp.transitions
    chance = o.probability * mdp.target[o.state, o.action]
    gamma = np.where(o.ends, 0.0, mdp.gamma)
    known = np.bincount(o.state, chance * (o.reward**2 + 2 * o.reward * gamma * mdp.v[o.next_state]), mdp.states)
    second = np.linalg.solve(np.eye(mdp.states) - mdp.gamma**2 * mdp.P_pi, known)
    return Moments(mdp.v, np.maximum(second - mdp.v**2, 0.0))


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
    mean, variance = _grid_moments(grid, fine)
    exact = moments(mdp)
    return ReturnLaw(
        cdf=at_atoms,
        mean_error=float(np.abs(mean - exact.mean).max()),
        variance_excess=float((variance - exact.variance).max()),
        resolution=float(cramer_distance(at_atoms, half, target.spacing).max()),
    )


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
    backup = Backup.of(mdp, target)
    T = backup.matrix
    system = sp.identity(T.shape[0], format="csc") - T.tocsc()
    smallest = np.linalg.svd(system.toarray(), compute_uv=False)[-1] if T.shape[0] <= 1500 else 1.0
    cdf = _fixed_point(mdp, target, backup)
    mean, variance = _grid_moments(target, cdf)
    exact = moments(mdp)
    return ProjectedLaw(
        cdf=cdf,
        unique=bool(smallest > 1e-9),
        mean_error=float(np.abs(mean - exact.mean).max()),
        variance_excess=float((variance - exact.variance).max()),
    )


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


def _grid_moments(grid: CdfTarget, cdf: Floats) -> tuple[Floats, Floats]:
    p = grid.probabilities(cdf)
    mean = p @ grid.support
    return mean, p @ grid.support**2 - mean**2
