"""Replay: a ring of transitions per lane, all lanes in one set of arrays [lanes, capacity, …]; named arrays."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import whole
from dgtd.algorithms.fast.compiling import Floats2, Integer, Integers2, Singles3, Streams, compiled
from dgtd.algorithms.streams import uniform

State = dict[str, Any]


def joined(**parts: State) -> State:
    """One state of several: the array `name` of `part` is `part/name`."""
    return {f"{part}/{name}": array for part, state in parts.items() for name, array in state.items()}


def part_of(state: State, part: str) -> State:
    """The inverse of `joined`."""
    return {name.removeprefix(f"{part}/"): array for name, array in state.items() if name.startswith(f"{part}/")}


def refill(arrays: State, saved: State) -> None:
    """Each array ← the saved one of its name, in place: whoever holds a view of it sees the saved numbers."""
    for name, array in arrays.items():
        found = saved.get(name)
        if found is None:
            raise ValueError(f"saved state must have {name!r}, got {', '.join(saved) or 'nothing'}")
        if (found.shape, found.dtype) != (array.shape, array.dtype):
            raise ValueError(
                f"saved {name!r} must be {array.dtype} of shape {array.shape}, got {found.dtype} of {found.shape}"
            )
        array[...] = found


class Transitions(NamedTuple):
    """x, x_next  [lanes, count, k]   action  [lanes, count]   reward, discount  [lanes, count]: 0 where it ended."""

    x: Any
    x_next: Any
    action: Any
    reward: Any
    discount: Any


class _Rings(NamedTuple):
    x: Singles3
    x_next: Singles3
    action: Integers2
    reward: Floats2
    discount: Floats2


@compiled(Streams, Integer, _Rings, _Rings)
def _draw(streams, size, rings, out):
    """out ← transitions of each lane, drawn by its own stream from the first `size` of its ring."""
    lanes, count = out.action.shape
    for lane in range(lanes):
        for i in range(count):
            at = np.int64(uniform(streams[lane]) * size)
            for j in range(rings.x.shape[2]):
                out.x[lane, i, j] = rings.x[lane, at, j]
                out.x_next[lane, i, j] = rings.x_next[lane, at, j]
            out.action[lane, i] = rings.action[lane, at]
            out.reward[lane, i] = rings.reward[lane, at]
            out.discount[lane, i] = rings.discount[lane, at]


def _arrays(lanes: int, count: int, k: int) -> _Rings:
    x, x_next = (np.zeros((lanes, count, k), dtype=np.float32) for _ in range(2))
    action = np.zeros((lanes, count), dtype=np.int64)
    return _Rings(x, x_next, action, np.zeros((lanes, count)), np.zeros((lanes, count)))


class Replay:
    """The last `capacity` transitions of every lane. Lanes add together, so one cursor serves all."""

    def __init__(self, streams: NDArray[np.uint64], capacity: int, observations: int) -> None:
        whole("capacity", capacity, 1)
        self.streams = np.array(streams)
        self.rings = _arrays(len(streams), capacity, observations)
        self.capacity, self.added = capacity, 0

    @property
    def size(self) -> int:
        """Transitions per lane that can be drawn."""
        return min(self.added, self.capacity)

    def add(self, x: Any, action: Any, reward: Any, discount: Any, x_next: Any) -> None:
        """One transition per lane."""
        at = self.added % self.capacity
        self.rings.x[:, at], self.rings.x_next[:, at] = x, x_next
        self.rings.action[:, at], self.rings.reward[:, at], self.rings.discount[:, at] = action, reward, discount
        self.added += 1

    def draw(self, count: int) -> Transitions:
        """`count` transitions per lane, with replacement, from each lane's own stream."""
        if not self.added:
            raise ValueError("replay is empty: nothing can be drawn")
        out = _arrays(len(self.streams), count, self.rings.x.shape[2])
        _draw(self.streams, self.size, self.rings, out)
        return Transitions(*out)

    def state(self) -> State:
        """What was added so far, and where the streams are; the arrays themselves, not copies."""
        return {"added": np.array(self.added), "streams": self.streams} | self._filled()

    def restore(self, saved: State) -> None:
        """Go on from a state."""
        added = np.array(self.added)
        refill({"added": added, "streams": self.streams}, saved)
        self.added = int(added)
        refill(self._filled(), saved)

    def _filled(self) -> State:
        """The part of the rings that holds something."""
        return {name: ring[:, : self.size] for name, ring in self.rings._asdict().items()}
