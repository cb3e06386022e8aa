"""What a world is, and worlds by name: `cartpole-v0`, `vizdoom-defend-the-center`, `gym:Acrobot-v1`."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from algorithms.names import unknown
from algorithms.state import State

Observations = NDArray[np.float32]
GYM = "gym:"


class Moved(NamedTuple):
    """What a step gave, lane by lane. `observation` is the true next one, also where the episode ended.

    terminated   the return ends here: the discount is 0. If a step is the last allowed one too, terminated wins
    truncated    the episode was cut off: a learner goes on from the true observation
    """

    observation: Observations
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class World(Protocol):
    """Lanes of one environment. An episode that ends starts anew in the same step: there is no step without effect."""

    observation: Observations  # [lanes, k]: where the lanes are now
    actions: int

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action."""


@runtime_checkable
class Resumable(Protocol):
    """A world that can be left and entered again: a long cohort there goes on from a checkpoint after a kill.

    A subclass that adds something that changes overrides both methods.
    """

    def state(self) -> State:
        """Named arrays, from which a world made of the same streams can be brought to where this one is."""

    def restore(self, saved: State) -> None:
        """Go there; ValueError if that does not work."""


@dataclass(frozen=True)
class WorldInfo:
    """What is known of a world before it runs: `make` takes lanes' streams [lanes, 4].

    version   what decides its numbers beside our own code: a package and its version
    extra     the extra of ours that it needs, and the package of the same name
    frame     a picture [height, width, 3] of it, for people
    """

    name: str
    summary: str
    observations: int
    actions: int
    limit: int
    make: Callable[[NDArray[np.uint64]], World]
    version: str = ""
    extra: str = ""
    frame: Callable[[], Any] | None = None


def is_world(name: str) -> bool:
    """Whether a text names a world rather than a finite problem."""
    return name.startswith(GYM) or name in _built_in()


def find_world(name: str) -> WorldInfo:
    """A world by name."""
    if name.startswith(GYM):
        from harness.worlds.gym import info

        return info(name)
    found = _built_in().get(name)
    if found is None:
        raise unknown("world", name, [*_built_in(), f"{GYM}Acrobot-v1"])
    if not found.extra:
        return found
    if find_spec(found.extra) is None:
        raise missing(name, found.extra)
    return replace(found, version=f"{found.version} {found.extra} {version(found.extra)}".strip())


def missing(name: str, extra: str) -> ValueError:
    """The error of a world whose extra is not installed."""
    return ValueError(f"world {name!r} needs a package that is not here: pip install 'dgtd-bench[{extra}]'")


def known_worlds() -> list[WorldInfo]:
    """Those that need no prefix, also where their extra is not installed."""
    return list(_built_in().values())


@cache
def _built_in() -> dict[str, WorldInfo]:
    """Ours, and those of the entry points in `dgtd.worlds`: functions that return a WorldInfo."""
    from harness.worlds.cartpole import CARTPOLES
    from harness.worlds.vizdoom import DOOM

    made: dict[str, Any] = {info.name: info for info in (*CARTPOLES, DOOM)}
    for point in entry_points(group="dgtd.worlds"):
        make = point.load()
        source = hashlib.sha256(inspect.getsource(sys.modules[make.__module__]).encode()).hexdigest()
        made[point.name] = replace(make(), version=source)  # runs are stored under what decides them
    return made
