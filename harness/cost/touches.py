"""Exact work of the linear engine: its own source, run as Python on arrays that count every element read or written."""

from __future__ import annotations

from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from algorithms.engines import kernels
from algorithms.engines.compiled_loop import rule_as_data
from algorithms.rule import Rule
from algorithms.targets import Target


class Watched:
    """An array that counts how often an element is read or written."""

    def __init__(self, values: Any, tally: list[int]) -> None:
        self.values, self.tally = np.asarray(values), tally
        self.shape = self.values.shape

    def __getitem__(self, index: Any) -> Any:
        item = self.values[index]
        if np.ndim(item):
            return Watched(item, self.tally)  # a view: nothing is read yet
        self.tally[0] += 1
        return item.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self.tally[0] += np.size(self.values[index])
        self.values[index] = value


def count_touches(rule: Rule, target: Target, features: int) -> int:
    """Elements that one step on θ, w [outputs, features] reads and writes."""
    tally = [0]
    rng = np.random.default_rng(0)
    n = target.outputs
    shift = target.shift(np.ones(1), np.full(1, 0.9))
    coefficients, function = rule_as_data(rule, np.ones(1))

    def watch(values: Any) -> Any:
        return Watched(values, tally)

    theta, w, g_theta, g_w = (watch(rng.normal(size=(1, n, features))) for _ in range(4))
    samples = kernels.Samples(
        watch(rng.normal(size=(1, features))), watch(rng.normal(size=(1, features))),
        watch(shift.row), watch(shift.weight), watch(shift.constant), rule.linear, watch(coefficients),
    )  # fmt: skip
    numpy = SimpleNamespace(zeros=lambda shape: watch(np.zeros(shape)))
    _as_python(kernels.directions.py_func, numpy)(theta, w, samples, function, watch(np.ones(1)), g_theta, g_w)
    return tally[0]


def _as_python(function: Any, numpy: Any) -> Any:
    """A copy of a kernel in which every compiled function is its Python form, and np another module."""
    names = {
        name: _as_python(value.py_func, numpy) if hasattr(value, "py_func") else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
    }
    if "np" in names:
        names["np"] = numpy
    return FunctionType(function.__code__, names | {"__builtins__": __builtins__}, function.__name__)
