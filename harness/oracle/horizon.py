"""Exact expectations at far horizons: a million steps by twenty squarings.

On independent transitions at constant step sizes every step is the same linear map of the second moment of
y = (θ, w, Σθ, 1), so n steps are its n-th power. That is for small problems: the map has (3d + 1)² rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from algorithms.checks import Floats, Integers, integers
from algorithms.stepping import check_steps
from harness.oracle.moments import Expected, Moments

LARGEST = 1100  # rows of the map: a squaring takes a tenth of a second


def at_horizon(
    moments: Moments, alpha: float, beta: float, times: ArrayLike, *, metrics: tuple[str, ...] = (),
    average: bool = False, theta: Floats | None = None,
) -> Expected:  # fmt: skip
    """As Moments.run, by powers of the map; θ₀ … θ_{n−1} are averaged."""
    check_steps(alpha, beta)
    if not moments.mdp.iid:
        raise ValueError("powers are for independent transitions: along trajectories use Moments.run")
    d = moments.size
    side = 3 * d + 1
    if side * side > LARGEST:
        raise ValueError(f"powers are for small problems: {side}² rows here, at most {LARGEST}")
    at, names = np.unique(integers("times", times)), metrics or moments.target.metrics
    step = _map(moments, alpha, beta)
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


def _map(moments: Moments, alpha: float, beta: float) -> Floats:
    """E[N ⊗ N], with y ← N y."""
    d = moments.size
    side = 3 * d + 1
    total = np.zeros((side * side, side * side))
    for chance, inner, push in moments.written_out(alpha, beta):
        N = np.eye(side)
        N[: 2 * d, : 2 * d] = inner
        N[: 2 * d, -1] = push
        N[2 * d : 3 * d, :d] += np.eye(d)  # the sum takes θ before the step
        total += chance * np.kron(N, N)
    return total


def _powers(step: Floats, first: Floats, times: Integers) -> list[Floats]:
    """step^n first for each n, each from the last one, by its binary digits."""
    out, now, done, squares = [], first, 0, [step]
    for n in times:
        left, digit = int(n) - done, 0
        while left:
            if digit == len(squares):
                with np.errstate(all="ignore"):
                    squares.append(squares[-1] @ squares[-1])
            if left & 1:
                with np.errstate(all="ignore"):
                    now = squares[digit] @ now
            left, digit = left >> 1, digit + 1
        done = int(n)
        out.append(now)
    return out
