"""Exact work of a torch step: matrix products, elements touched, calls and memory, as the dispatcher sees them.

torch's own FLOP counter knows matrix products only. Here everything else counts too: each operation that is not a view
touches the elements of every tensor it is given and of every tensor it returns (an `out=` tensor is both).
"""

import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from dgtd.algorithms.fast import elementary, kernels, network_kernels
from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import Target

# Position of the left factor among the arguments; the right one follows it.
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1, "addbmm": 1}
UNTOUCHED = {f"{kind}{how}" for kind in ("", "new_") for how in ("empty", "empty_strided")}
UNTOUCHED |= {"empty_like", "detach", "resize_", "set_", "_unsafe_view"}


@dataclass
class Work:
    """products  multiply-adds of matrix products
    elements     elements read and written by every other operation
    calls        how often each operation ran, without views
    peak         most bytes alive at once, without what existed before
    """

    products: int = 0
    elements: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    peak: int = 0

    @property
    def total(self) -> int:
        """Products and elements: what a step costs."""
        return self.products + self.elements

    @property
    def passes(self) -> int:
        """Matrix products, counted by call: a pass over the network is a fixed number of them per layer."""
        return sum(count for name, count in self.calls.items() if _base(name) in PRODUCTS)


def count(call: Callable[[], object]) -> Work:
    with _Counter() as counter:
        kept = call()
    del kept
    return counter.work


class _Counter(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.work = Work()
        self._alive = 0
        self._storages: Any = WeakIdKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _tensors((args, kwargs))
        for tensor in given:  # an unknown tensor existed before the call
            self._storages.setdefault(tensor.untyped_storage(), 0)
        out = func(*args, **kwargs)
        made = _tensors(out)
        for tensor in made:
            self._own(tensor.untyped_storage())
        name = func.overloadpacket.__name__
        if func.is_view or name in UNTOUCHED:
            return out
        self.work.calls[name] += 1
        if _base(name) in PRODUCTS:
            left, right = args[PRODUCTS[_base(name)] :][:2]
            self.work.products += left.numel() * (right.shape[-1] if right.dim() > 1 else 1)
        else:
            self.work.elements += sum(tensor.numel() for tensor in given) + sum(tensor.numel() for tensor in made)
        return out

    def _own(self, storage: Any) -> None:
        if storage in self._storages:
            return
        size = storage.nbytes()
        self._storages[storage] = size
        self._alive += size
        self.work.peak = max(self.work.peak, self._alive)
        weakref.finalize(storage, self._release, size)

    def _release(self, size: int) -> None:
        self._alive -= size


def _base(name: str) -> str:
    """'baddbmm_' and 'baddbmm' are one operation."""
    return name.rstrip("_")


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


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
