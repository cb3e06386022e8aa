"""The average of a linear rule's iterates at any horizon, exactly: as it is, without noise, and with noise alone.

At constant steps a transition is an affine map y ← Ny of y = (θ − fixed, w, 1), drawn independently of y. With
S = y₀ + … + y_{n−1}, X = E[yyᵀ], U = E[Syᵀ], and Q whose symmetric part is E[SSᵀ],

    Ey ← E[N] Ey        X ← E[N X Nᵀ]        U ← (U + X) E[N]ᵀ        Q ← Q + 2U + X

so n steps are the power of a matrix: about log₂ n squarings. There is no Γ here: the ball would make it nonlinear.
Transitions are independent; along trajectories there is `Moments.run`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, integers
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.targets import Target
from dgtd.harness.oracle import metrics as measured
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.moments import Expected, Moments

LARGEST = 1100  # rows of the map: a squaring takes a tenth of a second


class Quieter(Moments):
    """The recursion of a learner whose transitions are moved towards the mean one: share 1 keeps them, 0 has no noise.

    It speaks of independent transitions, and only through `written_out`.
    """

    def __init__(self, rule: Rule, mdp: FiniteMDP, target: Target, share: float) -> None:
        super().__init__(rule, mdp, target)
        self.share = share

    def written_out(self, alpha: float, beta: float) -> Iterator[tuple[float, Floats, Floats]]:
        """Each transition's chance, and its map between the mean one and its own."""
        each = list(super().written_out(alpha, beta))
        inner, push = mean_map(each)
        for chance, own_inner, own_push in each:
            yield chance, inner + self.share * (own_inner - inner), push + self.share * (own_push - push)


def mean_map(written: list[tuple[float, Floats, Floats]]) -> tuple[Floats, Floats]:
    """(E[M], E[c]) of z ← Mz + c."""
    inner = sum(chance * each for chance, each, _ in written)
    push = sum(chance * each for chance, _, each in written)
    return np.asarray(inner), np.asarray(push)


def _lifted(inner: Floats, push: Floats, summed: int = 0) -> Floats:
    """N of y ← Ny, with y = (z, the sum of the first `summed` numbers of z, 1)."""
    size = len(push)
    N = np.eye(size + summed + 1)
    N[:size, :size], N[:size, -1] = inner, push
    N[size:-1, :summed] = np.eye(summed)  # the sum takes z before the step
    return N


def _powers(matrix: Floats, vector: Floats, times: ArrayLike) -> list[Floats]:
    """matrixⁿ vector for each n, each from the last one, by its binary digits.

    matrix_power would multiply matrices where a vector is enough.
    """
    out, done, squares = [], 0, [matrix]
    for n in np.asarray(times).tolist():
        left, digit = n - done, 0
        with np.errstate(all="ignore"):
            while left:
                if digit == len(squares):
                    squares.append(squares[-1] @ squares[-1])
                if left & 1:
                    vector = squares[digit] @ vector
                left, digit = left >> 1, digit + 1
        done = n
        out.append(vector)
    return out


def at_horizon(
    moments: Moments, alpha: float, beta: float, times: ArrayLike, *, metrics: tuple[str, ...] = (),
    average: bool = False, theta: Floats | None = None,
) -> Expected:  # fmt: skip
    """As Moments.run, by powers of E[N ⊗ N]; θ₀ … θ_{n−1} are averaged."""
    check_steps(alpha, beta)
    if not moments.mdp.iid:
        raise ValueError("powers are for independent transitions: along trajectories use Moments.run")
    d = moments.size
    side = 3 * d + 1
    if side * side > LARGEST:
        raise ValueError(f"powers are for small problems: {side}² rows here, at most {LARGEST}")
    at, names = np.unique(integers("times", times)), metrics or measured.squares(moments.target)
    step = np.zeros((side * side, side * side))
    for chance, inner, push in moments.written_out(alpha, beta):
        N = _lifted(inner, push, d)
        step += chance * np.kron(N, N)
    y = np.zeros(side)
    y[:d], y[-1] = moments.start(theta).ravel(), 1.0
    first = np.outer(y, y).ravel()
    forms, out, means = moments.forms(names), np.full((len(at), len(names)), np.nan), np.full((len(at), d), np.nan)
    for i, found in enumerate(_powers(step, first, at)):
        if not np.isfinite(found).all() or np.abs(found).max() > 1e200:
            return Expected(at, moments.predictions(means), out, names, int(at[i]))
        second = found.reshape(side, side)
        averaged = average and at[i] > 0
        block, scale = (slice(2 * d, 3 * d), 1.0 / at[i]) if averaged else (slice(0, d), 1.0)
        means[i] = second[block, -1] * scale
        squares = np.einsum("mab,ab->m", forms.square, second[block, block]) * scale**2
        out[i] = squares + forms.line @ means[i] + forms.constant
    return Expected(at, moments.predictions(means), out, names, -1)


def noise_free(moments: Moments, step: float, n: int, theta: Floats) -> tuple[Floats, Floats]:
    """(θ̄, w̄) [d] each of the mean updates from θ [outputs, k] and w = 0, in coordinates of the features' row space."""
    inner, push = mean_map(list(moments.written_out(step, step)))
    size, d = len(push), moments.size
    N = _lifted(inner, push, size)
    y = np.zeros(len(N))
    y[:d], y[-1] = moments.start(theta).ravel(), 1.0
    mean = (np.linalg.matrix_power(N, n) @ y)[size:-1] / n
    return mean[:d] + moments.fixed.ravel(), mean[d:]


def noise_alone(moments: Moments, step: float, n: int) -> Floats:
    """E[z̄z̄ᵀ] [2d, 2d] of the average of z = (θ − θ*, w), from θ* and w = 0: the mean of z̄ is 0, so all of it is noise.

    For problems whose recursion follows deviations from θ*, and not from 0 (`Moments.fixed`).
    """
    written = list(moments.written_out(step, step))
    if np.abs(mean_map(written)[1]).max() > 1e-9 * step:
        raise ValueError("noise alone needs a recursion that rests at θ*: here θ* is too far from the start")
    p = 2 * moments.size + 1
    power, mean = np.zeros((p * p, p * p)), np.zeros((p, p))
    for chance, inner, push in written:
        N = _lifted(inner, push)
        power += chance * np.kron(N, N)
        mean += chance * N
    one, to_next, none = np.eye(p * p), np.kron(np.eye(p), mean), np.zeros((p * p, p * p))
    whole = np.block([[power, none, none], [to_next, to_next, none], [one, 2 * one, one]])
    first = np.zeros(3 * p * p)
    first[p * p - 1] = 1.0  # X = yyᵀ at y = (0, 0, 1)
    (found,) = _powers(whole, first, [n])
    found = (found[-p * p :] / n**2).reshape(p, p)[:-1, :-1]
    return (found + found.T) / 2


def resting_point(moments: Moments, step: float, draws: int) -> tuple[Floats, Floats]:
    """θ, w [outputs, k] where the mean Mirror-Prox step stands still, with two transitions per step or one used twice.

    The step is z ← z + G₂(z + G₁z + c₁) + c₂, with the scaled fields G and c of the first and the second transition:

        two draws: (I + E[G])(E[G]z + E[c]) = 0                 rests where E[G]z + E[c] = 0
        one draw:  (E[G] + E[GG])z + E[c] + E[Gc] = 0           does not, since G and Gz + c are correlated
    """
    written = list(moments.written_out(step, step))
    inner, push = mean_map(written)
    one = np.eye(len(push))
    G = inner - one
    if draws == 2:
        slope, constant = G + G @ G, push + G @ push
    else:
        slope = G + sum(chance * (each - one) @ (each - one) for chance, each, _ in written)
        constant = push + sum(chance * (each - one) @ c for chance, each, c in written)
    theta, w = -np.linalg.solve(slope, constant).reshape(2, *moments.fixed.shape)
    to_features = np.linalg.pinv(moments.mdp.features) @ moments.features  # from coordinates of the row space
    return (theta + moments.fixed) @ to_features.T, w @ to_features.T
