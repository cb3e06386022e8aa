"""Optimisers on stacked directions [lanes, d]: a step size per lane costs nothing, so a sweep can be lanes.

Each moves θ by −rate·direction, in place; w ascends, so it is given −G_w.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from algorithms.checks import Floats, positive
from algorithms.fast.compiling import FASTMATH, compiled, inlined
from algorithms.names import look_up
from algorithms.state import State, refill

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@inlined(FASTMATH, error_model="numpy")  # Python's would test every divisor for 0, and nothing would be vectorised
def _move(theta, direction, size, first, second, numbers):
    """One lane's step: Kingma and Ba (2015), with torch's defaults and order of operations."""
    keep1, take1, keep2, take2, correct, epsilon = (
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
    )  # fmt: skip
    for i in range(theta.shape[0]):
        g = direction[i]
        m = keep1 * first[i] + take1 * g
        v = keep2 * second[i] + take2 * g * g
        first[i] = m
        second[i] = v
        theta[i] -= size * m / (np.sqrt(v) / correct + epsilon)


def _adam(theta, direction, size, first, second, numbers):
    """numbers  [6] are of theta's own precision: with a float64 constant among them the loop would not vectorise."""
    for lane in range(theta.shape[0]):
        _move(theta[lane], direction[lane], size[lane], first[lane], second[lane], numbers)


def _kernel(number: Any) -> Any:
    matrix, vector = types.Array(number, 2, "C"), types.Array(number, 1, "C")
    return compiled(matrix, matrix, vector, matrix, matrix, vector, fastmath=True, bare=True)(_adam)


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
        size = (self.rate / (1.0 - BETA1**self.count)).astype(theta.dtype)
        correct = np.sqrt(1.0 - BETA2**self.count)
        numbers = np.array([BETA1, 1.0 - BETA1, BETA2, 1.0 - BETA2, correct, EPSILON], dtype=theta.dtype)
        _KERNELS[theta.dtype](theta, direction, size, self.first, self.second, numbers)

    def state(self) -> State:
        """Both moments, and how many steps they are of; the arrays themselves."""
        return {"first": self.first, "second": self.second, "count": np.array(self.count)}

    def restore(self, saved: State) -> None:
        """Go on from a state."""
        count = np.array(self.count)
        refill({"first": self.first, "second": self.second, "count": count}, saved)
        self.count = int(count)


class Sgd:
    """θ ← θ − rate·direction."""

    def __init__(self, rate: Floats, like: Any) -> None:
        positive("rate", rate)
        self.rate = np.broadcast_to(np.asarray(rate, dtype=like.dtype), (len(like),))[:, None]

    def step(self, theta: Any, direction: Any) -> None:
        """In place. A lane that overflows is dated by whoever steps it, and needs no warning."""
        with np.errstate(over="ignore", invalid="ignore"):
            theta -= self.rate * direction

    def state(self) -> State:
        """It has none."""
        return {}

    def restore(self, saved: State) -> None:
        """Nothing to put back."""


OPTIMISERS: dict[str, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


def optimiser(name: str, rate: Any, like: Any) -> Adam | Sgd:
    """By name, for weights like these."""
    return look_up("optimiser", name, OPTIMISERS)(rate, like)
