"""Certificates of stability for linear predictors, from the rule itself.

One step is x ← M x + c with x = (θ, w) and M random with the transition. Three numbers judge it:

    mean        eigenvalues of E[M]: what happens on average
    mean square the radius of X ↦ E[M X Mᵀ], below 1 exactly when second moments shrink at these step sizes
    Lyapunov    the growth rate of long products of M, which decides almost every path

A radius below 1 bounds everything; an exponent above 0 diverges; in between lies a heavy-tailed zone where almost
every path shrinks and the second moment explodes. By default transitions are i.i.d. from d, for which E[M⊗M] is exact;
`trajectory=True` keeps one second moment per state, which is exact along trajectories. That can turn a verdict round:
on θ → 2θ at α = 0.01, β = 0.2 GTD2 is stable on independent transitions and diverges along a trajectory.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from dgtd.algorithms.checks import Floats, Integers, within
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.algorithms.targets import Affine, Shift, Target
from dgtd.harness.oracle.mdp import FiniteMDP, row_space
from dgtd.harness.oracle.radius import Bracket, Map, bracket

MOST = 50_000_000  # numbers in the factors of the random matrices
LARGEST_STEP = 1e6  # beyond it second moments are lost in rounding
STRIDE = 50  # steps between rescalings of a long product, or fewer where a step is large


class Class(StrEnum):
    """What becomes of the iterate."""

    STABLE = "stable"
    MARGINAL = "marginal"
    HEAVY_TAILED = "heavy-tailed"
    DIVERGING = "diverging"


@dataclass(frozen=True)
class Certificate:
    """What `dgtd certify` prints."""

    mean_abscissa: float
    mean_radius: float
    mean_square_radius: float
    mean_square_bracket: tuple[float, float]
    lyapunov: tuple[float, float]

    @property
    def stable(self) -> bool | None:
        """Whether second moments shrink; None when the bracket holds 1."""
        low, high = self.mean_square_bracket
        return True if high < 1 else False if low > 1 else None

    @property
    def kind(self) -> Class:
        """Stable, diverging, heavy-tailed, or none of them for sure."""
        return classify(self.mean_square_bracket, self.lyapunov)


def classify(radius: tuple[float, float], lyapunov: tuple[float, float]) -> Class:
    """What a bracket of the mean-square radius and an interval of the Lyapunov exponent say together."""
    if radius[1] < 1:
        return Class.STABLE
    if lyapunov[0] > 0:
        return Class.DIVERGING
    return Class.HEAVY_TAILED if radius[0] > 1 and lyapunov[1] < 0 else Class.MARGINAL


@dataclass(frozen=True)
class _Zeroed:
    """A target without its constant: what deviations from the fixed point follow."""

    inner: Affine

    @property
    def outputs(self) -> int:
        return self.inner.outputs

    def shift(self, reward: ArrayLike, discount: ArrayLike) -> Shift:
        shift = self.inner.shift(reward, discount)
        return Shift(shift.row, shift.weight, np.zeros_like(shift.constant))


class Dynamics:
    """The random matrices of one rule on one problem at one pair of step sizes, on the row space of the features.

    Off the row space nothing ever moves, so it is left out; so is w when the rule never updates it. M is kept as
    I + UVᵀ with few columns: [outcomes, side, columns] each.
    """

    def __init__(self, rule: Rule, mdp: FiniteMDP, target: Target, alpha: float, beta: float) -> None:
        check_steps(alpha, beta)
        within("alpha", alpha, 0.0, LARGEST_STEP)
        within("beta", beta, 0.0, LARGEST_STEP)
        self.rule, self.mdp, self.target, self.alpha, self.beta = rule, mdp, target, alpha, beta
        self.features, _ = row_space(mdp.features)
        coefficients = {rho: rule.coefficients(rho) for rho in np.unique(mdp.table.rho)}
        self.uses_w = any(c[:, 1].any() or c[2].any() for c in coefficients.values())
        self.probability, unique = self._distinct_transitions()
        self.left, right, reward, discount, rho, ends = unique
        self._discount, self._next = discount, right
        self.right = np.where(ends > 0, -1, right)  # −1: the episode ends
        self._coefficients = np.array([coefficients[each] for each in rho])  # [transitions, 3, 2]
        if self.side * max(self.side, len(rho) * self.target.outputs) > MOST:
            raise ValueError(
                f"atoms must be fewer, or the problem smaller: {self.side} unknowns × {len(rho)} transitions do not fit"
            )
        self._U, self._V = self._factors(self.target.shift(reward, discount).matrix())

    @property
    def size(self) -> int:
        return self.target.outputs * self.features.shape[1]

    @property
    def side(self) -> int:
        return self.size * (2 if self.uses_w else 1)

    def _distinct_transitions(self) -> tuple[Floats, tuple[Any, ...]]:
        """Probabilities, and (state, next state, reward, discount, ρ, ends), of transitions that move x differently."""
        table = self.mdp.table
        keys = np.stack([table.state, table.next_state, table.reward, table.discount, table.rho, table.ends])
        if self.target.kind == "value":  # by its kind: a CDF on two atoms has one output, too
            keys[2] = 0.0  # its reward is a constant, and moves no deviation
        unique, inverse = np.unique(keys, axis=1, return_inverse=True)
        mass = np.bincount(inverse.ravel(), self.mdp.mass).astype(float)
        return mass, (unique[0].astype(np.int64), unique[1].astype(np.int64), *unique[2:])

    def _factors(self, T: Floats) -> tuple[Floats, Floats]:
        """M − decay = U Vᵀ of each distinct transition, whose target is T f' + t."""
        n, d, count = self.target.outputs, self.size, len(self.left)
        c = self._coefficients[:, :, :, None, None]
        here = np.einsum("ok,nm->onkm", self.features[self.left], np.eye(n)).reshape(count, d, n)  # Φᵀ: u = Φ w
        there = np.einsum("omn,ok->onkm", T, self.features[self._next]).reshape(count, d, n)  # Ψᵀ: T f' = Ψ θ
        U, V = (np.zeros((count, self.side, (1 + self.uses_w) * n)) for _ in range(2))
        V[:, :d, :n] = there - here  # δ, without its constant, is these columns' product with x
        U[:, :d, :n] = -self.alpha * (c[:, 0, 0] * here + c[:, 1, 0] * there)
        if self.uses_w:
            V[:, d:, n:] = here
            U[:, :d, n:] = -self.alpha * (c[:, 0, 1] * here + c[:, 1, 1] * there)
            U[:, d:, :n] = self.beta * c[:, 2, 0] * here
            U[:, d:, n:] = self.beta * c[:, 2, 1] * here
        return U, V

    @cached_property
    def _decay(self) -> Floats:
        keep = np.ones(self.side)
        if self.uses_w:
            keep[self.size :] -= self.beta * self.rule.w_decay
        return keep

    @cached_property
    def stride(self) -> int:
        """Steps after which the square of a product of Ms is still below 1e300, whatever the transitions."""
        parts = [np.sqrt((factor**2).sum((1, 2))) for factor in (self._U, self._V)]
        growth = np.abs(self._decay).max() + (parts[0] * parts[1]).max()
        return max(1, min(STRIDE, int(150.0 / np.log10(max(growth, 2.0)))))

    def matrices(self) -> Floats:
        """M [transitions, side, side], written out."""
        return np.diag(self._decay) + self._U @ self._V.transpose(0, 2, 1)

    @cached_property
    def mean(self) -> Floats:
        """E[M]."""
        return np.diag(self._decay) + np.einsum("o,oic,ojc->ij", self.probability, self._U, self._V, optimize=True)

    def second_moment(self, X: Floats) -> Floats:
        """E[M X Mᵀ] of a symmetric X, no M written out: with K the decay, KXK + (E−K)XK + KX(E−K)ᵀ + E[U(VᵀXV)Uᵀ]."""
        X = (X + X.T) / 2  # repeated application would let rounding grow off the symmetric matrices
        K, extra = self._decay, self.mean - np.diag(self._decay)
        cross = (extra @ X) * K
        rank_part = self._rank_part_by_states(X) if self.target.kind == "value" else self._rank_part(X)
        return K[:, None] * X * K + cross + cross.T + rank_part

    def _rank_part(self, X: Floats) -> Floats:
        """E[U(VᵀXV)Uᵀ] as three large products."""
        (count, side, columns), (flat_U, flat_V) = self._U.shape, self._flat
        inner = self._V.transpose(0, 2, 1) @ (X @ flat_V).reshape(side, count, columns).transpose(1, 0, 2)
        outer = (self.probability[:, None, None] * self._U) @ inner
        return outer.transpose(1, 0, 2).reshape(side, -1) @ flat_U.T

    def _rank_part_by_states(self, X: Floats) -> Floats:
        """The same for a value: VᵀXV are entries of FXFᵀ, and U·Uᵀ sums features of two states, F the feature table.

        So transitions cost a look-up each, however many there are (120 states, all connected: 70 ms becomes 4 ms).
        """
        F, d, S = self.features, self.size, self.mdp.states
        c, gamma, to, s = self._coefficients, self._discount, self._next, self.left
        blocks = [(0, 0), (0, 1), (1, 1)] if self.uses_w else [(0, 0)]
        Z = {(i, j): F @ X[i * d : (i + 1) * d, j * d : (j + 1) * d] @ F.T for i, j in blocks}
        inner = np.zeros((len(s), 2, 2))
        z = Z[0, 0]
        inner[:, 0, 0] = gamma**2 * z[to, to] - gamma * (z[to, s] + z[s, to]) + z[s, s]
        if self.uses_w:
            inner[:, 0, 1] = inner[:, 1, 0] = gamma * Z[0, 1][to, s] - Z[0, 1][s, s]
            inner[:, 1, 1] = Z[1, 1][s, s]
        # Rows of U in terms of φ(s) and γφ(s'): −α c₀, −α c₁ in θ and β c₂, 0 in w.
        inner *= self.probability[:, None, None]
        scale = np.array([-self.alpha, -self.alpha, self.beta])
        weight = np.einsum("oic,ocd,ojd->ijo", c * scale[:, None], inner, c * scale[:, None], optimize=True)
        out = np.zeros_like(X)
        at_here, at_next = s * S + s, to * S + to
        at_cross = s * S + to

        def pooled(*terms: tuple[Integers, Floats]) -> Floats:
            total = sum(np.bincount(at, values, S * S) for at, values in terms)
            return F.T @ np.reshape(total, (S, S)) @ F

        mixed = pooled((at_cross, gamma * weight[0, 1]))
        out[:d, :d] = pooled((at_here, weight[0, 0]), (at_next, gamma**2 * weight[1, 1])) + mixed + mixed.T
        if self.uses_w:
            across = pooled((at_here, weight[0, 2])) + pooled((at_cross, gamma * weight[1, 2])).T
            out[:d, d:], out[d:, :d] = across, across.T
            out[d:, d:] = pooled((at_here, weight[2, 2]))
        return out

    @cached_property
    def _flat(self) -> tuple[Floats, Floats]:
        U, V = (np.ascontiguousarray(part.transpose(1, 0, 2).reshape(self.side, -1)) for part in (self._U, self._V))
        return U, V


def mean_square(dynamics: Dynamics, trajectory: bool = False, seconds: float = 6.0) -> Bracket:
    """A bracket for the radius of X ↦ E[M X Mᵀ], pooled (exact for i.i.d. transitions) or one X per state."""
    if trajectory and not dynamics.mdp.iid:
        return bracket(_by_state(dynamics), dynamics.mdp.states, dynamics.side, seconds=seconds)
    floor = float(np.abs(np.linalg.eigvals(dynamics.mean)).max()) ** 2
    return bracket(lambda Y: dynamics.second_moment(Y[0])[None], 1, dynamics.side, floor, seconds)


def _by_state(dynamics: Dynamics) -> Map:
    """Y_s ↦ Σ over transitions into s: the second moment of x on the event of being in s."""
    mdp = dynamics.mdp
    d = np.where(mdp.d > 0, mdp.d, 1.0)
    weights = dynamics.probability / d[dynamics.left]
    M, ended = dynamics.matrices(), dynamics.right < 0

    def apply(Y: Floats) -> Floats:
        moved = weights[:, None, None] * (M @ Y[dynamics.left] @ M.transpose(0, 2, 1))
        out = np.zeros_like(Y)
        np.add.at(out, dynamics.right[~ended], moved[~ended])
        return out + mdp.table.start[:, None, None] * moved[ended].sum(0)

    return apply


# ---------------------------------------------------------------------- the Lyapunov exponent


def lyapunov(
    dynamics: Dynamics,
    lanes: int = 32,
    steps: int = 20_000,
    seed: int = 0,
    confidence: float = 0.999,
    trajectory: bool = False,
) -> tuple[float, float]:
    """An interval for the top exponent, per step: t over lanes, each a long product run by the linear engine itself."""
    rates = lyapunov_rates(dynamics, lanes, steps, seed, trajectory)
    half = student.isf((1 - confidence) / 2, lanes - 1) * rates.std(ddof=1) / np.sqrt(lanes)
    return float(rates.mean() - half), float(rates.mean() + half)


def lyapunov_rates(dynamics: Dynamics, lanes: int, steps: int, seed: int, trajectory: bool = False) -> Floats:
    """[lanes]: growth per step of a long product each, without its first tenth."""
    growth = log_growth(dynamics, lanes, steps, seed, trajectory=trajectory)
    burnt = len(growth) // 10
    return (growth[-1] - growth[burnt]) / (steps * (1 - (burnt + 1) / len(growth)))


def log_growth(
    dynamics: Dynamics, lanes: int, steps: int, seed: int, points: int = 40, trajectory: bool = False
) -> Floats:
    """[points, lanes]: log ‖x_t‖/‖x_0‖ of deviations x at `points` times up to `steps`, on transitions of their own.

    Independent transitions, as for the pooled radius, or along a trajectory: the two can differ in sign.

    x_0 is near the mean's slowest direction, where almost every product ends: from a random one, modes that die early
    pass for decay (on Baird's star for millions of steps).
    """
    n, k = dynamics.target.outputs, dynamics.features.shape[1]
    world = dynamics.mdp if trajectory else dynamics.mdp.with_(weights=dynamics.mdp.d)
    engine = LinearEngine(dynamics.rule, world.table, dynamics.features, _Zeroed(dynamics.target))
    values, vectors = np.linalg.eig(dynamics.mean)
    slow = vectors[:, np.argmax(np.abs(values))].real
    noise = generator(seed, purpose="lyapunov start").normal(size=(lanes, dynamics.side))
    begin = slow / np.linalg.norm(slow) + 1e-3 * noise / np.sqrt(dynamics.side)
    streams = lane_streams(seed, range(lanes), purpose="lyapunov")
    state = engine.start(begin[:, : dynamics.size].reshape(lanes, n, k), streams)
    if dynamics.uses_w:
        state.w[:] = begin[:, dynamics.size :].reshape(lanes, n, k)
    _rescale(state.theta, state.w)
    out, total = np.zeros((points, lanes)), np.zeros(lanes)
    for point in range(points):
        until = steps * (point + 1) // points
        while state.steps < until:  # rescaled often enough never to overflow
            engine.run(state, min(dynamics.stride, until - state.steps), dynamics.alpha, dynamics.beta)
            total += np.log(_rescale(state.theta, state.w))
        out[point] = total
    return out


def _rescale(theta: Floats, w: Floats) -> Floats:
    norm = np.sqrt((theta**2).sum((1, 2)) + (w**2).sum((1, 2)))
    norm = np.maximum(norm, 1e-300)
    theta /= norm[:, None, None]
    w /= norm[:, None, None]
    return norm


def certify(
    rule: Rule,
    mdp: FiniteMDP,
    target: Target,
    alpha: float,
    beta: float,
    *,
    trajectory: bool = False,
    seed: int = 0,
    lanes: int = 32,
    steps: int = 20_000,
    confidence: float = 0.999,
) -> Certificate:
    """All three numbers for a rule that is linear in (δ, u)."""
    if not rule.linear:
        raise ValueError(f"rule {rule.name!r} declares linear=False: no certificate exists for it")
    dynamics = Dynamics(rule, mdp, target, alpha, beta)
    values = np.linalg.eigvals(dynamics.mean)
    square = mean_square(dynamics, trajectory)
    return Certificate(
        mean_abscissa=float((values.real - 1).max() / alpha),
        mean_radius=float(np.abs(values).max()),
        mean_square_radius=square.radius,
        mean_square_bracket=(square.low, square.high),
        lyapunov=lyapunov(dynamics, lanes, steps, seed, confidence, trajectory),
    )
