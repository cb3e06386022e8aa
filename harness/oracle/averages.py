"""The average of a linear rule's iterates at any horizon, exactly: without noise, and with noise alone.

At constant steps a transition is an affine map y ← Ny of y = (θ − fixed, w, 1), drawn independently of y. With
S = y₀ + … + y_{n−1}, X = E[yyᵀ], U = E[Syᵀ], and Q whose symmetric part is E[SSᵀ],

    Ey ← E[N] Ey        X ← E[N X Nᵀ]        U ← (U + X) E[N]ᵀ        Q ← Q + 2U + X

so n steps are the power of a matrix: about log₂ n squarings. There is no Γ here: the ball would make it nonlinear.
"""

from collections.abc import Iterator

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import Target
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.moments import Moments


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


def noise_free(moments: Moments, step: float, n: int, theta: Floats) -> tuple[Floats, Floats]:
    """(θ̄, w̄) [d] each of the mean updates from θ [outputs, k] and w = 0, in coordinates of the features' row space."""
    inner, push = mean_map(list(moments.written_out(step, step)))
    size, d = len(push), moments.size
    N = np.eye(2 * size + 1)
    N[:size, :size], N[:size, -1] = inner, push
    N[size : 2 * size, :size] = np.eye(size)  # the sum takes z before the step
    y = np.zeros(len(N))
    y[:d], y[-1] = moments.start(theta).ravel(), 1.0
    mean = (np.linalg.matrix_power(N, n) @ y)[size : 2 * size] / n
    return mean[:d] + moments.fixed.ravel(), mean[d:]


def noise_alone(moments: Moments, step: float, n: int) -> Floats:
    """E[z̄z̄ᵀ] [2d, 2d] of the average of z = (θ − θ*, w), from θ* and w = 0: the mean of z̄ is 0, so all of it is noise.

    For problems whose recursion follows deviations from θ*, and not from 0 (`Moments.fixed`).
    """
    written = list(moments.written_out(step, step))
    size = 2 * moments.size
    if np.abs(mean_map(written)[1]).max() > 1e-9 * step:
        raise ValueError("noise alone needs a recursion that rests at θ*: here θ* is too far from the start")
    p = size + 1
    power, mean = np.zeros((p * p, p * p)), np.zeros((p, p))
    for chance, inner, push in written:
        N = np.eye(p)
        N[:size, :size], N[:size, -1] = inner, push
        power += chance * np.kron(N, N)
        mean += chance * N
    one, to_next, none = np.eye(p * p), np.kron(np.eye(p), mean), np.zeros((p * p, p * p))
    whole = np.block([[power, none, none], [to_next, to_next, none], [one, 2 * one, one]])
    first = np.zeros(3 * p * p)
    first[p * p - 1] = 1.0  # X = yyᵀ at y = (0, 0, 1)
    found = (_power(whole, n, first)[-p * p :] / n**2).reshape(p, p)[:size, :size]
    return (found + found.T) / 2


def _power(matrix: Floats, n: int, vector: Floats) -> Floats:
    """matrixⁿ vector, by n's binary digits: matrix_power would multiply matrices where a vector is enough."""
    square, left = matrix, n
    while left:
        if left & 1:
            vector = square @ vector
        left >>= 1
        if left:
            square = square @ square
    return vector


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
