"""Exact learning curves: the expected metrics of a linear rule after every number of steps, with nothing sampled.

At given step sizes a transition is an affine map of (θ, w), so the first two moments of the iterate follow a linear
recursion: one matrix for independent transitions, one per state along a trajectory. Every squared metric (MSPBE, value
error, D-MSPBE, …) is a quadratic form of θ, and so its expectation is known at every n: of the last iterate and of the
average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, Integers, integers
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import Constant, Schedule, check_steps
from dgtd.algorithms.targets import Target
from dgtd.harness.oracle import moment_kernels as kernels
from dgtd.harness.oracle.mdp import FiniteMDP, row_space
from dgtd.harness.oracle.metrics import Metrics, squares

FAR = 100.0  # times the start's predictions
LARGEST = 30_000_000  # numbers in the second moments of all states: a quarter of a gigabyte, twice


@dataclass(frozen=True)
class Expected:
    """curves [times, names]: expected squares of the metrics; NaN from `grown` on.

    mean    [times, states, n]: expected predictions
    grown   −1, or the first of the times at which a second moment was beyond all bounds
    """

    times: Integers
    mean: Floats
    curves: Floats
    names: tuple[str, ...]
    grown: int

    def of(self, name: str) -> Floats:
        """The expected square of one metric."""
        return self.curves[:, self.names.index(name)]


class Moments:
    """The recursion of one rule on one problem with one target, in coordinates of the features' row space.

    Deviations from `fixed` are what is followed, the least-squares solution of E[Σφδ] = 0: without it, a small error
    would be a difference of large numbers. Where that solution is far from the start it is the other way round, and
    deviations from 0 are followed.
    """

    def __init__(self, rule: Rule, mdp: FiniteMDP, target: Target) -> None:
        if not rule.linear:
            raise ValueError(f"rule {rule.name!r} must be linear in (delta, u): only then are moments a recursion")
        self.rule, self.mdp, self.target = rule, mdp, target
        self.features, self._basis = row_space(mdp.features)

    @property
    def size(self) -> int:
        return self.target.outputs * self.features.shape[1]

    @property
    def transitions(self) -> int:
        """Distinct ones; each takes its time at every step."""
        return len(self._transitions[1])

    @property
    def numbers(self) -> int:
        """In the second moments of (θ, w) of all states: at most LARGEST."""
        return self._slots * (2 * self.size) ** 2

    @property
    def _slots(self) -> int:
        """One per state, or one for all where transitions are independent; and one for what ends."""
        return (1 if self.mdp.iid else self.mdp.states) + 1

    # ------------------------------------------------------------------ the transitions

    @cached_property
    def _transitions(self) -> tuple[tuple[Any, ...], Floats]:
        """Distinct ones: (state, next state, reward, discount, ρ, ends), and P(transition | state)."""
        table = self.mdp.table
        keys = np.stack([table.state, table.next_state, table.reward, table.discount, table.rho, table.ends])
        unique, inverse = np.unique(keys, axis=1, return_inverse=True)
        chance = np.bincount(inverse.ravel(), table.probability).astype(float)
        return (*(row.astype(np.int64) for row in unique[:2]), *unique[2:]), chance

    @cached_property
    def fixed(self) -> Floats:
        """θ* [n, rank]: E[Σφδ] = 0 there, if it has a solution; 0 if that is far away."""
        (state, following, reward, discount, rho, _), chance = self._transitions
        shift, n = self.target.shift(reward, discount), self.target.outputs
        mass = chance * self.mdp.d[state] * rho
        here, there = self.features[state], self.features[following]
        T = shift.matrix()
        A = np.einsum("o,oi,nm,ok->nimk", mass, here, np.eye(n), here, optimize=True)
        A -= np.einsum("o,oi,onm,ok->nimk", mass, here, T, there, optimize=True)
        b = np.einsum("o,oi,on->ni", mass, here, shift.constant, optimize=True)
        found = np.linalg.lstsq(A.reshape(self.size, -1), b.ravel(), rcond=1e-12)[0].reshape(n, -1)
        first = self.target.start(self.mdp.theta_initial) @ self._basis.T
        reach = [1.0, *(float(np.abs(self.features @ theta.T).max()) for theta in (first, found))]
        return found if reach[2] <= FAR * max(reach[:2]) else np.zeros_like(found)

    @cached_property
    def _maps(self) -> kernels.Maps:
        (state, following, reward, discount, rho, ends), chance = self._transitions
        shift, n = self.target.shift(reward, discount), self.target.outputs
        T, one = shift.matrix(), sp.identity(n, format="csr")
        constant = shift.constant + np.einsum("onm,mk,ok->on", T, self.fixed, self.features[following], optimize=True)
        constant -= self.features[state] @ self.fixed.T
        blocks, pushes = [], []
        for o, ratio in enumerate(rho):
            (p_d, p_u), (t_d, t_u), (q_d, q_u) = self.rule.coefficients(float(ratio))
            t, back = sp.csr_matrix(T[o]), sp.csr_matrix(T[o].T)
            parts = [
                [p_d * one, -p_d * t, -p_u * one],
                [t_d * back, -t_d * (back @ t), -t_u * back],
                [-q_d * one, q_d * t, q_u * one],
            ]
            blocks.append(sp.bmat(parts, format="csr"))
            delta = constant[o]
            pushes.append(np.concatenate([-p_d * delta, -t_d * (back @ delta), q_d * delta]))
        B = sp.vstack(blocks, format="csr")
        B.eliminate_zeros()
        first = np.lib.stride_tricks.sliding_window_view(B.indptr, 3 * n + 1)[:: 3 * n].astype(np.int64)
        slots = self.mdp.states
        if self.mdp.iid:  # one slot: which state comes next does not depend on this one
            chance = chance * self.mdp.d[state]
            slot, to = np.zeros_like(state), np.zeros_like(state)
        else:
            slot, to = state, np.where(ends > 0, slots, following)
        start = np.ones(1) if self.mdp.iid else np.asarray(self.mdp.table.start, dtype=float)
        return kernels.Maps(
            self.features, slot, to, state, following, chance, np.ascontiguousarray(first),
            B.indices.astype(np.int64), np.ascontiguousarray(B.data), np.array(pushes), start,
        )  # fmt: skip

    # ------------------------------------------------------------------ the metrics

    def forms(self, names: tuple[str, ...]) -> kernels.Forms:
        """Squares of the metrics as quadratic forms of θ − θ*, read off the metrics themselves.

        q(e) = eᵀSe + lᵀe + c, and S_ij = (q(e_i + e_j) − q(e_i) − q(e_j) + q(0))/2: no formula is written twice. The
        e_i are as long as it takes to move predictions by about 1, or a nearly dependent feature is lost in rounding.
        """
        d, measure = self.size, Metrics(self.mdp, self.target)

        def at(points: Floats) -> Floats:
            theta = self.fixed + points.reshape(-1, *self.fixed.shape)
            return measure(np.swapaxes(theta @ self.features.T, -1, -2), names) ** 2

        length = np.tile(1.0 / np.linalg.norm(self.features, axis=0), self.target.outputs)
        unit = np.diag(length)
        c = at(np.zeros((1, d)))[0]
        plus, minus = at(unit) - c, at(-unit) - c
        i, j = np.triu_indices(d, 1)
        both = at(unit[i] + unit[j]) - c
        square = np.zeros((len(names), d, d))
        square[:, range(d), range(d)] = ((plus + minus) / 2).T
        square[:, i, j] = square[:, j, i] = ((both - plus[i] - plus[j]) / 2).T
        line = np.ascontiguousarray(((plus - minus) / 2).T / length)
        return kernels.Forms(square / np.outer(length, length), line, c.copy())

    # ------------------------------------------------------------------ the curve

    def run(
        self, alpha: float, beta: float, times: ArrayLike, *, metrics: tuple[str, ...] = (),
        schedule: Schedule | None = None, average: bool = False, extragradient: bool = False,
        theta: Floats | None = None,
    ) -> Expected:  # fmt: skip
        """Expected squares of the metrics after each of the `times`, from θ [n, k] (or the problem's θ₀) and w = 0."""
        check_steps(alpha, beta)
        at = np.unique(integers("times", times))
        if not len(at) or at[0] < 0:
            raise ValueError(f"times must be 0 or more, got {at}")
        if extragradient and self.rule.w_decay:
            raise ValueError(f"Mirror-Prox's exact curve is for rules whose w does not decay, got {self.rule.name!r}")
        names, n, k = metrics or squares(self.target), self.target.outputs, self.features.shape[1]
        old = 2 * self.size if extragradient else 0
        side = old + 2 * self.size + (self.size if average else 0)
        slots = self._slots
        if slots * side * side > LARGEST:
            raise ValueError(
                f"exact curves need {slots} × {side} × {side} numbers here, and may have {LARGEST:,}: "
                "fewer atoms, states or features"
            )
        now, spare = (
            kernels.Moments(np.zeros(slots), np.zeros((slots, side)), np.zeros((slots, side, side))) for _ in range(2)
        )
        self._begin(now, theta, old)
        steps = int(at[-1])
        factors = (schedule or Constant()).factors(0, steps)
        room = kernels.Room(
            np.zeros((side, 3 * n)), np.zeros((side, 3 * n)), np.zeros((3 * n, 3 * n)), np.zeros((3 * n, 3 * n)),
            np.zeros(3 * n), np.zeros((1, 3 * n)), np.zeros((side, 2 * n * k)),
        )  # fmt: skip
        out, means = (np.full((len(at), width), np.nan) for width in (len(names), self.size))
        grown = np.full(1, -1)
        kernels.run(
            now, spare, self._maps, kernels.Shape(n, old, old + 2 * self.size), self.forms(names), room,
            alpha * factors[0], beta * factors[1], self.rule.w_decay, average, at, means, out, grown,
        )  # fmt: skip
        if grown[0] >= 0:
            out[at >= grown[0]] = np.nan
        return Expected(at, self.predictions(means), out, names, int(grown[0]))

    def _begin(self, now: kernels.Moments, theta: Floats | None, old: int) -> None:
        """θ₀ and w = 0 in every state that an episode can start in."""
        y = np.zeros(now.mean.shape[1])
        y[old : old + self.size] = self.start(theta).ravel()
        now.chance[:-1] = self._maps.start
        now.mean[:-1] = now.chance[:-1, None] * y
        now.second[:-1] = now.chance[:-1, None, None] * np.outer(y, y)

    def start(self, theta: Floats | None = None) -> Floats:
        """θ₀ − θ* [n, rank], from θ₀ [n, k] or the problem's own."""
        first = self.target.start(self.mdp.theta_initial) if theta is None else theta
        return first @ self._basis.T - self.fixed

    def predictions(self, away: Floats) -> Floats:
        """[…, states, n] of deviations θ − θ* […, d]."""
        theta = self.fixed + away.reshape(-1, *self.fixed.shape)
        return np.swapaxes(theta @ self.features.T, -1, -2)

    def written_out(self, alpha: float, beta: float) -> Iterator[tuple[float, Floats, Floats]]:
        """Each transition's chance, M and c: z ← Mz + c, dense. For small problems."""
        maps, n, d = self._maps, self.target.outputs, self.size
        sizes = np.repeat([alpha, alpha, beta], n)
        keep = np.append(np.ones(d), np.full(d, 1.0 - beta * self.rule.w_decay))
        for o, chance in enumerate(maps.chance):
            x, x_next = self.features[maps.left[o]], self.features[maps.right[o]]
            P = np.zeros((2 * d, 3 * n))
            P[:d, :n], P[:d, n : 2 * n] = np.kron(np.eye(n), x[:, None]), np.kron(np.eye(n), x_next[:, None])
            P[d:, 2 * n :] = np.kron(np.eye(n), x[:, None])
            first = maps.first[o]
            entries = slice(first[0], first[-1])
            B = sp.csr_matrix((maps.value[entries], maps.column[entries], first - first[0]), shape=(3 * n, 3 * n))
            yield (
                float(chance),
                np.diag(keep) + P @ (sizes[:, None] * B.toarray()) @ P.T,
                P @ (sizes * maps.constant[o]),
            )
