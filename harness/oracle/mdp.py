"""FiniteMDP: the simulator and the exact evaluator in one object, so that they always agree.

Everything is a sum over one table of transitions. The simulator samples from it; exact values are expectations over
it. MSPBE here is without the ½ that the paper writes in front of the value version.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgtd.algorithms.checks import Floats, Integers, finite, shape, within
from dgtd.algorithms.table import TransitionTable

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Transitions:
    """What can happen in `state` after `action`, with its `probability`: `next_state` and `reward`, or the end."""

    state: Integers
    action: Integers
    probability: Floats
    next_state: Integers
    reward: Floats
    ends: NDArray[np.bool_]

    @staticmethod
    def of(rows: list[tuple[int, int, float, int, float, bool]]) -> Transitions:
        """From rows (state, action, probability, next state, reward, ends); impossible rows are left out."""
        kept = sorted((row for row in rows if row[2] != 0), key=lambda row: (row[0], row[1]))
        columns = list(zip(*kept, strict=True)) or [()] * 6
        kinds = (np.int64, np.int64, np.float64, np.int64, np.float64, np.bool_)
        return Transitions(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)))


@dataclass(frozen=True, eq=False)
class FiniteMDP:
    """A finite problem with its policies and features.

    behaviour, target  [states, actions]   features  [states, k]   start  [states]
    d: `weights` if given (then transitions are i.i.d. from it); else the stationary distribution of the behaviour if
    nothing ever ends; else the share of visits in an episode.
    """

    name: str
    transitions: Transitions
    gamma: float
    behaviour: Floats
    target: Floats
    features: Floats
    theta_initial: Floats
    start: Floats | None = None
    weights: Floats | None = None

    def __post_init__(self) -> None:
        for field in ("behaviour", "target", "features", "theta_initial"):
            object.__setattr__(self, field, finite(field, getattr(self, field)))
        within("gamma", self.gamma, 0.0, 1.0)
        shape("target", self.target, self.behaviour.shape)
        shape("features", self.features, (self.states, None))
        shape("theta_initial", self.theta_initial, (self.features.shape[1],))
        for field in ("behaviour", "target"):
            _check_rows(field, getattr(self, field), "state")
        for field in ("start", "weights"):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, finite(field, value))
                shape(field, getattr(self, field), (self.states,))
                _check_rows(field, getattr(self, field)[None], "row")
        self._check_transitions()
        self._check_coverage()
        if self.gamma == 1.0 and _spectral_radius(self.P_pi) > 1 - TOLERANCE:
            raise ValueError(f"gamma must be below 1 in {self.name!r}: under the target policy an episode need not end")

    def _check_transitions(self) -> None:
        o = self.transitions
        within("state of an outcome", o.state, 0, self.states - 1)
        within("action of an outcome", o.action, 0, self.actions - 1)
        within("next_state of an outcome", o.next_state, 0, self.states - 1)
        finite("reward", o.reward)
        if (o.probability < 0).any():
            bad = int(np.argmin(o.probability))
            raise ValueError(
                f"probability of state {o.state[bad]}, action {o.action[bad]} must not be negative, "
                f"got {o.probability[bad]}"
            )
        sums = np.zeros((self.states, self.actions))
        np.add.at(sums, (o.state, o.action), o.probability)
        wrong = np.argwhere(np.abs(sums - 1) > TOLERANCE)
        if len(wrong):
            s, a = wrong[0]
            raise ValueError(f"probabilities of state {s}, action {a} must sum to 1, got {sums[s, a]:.12g}")

    def _check_coverage(self) -> None:
        uncovered = np.argwhere((self.target > 0) & (self.behaviour == 0))
        if len(uncovered):
            s, a = uncovered[0]
            raise ValueError(
                f"behaviour must cover target: in state {s} target takes action {a} with probability "
                f"{self.target[s, a]:g}, behaviour never does"
            )

    @staticmethod
    def from_arrays(name: str, P: ArrayLike, R: ArrayLike, **rest: object) -> FiniteMDP:
        """From dense P and R [states, actions, states]; nothing ends."""
        probability, reward = finite("P", P), np.broadcast_to(finite("R", R), np.shape(P))
        shape("P", probability, (None, None, probability.shape[0]))
        cells = np.ndindex(*probability.shape)
        rows = [(s, a, float(probability[s, a, n]), n, float(reward[s, a, n]), False) for s, a, n in cells]
        return FiniteMDP(name, Transitions.of(rows), **rest)  # type: ignore[arg-type]

    @staticmethod
    def of_rows(
        name: str, rows: list[tuple[int, int, float, int, float, bool]], gamma: float, features: Floats,
        policies: tuple[Floats, Floats] | None = None, theta_initial: ArrayLike | None = None, **rest: Floats,
    ) -> FiniteMDP:  # fmt: skip
        """`policies` are (behaviour, target); none: the one action of a chain. θ₀ is 0 unless it is said."""
        one = np.ones((len(features), 1))
        theta = np.zeros(features.shape[1]) if theta_initial is None else np.asarray(theta_initial, dtype=float)
        return FiniteMDP(name, Transitions.of(rows), gamma, *(policies or (one, one)), features, theta, **rest)

    def with_(self, **changes: object) -> FiniteMDP:
        """A copy with some fields replaced (features, policies, …)."""
        return replace(self, **changes)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ sizes and the table

    @property
    def states(self) -> int:
        return self.behaviour.shape[0]

    @property
    def actions(self) -> int:
        return self.behaviour.shape[1]

    @property
    def iid(self) -> bool:
        """Transitions are drawn independently from d, rather than along a trajectory."""
        return self.weights is not None

    @cached_property
    def table(self) -> TransitionTable:
        """The simulator: outcomes that the behaviour can produce, grouped by state."""
        o = self.transitions
        chance = o.probability * self.behaviour[o.state, o.action]
        used = chance > 0
        state, action = o.state[used], o.action[used]
        counts = np.bincount(state, minlength=self.states)
        return TransitionTable(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            probability=chance[used],
            next_state=o.next_state[used],
            reward=o.reward[used],
            discount=np.where(o.ends[used], 0.0, self.gamma),
            rho=self.target[state, action] / self.behaviour[state, action],
            ends=o.ends[used],
            start=self._start,
            iid=self.iid,
        )

    @cached_property
    def mass(self) -> Floats:
        """[outcomes of `table`]: d(s) times the chance of the outcome. Every exact mean is a sum with these weights."""
        return self.d[self.table.state] * self.table.probability

    @property
    def _start(self) -> Floats:
        if self.weights is not None:
            return self.weights
        return self.d if self.start is None else self.start

    # ------------------------------------------------------------------ chains and distributions

    def transition_matrix(self, policy: Floats) -> Floats:
        """P under a policy; a row sums to 1 minus the probability to end."""
        o = self.transitions
        P = np.zeros((self.states, self.states))
        chance = np.where(o.ends, 0.0, o.probability * policy[o.state, o.action])
        np.add.at(P, (o.state, o.next_state), chance)
        return P

    @cached_property
    def P_pi(self) -> Floats:
        """The target policy's chain."""
        return self.transition_matrix(self.target)

    @cached_property
    def P_behaviour(self) -> Floats:
        """The behaviour policy's chain."""
        return self.transition_matrix(self.behaviour)

    @cached_property
    def r_pi(self) -> Floats:
        """Expected reward of the target policy."""
        o = self.transitions
        gain = o.probability * self.target[o.state, o.action] * o.reward
        return np.bincount(o.state, gain, self.states).astype(float)

    @cached_property
    def d(self) -> Floats:
        """The state distribution that weights the objectives."""
        if self.weights is not None:
            return self.weights
        return _stationary(self.name, self.P_behaviour) if not self.transitions.ends.any() else self._episodic()

    def _episodic(self) -> Floats:
        """Expected visits per episode, as shares."""
        if self.start is None:
            raise ValueError(f"start must be given in {self.name!r}: episodes end, so they must start somewhere")
        P = self.P_behaviour
        reached = self.start > 0
        while True:
            more = reached | (P[reached] > 0).any(0)
            if (more == reached).all():
                break
            reached = more
        inside = P[np.ix_(reached, reached)]
        if _spectral_radius(inside) > 1 - TOLERANCE:
            raise ValueError(
                f"{self.name!r} has no distribution of visits: under the behaviour an episode need not end"
            )
        visits = np.zeros(self.states)
        visits[reached] = np.linalg.solve(np.eye(int(reached.sum())) - inside.T, self.start[reached])
        return visits / visits.sum()

    # ------------------------------------------------------------------ values

    @cached_property
    def v(self) -> Floats:
        """The target policy's value, by solving v = r + γPv."""
        return np.linalg.solve(np.eye(self.states) - self.gamma * self.P_pi, self.r_pi).astype(float)

    def action_values(self, v: Floats) -> Floats:
        """E[r + γ v(s')] for each state and action."""
        o = self.transitions
        gain = o.probability * (o.reward + np.where(o.ends, 0.0, self.gamma) * v[o.next_state])
        q = np.zeros((self.states, self.actions))
        np.add.at(q, (o.state, o.action), gain)
        return q

    def return_bounds(self, most: int = 100_000) -> tuple[float, float]:
        """The smallest and the largest return that the target policy can get (for γ < 1, or episodes that must end)."""
        o = self.transitions
        possible = o.probability * self.target[o.state, o.action] > 0
        state, following, reward = o.state[possible], o.next_state[possible], o.reward[possible]
        gamma = np.where(o.ends[possible], 0.0, self.gamma)
        bounds = []
        for worst, blank in ((np.minimum, np.inf), (np.maximum, -np.inf)):
            v = np.zeros(self.states)
            for _ in range(most):
                after = np.full(self.states, blank)
                worst.at(after, state, reward + gamma * v[following])
                if np.abs(after - v).max() < 1e-9:
                    break
                v = after
            bounds.append(float(worst.reduce(after)))
        return bounds[0], bounds[1]

    # ------------------------------------------------------------------ the linear problem

    @cached_property
    def A(self) -> Floats:
        """XᵀD(I − γP_π)X."""
        X = self.features
        return X.T @ (self.d[:, None] * (X - self.gamma * self.P_pi @ X))

    @cached_property
    def b(self) -> Floats:
        """XᵀD r_π."""
        return self.features.T @ (self.d * self.r_pi)

    @cached_property
    def C(self) -> Floats:
        """XᵀDX."""
        return self.features.T @ (self.d[:, None] * self.features)

    @cached_property
    def C_inverse(self) -> Floats:
        """C⁺: on Baird's star C is singular."""
        return np.linalg.pinv(self.C, rcond=1e-12, hermitian=True).astype(float)

    @cached_property
    def theta_td(self) -> Floats:
        """The TD fixed point, A⁺b: the one of smallest norm where A is singular."""
        return (np.linalg.pinv(self.A, rcond=1e-12) @ self.b).astype(float)

    def mspbe(self, theta: ArrayLike) -> float:
        """(b − Aθ)ᵀC⁺(b − Aθ), which is ‖Π(r + γPv̂ − v̂)‖²_D."""
        gap = self.b - self.A @ np.asarray(theta, dtype=float)
        return float(gap @ self.C_inverse @ gap)

    def msve(self, values: ArrayLike) -> float:
        """Σ d(s)(v̂(s) − v(s))²."""
        return float(self.d @ (np.asarray(values, dtype=float) - self.v) ** 2)


def row_space(features: Floats) -> tuple[Floats, Floats]:
    """(coordinates [states, rank], basis [rank, k]) of the features' row space, orthonormal: no learner leaves it."""
    left, singular, right = np.linalg.svd(features, full_matrices=False)
    rank = int((singular > 1e-10 * singular[0]).sum())
    return left[:, :rank] * singular[:rank], right[:rank]


def optimal_policy(mdp: FiniteMDP, tolerance: float = 1e-12) -> Floats:
    """Greedy for the optimal values (value iteration); ties go to the first action."""
    v = np.zeros(mdp.states)
    while True:
        q = mdp.action_values(v)
        if np.abs(q.max(1) - v).max() < tolerance:
            break
        v = q.max(1)
    best = np.isclose(q, q.max(1, keepdims=True), rtol=0, atol=1e-9).argmax(1)
    return np.eye(mdp.actions)[best]


def mix(policy: Floats, uniform: float) -> Floats:
    """The policy, with probability `uniform` of a uniform action."""
    return (1 - uniform) * policy + uniform / policy.shape[1]


def _check_rows(name: str, rows: Floats, kind: str) -> None:
    if (rows < 0).any():
        raise ValueError(f"{name} must not be negative, got {rows.min()}")
    for i, total in enumerate(rows.sum(-1)):
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"{name} of {kind} {i} must sum to 1, got {total:.12g}")


def _spectral_radius(matrix: Floats) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max()) if matrix.size else 0.0


def _stationary(name: str, P: Floats) -> Floats:
    """The one distribution with dP = d; a chain with several recurrent classes has more than one, and is refused."""
    n = len(P)
    if (np.linalg.matrix_rank(np.eye(n) - P, tol=1e-10)) < n - 1:
        raise ValueError(f"{name!r} has no unique stationary distribution under the behaviour: give weights")
    system = np.vstack([np.eye(n) - P.T, np.ones(n)])
    d = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)[0]
    return np.maximum(d, 0.0) / np.maximum(d, 0.0).sum()
