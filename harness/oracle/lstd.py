"""What LSTD reaches after n transitions: a reference for learning curves, computed and not simulated.

LSTD solves Âθ = b̂ with sums over its n transitions, so that b̂ − Âθ_TD is the mean of g = ρδφ at the TD fixed point, and

    √n (θ̂ − θ_TD) → N(0, A⁻¹ΣA⁻ᵀ)        Σ = Γ_0 + Σ_k≥1 (Γ_k + Γ_kᵀ)        Γ_k = E[g_t g_t+kᵀ]

A cancels in the objective: n·E MSPBE → tr(C⁻¹Σ). That is the first order in 1/n. It is no lower bound: a rule that
starts near the solution is below it for a while.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats
from dgtd.harness.oracle.mdp import FiniteMDP

SINGULAR = 1e-10  # the smallest singular value of A as a share of the largest
PER_FEATURE = 10  # transitions from which the first order is worth showing


@dataclass(frozen=True)
class Lstd:
    """limit: of n·E MSPBE   first: the n from which limit/n is shown"""

    limit: float
    first: int

    def mspbe(self, steps: ArrayLike) -> Floats:
        """limit/n; NaN before `first`."""
        n = np.asarray(steps, dtype=float)
        return np.where(n >= self.first, self.limit / np.maximum(n, 1.0), np.nan)


def lstd(mdp: FiniteMDP) -> Lstd | None:
    """Of LSTD on transitions as the problem is sampled; None where A is singular."""
    singular = np.linalg.svd(mdp.A, compute_uv=False)
    if singular[-1] <= SINGULAR * singular[0]:
        return None
    limit = float((mdp.C_inverse * long_run_covariance(mdp)).sum())
    return Lstd(max(0.0, limit), PER_FEATURE * len(singular))


def long_run_covariance(mdp: FiniteMDP) -> Floats:
    """Σ [k, k]: of independent transitions, or along the trajectory with all autocovariances.

    With h(s) = E[g | s] and P the chain with its restarts, Σ_k≥1 Γ_k = E[g (Σ_i P^i h)(s₁)ᵀ], and the sum is Zh with
    the fundamental matrix Z = (I − P + 1dᵀ)⁻¹, since dᵀh = 0.
    """
    table = mdp.table
    values = mdp.features @ mdp.theta_td
    delta = table.reward + table.discount * values[table.next_state] - values[table.state]
    g = (table.rho * delta)[:, None] * mdp.features[table.state]
    now = g.T @ (mdp.mass[:, None] * g)
    if mdp.iid:
        return now
    h = np.zeros_like(mdp.features)
    np.add.at(h, table.state, table.probability[:, None] * g)
    sums = np.zeros_like(h)
    seen = mdp.d > 0  # no chain leaves these
    P = mdp.P_behaviour + np.outer(1.0 - mdp.P_behaviour.sum(1), table.start)  # what ends begins anew
    P = P[np.ix_(seen, seen)]
    sums[seen] = np.linalg.solve(np.eye(len(P)) - P + mdp.d[seen], h[seen])
    following = np.where(table.ends[:, None], table.start @ sums, sums[table.next_state])
    later = g.T @ (mdp.mass[:, None] * following)
    return now + later + later.T
