"""A function of tensors that is called for thousands of steps: after a while its trace is run instead of it.

torch.func's levels (a vmap of a grad of a jvp) are walked through anew by every operation of every call. Their trace is
the plain operations alone: on the spiral, with 5 or 64 lanes, steps are 4 times as fast, to the same bits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

AFTER = 60  # calls with the same shapes; a trace takes as long as 60 of them


class Traced:
    """Like `function`, a pure function of tensors (in dicts and tuples), and the faster the longer it is used.

    A trace holds what is not a tensor as it was, so it is compared once, on other arguments than its own. A function
    that can't be traced, or whose trace gives something else, is never asked again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._calls, self._shapes = 0, list[Any]()
        self._trace: Callable[..., Any] | None = None

    @property
    def traced(self) -> bool:
        """Whether the trace runs instead."""
        return self._trace is not None and self._calls > AFTER + 1

    def __call__(self, *arguments: Any) -> Any:
        """function(*arguments)."""
        shapes = [(part.shape, part.dtype) for part in tree_leaves(arguments)]
        if shapes != self._shapes:
            self._calls, self._shapes, self._trace = 0, shapes, None
        self._calls += 1
        if self._trace is not None and self.traced:
            return self._trace(*arguments)
        found = self.function(*arguments)
        if self._calls == AFTER and threading.current_thread() is threading.main_thread():
            self._trace = _trace(self.function, arguments)  # torch is patched meanwhile, for every thread
        elif self._trace is not None and not _same(self._trace(*arguments), found):
            self._trace = None
        return found


def _trace(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    try:
        with torch.no_grad():
            made = make_fx(lambda *parts: function(*parts))(*arguments)
    except Exception:  # whatever a user's module does that a trace can't hold: it works untraced
        return None
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


def _same(a: Any, b: Any) -> bool:
    pairs = zip(tree_leaves(a), tree_leaves(b), strict=True)
    return all(torch.allclose(x, y, rtol=1e-12, atol=0.0, equal_nan=True) for x, y in pairs)
