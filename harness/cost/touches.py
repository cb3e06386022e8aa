"""Exact work of the compiled engines: their own source, run as Python on arrays that count what is read or written."""

from __future__ import annotations

from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from algorithms.fast import elementary, kernels, network_kernels
from algorithms.fast.compiled_loop import rule_as_data
from algorithms.fast.small import SmallEngine
from algorithms.rule import Rule
from algorithms.targets import Target


class Watched:
    """An array that counts how often an element is read or written."""

    def __init__(self, values: Any, tally: list[int]) -> None:
        self.values, self.tally = np.asarray(values), tally
        self.shape, self.dtype = self.values.shape, self.values.dtype

    def __getitem__(self, index: Any) -> Any:
        item = self.values[index]
        if np.ndim(item):
            return Watched(item, self.tally)  # a view: nothing is read yet
        self.tally[0] += 1
        return item.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.tally[0] += np.size(self.values[index])
        self.values[index] = value


class Tally:
    """Arrays that share one count, and the transition that every count is made on."""

    def __init__(self, rule: Rule, target: Target, inputs: int) -> None:
        self.counted, self._rng = [0], np.random.default_rng(0)
        shift = target.shift(np.ones(1), np.full(1, 0.9))
        coefficients, self.function = rule_as_data(rule, np.ones(1))
        row, weight, constant = (self.watch(part) for part in (shift.row, shift.weight, shift.constant))
        x, x_next = self.random(1, inputs), self.random(1, inputs)
        self.samples = kernels.Samples(x, x_next, row, weight, constant, rule.linear, self.watch(coefficients))
        self.rho = self.watch(np.ones(1))

    def watch(self, values: Any) -> Any:
        """An array of this count."""
        return Watched(values, self.counted)

    def random(self, *shape: int) -> Any:
        """One of normal numbers: none is 0, so that no row is skipped."""
        return self.watch(self._rng.normal(size=shape))

    def after(self, kernel: Any, *arguments: Any) -> int:
        """Run a kernel as Python; how many elements it touched."""
        numpy = SimpleNamespace(
            zeros=lambda shape: self.watch(np.zeros(shape)), uint64=int, inf=np.inf, float64=float, int64=int
        )
        _as_python(kernel.py_func, numpy)(*arguments)
        return self.counted[0]


def count_touches(rule: Rule, target: Target, features: int) -> int:
    """Elements that one step of the linear engine on θ, w [outputs, features] reads and writes."""
    tally = Tally(rule, target, features)
    theta, w, g_theta, g_w = (tally.random(1, target.outputs, features) for _ in range(4))
    return tally.after(kernels.directions, theta, w, tally.samples, tally.function, tally.rho, g_theta, g_w)


def count_network_touches(rule: Rule, target: Target, sizes: tuple[int, ...]) -> int:
    """Elements that one step of the small engine on a network reads and writes, `sizes` = (inputs, hidden …)."""
    engine = SmallEngine(rule, sizes, target)
    tally = Tally(rule, target, sizes[0])
    theta, w, g_theta, g_w = (tally.random(1, 1, engine.weights) for _ in range(4))
    room = [tally.watch(part) for part in network_kernels.room(engine.network, target.outputs + 1)]
    return tally.after(
        network_kernels.directions, theta, w, tally.samples, engine.network, np.zeros((1, 2), dtype=np.int64),
        tally.function, tally.rho, g_theta, g_w, *room,
    )  # fmt: skip


def _as_python(function: Any, numpy: Any) -> Any:
    """A copy of a kernel in which every compiled function is its Python form, and np another module.

    Functions of one number (exp, tanh) stay compiled: they touch no array.
    """
    names = {
        name: _as_python(value.py_func, numpy) if _of_arrays(value) else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
    }
    if "np" in names:
        names["np"] = numpy
    return FunctionType(function.__code__, names | {"__builtins__": __builtins__}, function.__name__)


def _of_arrays(value: Any) -> bool:
    return hasattr(value, "py_func") and value.py_func.__module__ != elementary.__name__
