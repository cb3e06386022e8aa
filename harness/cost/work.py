"""Exact work of a torch step: matrix products, elements touched, calls and memory, as the dispatcher sees them.

torch's own FLOP counter knows matrix products only. Here everything else counts too: each operation that is not a view
touches the elements of every tensor it is given and of every tensor it returns (an `out=` tensor is both).
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

# Position of the left factor among the arguments; the right one follows it.
PRODUCTS = {"mm": 0, "bmm": 0, "mv": 0, "dot": 0, "addmm": 1, "baddbmm": 1, "addmv": 1, "addbmm": 1}
UNTOUCHED = {
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "detach",
    "resize_",
    "set_",
    "_unsafe_view",
}


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
    """The work of one call."""
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
