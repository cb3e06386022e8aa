"""A bracket for the spectral radius of a positive map on symmetric matrices, such as X ↦ E[M X Mᵀ].

For every X ≻ 0, 𝓛(X) ⪯ λX proves radius ≤ λ (Collatz–Wielandt): a good X gives a tight bound, a poor one a loose
bound. The best X for a bound λ is the resolvent, (λ − 𝓛)X = I: it is positive definite exactly when the radius is
below λ. For the lower bound, the range of the Perron matrix is invariant under every M, and on it 𝓛(X) ⪰ λX proves
radius ≥ λ. The mean also proves radius ≥ (radius of E[M])².
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from dgtd.algorithms.checks import Floats

DENSE = 1100  # up to this many unknowns the map is stored as a matrix: its eigenvalues take two seconds
ROUNDING = 1e-11  # possible error of eigenvalues at these sizes

Map = Callable[[Floats], Floats]  # [count, side, side] → the same: one symmetric matrix, or one per state


@dataclass(frozen=True)
class Bracket:
    """low ≤ radius ≤ high."""

    low: float
    radius: float
    high: float


def bracket(
    apply: Map, count: int, side: int, at_least: float = 0.0, seconds: float = 6.0, dense: int | None = None
) -> Bracket:
    """Bounds of the radius of a positive map.

    at_least   a lower bound that is already known
    dense      the number of unknowns up to which the map is stored as a matrix; DENSE if not given
    """
    space = _Symmetric(count, side)
    if space.size <= (DENSE if dense is None else dense):
        matrix = np.stack([space.pack(apply(space.unpack(column))) for column in np.eye(space.size)], axis=1)
        values, vectors = np.linalg.eig(matrix)
        best = int(np.argmax(values.real))
        radius, X = float(values[best].real), space.unpack(vectors[:, best].real)
        high = _upper_dense(matrix, space, apply, radius)
    else:
        radius, X, high = _matrix_free(apply, space, seconds)
    low = max(_lower(apply, _positive(X)), at_least)
    return Bracket(low - ROUNDING, min(max(radius, low), high), high + ROUNDING)


@dataclass(frozen=True)
class _Symmetric:
    """Stacks of symmetric matrices as vectors, with the same inner product."""

    count: int
    side: int

    @property
    def size(self) -> int:
        return self.count * self.side * (self.side + 1) // 2

    def pack(self, Y: Floats) -> Floats:
        rows, columns = np.triu_indices(self.side)
        return (Y[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))).ravel()

    def unpack(self, vector: Floats) -> Floats:
        rows, columns = np.triu_indices(self.side)
        Y = np.zeros((self.count, self.side, self.side))
        Y[:, rows, columns] = vector.reshape(self.count, -1) / np.where(rows == columns, 1.0, np.sqrt(2.0))
        return Y + np.triu(Y, 1).transpose(0, 2, 1)

    def identity(self) -> Floats:
        return np.tile(np.eye(self.side), (self.count, 1, 1))


def _upper_dense(matrix: Floats, space: _Symmetric, apply: Map, radius: float) -> float:
    """The smallest λ near the eigenvalue whose resolvent is positive definite."""
    one = space.pack(space.identity())
    for above in 10.0 ** np.arange(-11, 1):
        bound = radius * (1 + above)
        X = space.unpack(np.linalg.solve(bound * np.eye(space.size) - matrix, one))
        found = _upper(apply, X)
        if found <= bound * (1 + 1e-12):
            return max(found, radius)
    return np.inf


def _matrix_free(apply: Map, space: _Symmetric, seconds: float) -> tuple[float, Floats, float]:
    """(radius, Perron matrix, upper bound) by restarted Arnoldi, then a resolvent solved by GMRES."""
    operator = scipy.sparse.linalg.LinearOperator(
        (space.size, space.size), lambda v: space.pack(apply(space.unpack(v.ravel()))), dtype=float
    )
    start = space.pack(space.identity())
    radius, vector = _arnoldi(operator, start, seconds / 2)
    deadline = time.perf_counter() + seconds / 2
    high = np.inf
    # To decide the sign of 1 − radius, a bound halfway to 1 is enough.
    for bound in ((1 + radius) / 2 if radius < 1 else radius * (1 + 1e-4), radius * 1.001, radius * 1.01):
        if bound <= radius or time.perf_counter() > deadline:
            continue
        shifted = scipy.sparse.linalg.LinearOperator(
            operator.shape, lambda v, bound=bound: bound * v - operator.matvec(v), dtype=float
        )

        def hurry(_: Floats) -> None:
            if time.perf_counter() > deadline:
                raise TimeoutError

        try:
            solution, _ = scipy.sparse.linalg.gmres(
                shifted, start, rtol=1e-8, restart=60, maxiter=20, callback=hurry, callback_type="pr_norm"
            )
        except TimeoutError:
            continue
        found = _upper(apply, space.unpack(solution))
        high = min(high, found)
        if found <= bound * (1 + 1e-9):
            break
    return radius, space.unpack(vector), min(high, _upper_by_powers(apply, space, seconds / 4))


def _upper_by_powers(apply: Map, space: _Symmetric, seconds: float) -> float:
    """Sums of 𝓛ᵏ(I): always positive definite, so that there is always some bound."""
    deadline = time.perf_counter() + seconds
    X, power, best = space.identity(), space.identity(), np.inf
    while time.perf_counter() < deadline:
        for _ in range(10):
            power = apply(power)
            X = X + power
        size = np.abs(X).max()
        X, power = X / size, power / size
        best = min(best, _upper(apply, X))
    return best


def _arnoldi(
    operator: scipy.sparse.linalg.LinearOperator, vector: Floats, seconds: float, width: int = 40
) -> tuple[float, Floats]:
    """The leading eigenpair, as exact as the time allows; a positive map's leading eigenvalue is real."""
    deadline = time.perf_counter() + seconds
    while True:
        basis, H = _krylov(operator, vector, width)
        values, vectors = np.linalg.eig(H[: H.shape[1]])
        best = int(np.argmax(values.real))
        vector = basis[: H.shape[1]].T @ vectors[:, best].real
        if abs(H[-1, -1] * vectors[-1, best]) < 1e-10 or time.perf_counter() > deadline:
            return float(values[best].real), vector


def _krylov(operator: scipy.sparse.linalg.LinearOperator, start: Floats, width: int) -> tuple[Floats, Floats]:
    """An Arnoldi basis [width + 1, size] and its Hessenberg matrix [width + 1, width]."""
    basis, H = np.zeros((width + 1, len(start))), np.zeros((width + 1, width))
    basis[0] = start / np.linalg.norm(start)
    for j in range(width):
        new = operator.matvec(basis[j])
        for _ in range(2):  # orthogonalised twice: once leaves rounding errors
            parts = basis[: j + 1] @ new
            H[: j + 1, j] += parts
            new = new - parts @ basis[: j + 1]
        H[j + 1, j] = np.linalg.norm(new)
        if H[j + 1, j] < 1e-14:
            return basis[: j + 2], H[: j + 2, : j + 1]
        basis[j + 1] = new / H[j + 1, j]
    return basis, H


def _positive(X: Floats) -> Floats:
    """The nearest positive semidefinite matrices, of total trace 1, for either sign of X."""
    X = X / np.trace(X.sum(0))
    values, vectors = np.linalg.eigh(X)
    return (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)


def _lower(apply: Map, X: Floats, rank_cut: float = 1e-9) -> float:
    """The largest λ with 𝓛(X) ⪰ λX on the range of X."""
    largest = max(float(np.linalg.eigvalsh(x)[-1]) for x in X)
    lows = []
    for x, y in zip(X, apply(X), strict=True):
        values, vectors = np.linalg.eigh(x)
        keep = values > rank_cut * largest
        if keep.any():
            root = vectors[:, keep] / np.sqrt(values[keep])
            lows.append(float(np.linalg.eigvalsh(root.T @ y @ root)[0]))
    return min(lows)


def _upper(apply: Map, X: Floats) -> float:
    """The smallest λ with 𝓛(X) ⪯ λX; infinite if X is not positive definite."""
    highest = 0.0
    for x, y in zip(X, apply(X), strict=True):
        try:
            highest = max(highest, float(scipy.linalg.eigh(y, x, eigvals_only=True)[-1]))
        except (np.linalg.LinAlgError, ValueError):
            return np.inf
    return highest
