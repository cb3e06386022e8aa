"""What a world is, and worlds by name: `cartpole-v0`, `vizdoom-defend-the-center`, `gym:Acrobot-v1`."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from algorithms.digest import digest
from algorithms.names import unknown
from algorithms.state import State
from harness.oracle.score import Score
from harness.plugins import answering, installed

Observations = NDArray[np.float32]
GYM = "gym:"
LATE = Score("return", "late", "return over the last fifth of the steps", higher=True)  # tested, with winners


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
    returns   where discounted returns lie, for the atoms of distributions
    scale     what a network divides observations by, where that helps; none: 1
    zero      in words, where every observation is 0
    cost      µs of a step of one lane, for estimates
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
    returns: tuple[float, float] = (-100.0, 100.0)
    scale: tuple[float, ...] = ()
    zero: str = ""
    cost: float = 45.0
    learner: ClassVar[str] = "agent"
    acts: ClassVar[bool] = True
    rising: ClassVar[tuple[str, ...]] = ("return", "length", "value", "earned", "episodes")

    @property
    def identity(self) -> str:
        """Its own code is ours or hashed with its version; what else decides is a package."""
        return digest("world", self.version)

    @property
    def scores(self) -> tuple[Score, ...]:
        """What is tested, then what is described."""
        return LATE, Score("return", "mean", "mean return over all steps", higher=True)


def is_world(name: str) -> bool:
    """Whether a text names a world rather than a finite problem."""
    return name.startswith(GYM) or name in installed("worlds")


def find_world(name: str) -> WorldInfo:
    """A world by name; what is known of one of gymnasium's beside what it says itself has an entry point too."""
    if name not in installed("worlds"):
        if not name.startswith(GYM):
            raise unknown("world", name, [*installed("worlds"), f"{GYM}Acrobot-v1"])
        return installed("worlds")[GYM].load()(name)
    found = _declared(name)
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
    return [_declared(name) for name in installed("worlds") if not name.startswith(GYM)]


@cache
def _declared(name: str) -> WorldInfo:
    """From the entry points in `dgtd.worlds`: functions that return a WorldInfo. A run is stored under their source."""
    with answering(f"world {name!r}"):
        make = installed("worlds")[name].load()
        made: WorldInfo = make()
    ours = make.__module__.startswith("harness.")
    source = "" if ours else hashlib.sha256(inspect.getsource(sys.modules[make.__module__]).encode()).hexdigest()
    return replace(made, version=f"{made.version} {source}".strip())
