"""Optimisers on stacked directions [lanes, d]: a step size per lane costs nothing, so a sweep can be lanes.

Each moves θ by −rate·direction, in place; w ascends, so it is given −G_w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from algorithms.checks import Floats, positive
from algorithms.compiling import Floats1, Integer, compiled
from algorithms.names import look_up

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def _adam(theta, direction, rate, first, second, count):  # type: ignore[no-untyped-def]
    """Kingma and Ba (2015), with torch's defaults and order of operations."""
    correct1, correct2 = 1.0 - BETA1**count, np.sqrt(1.0 - BETA2**count)
    for lane in range(theta.shape[0]):
        size = rate[lane] / correct1
        for i in range(theta.shape[1]):
            g = direction[lane, i]
            m = BETA1 * first[lane, i] + (1.0 - BETA1) * g
            v = BETA2 * second[lane, i] + (1.0 - BETA2) * g * g
            first[lane, i], second[lane, i] = m, v
            theta[lane, i] -= size * m / (np.sqrt(v) / correct2 + EPSILON)


def _kernel(number: Any) -> Any:
    matrix = types.Array(number, 2, "C")
    return compiled(matrix, matrix, Floats1, matrix, matrix, Integer, fastmath=True)(_adam)


_KERNELS = {np.dtype(np.float32): _kernel(types.float32), np.dtype(np.float64): _kernel(types.float64)}


class Adam:
    """State for weights [lanes, d]."""

    def __init__(self, rate: Floats, like: Any) -> None:
        positive("rate", rate)
        self.rate = np.array(np.broadcast_to(np.asarray(rate, dtype=float), (len(like),)))
        self.first, self.second, self.count = np.zeros_like(like), np.zeros_like(like), 0

    def step(self, theta: Any, direction: Any) -> None:
        """In place."""
        self.count += 1
        _KERNELS[theta.dtype](theta, direction, self.rate, self.first, self.second, self.count)


class Sgd:
    """θ ← θ − rate·direction."""

    def __init__(self, rate: Floats, like: Any) -> None:
        positive("rate", rate)
        self.rate = np.broadcast_to(np.asarray(rate, dtype=like.dtype), (len(like),))[:, None]

    def step(self, theta: Any, direction: Any) -> None:
        """In place."""
        theta -= self.rate * direction


OPTIMISERS: dict[str, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


def optimiser(name: str, rate: Any, like: Any) -> Adam | Sgd:
    """By name, for weights like these."""
    return look_up("optimiser", name, OPTIMISERS)(rate, like)
