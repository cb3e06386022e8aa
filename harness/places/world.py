"""Places, where learning happens: finite problems and worlds, by name (`cartpole-v0`, `gym:Taxi-v3`, `file.py:name`).

Of both the harness knows

name, summary   as it is stored, and one line
scores          numbers of a lane: the first is tested, the others are described; each says what a diverged lane counts
learner         the kind of learner that fits, unless a user names another
acts            whether lanes act there, rather than sample a table
rising          metrics of which more is better
returns         where returns lie, for the atoms of return distributions
identity        what decides its numbers, beside our own code: runs are stored under it
"""

import hashlib
import inspect
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.digest import digest
from dgtd.algorithms.names import unknown
from dgtd.algorithms.replay import State, refill
from dgtd.harness.oracle.metrics import Score
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import answering, find_problem, installed, is_file, made_by_file, source_of

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


Place = Problem | WorldInfo


def find_place(name: str) -> Place:
    return find_world(name) if is_world(name) else find_problem(name)


def is_world(name: str) -> bool:
    """Whether a text names a world rather than a finite problem; of a user's file, what its function makes decides."""
    if is_file(name):
        return isinstance(made_by_file(name), WorldInfo)
    return name.startswith(GYM) or name in installed("worlds")


def find_world(name: str) -> WorldInfo:
    """A world by name; what is known of one of gymnasium's beside what it says itself has an entry point too."""
    if is_file(name):
        made = made_by_file(name)
        if not isinstance(made, WorldInfo):
            raise ValueError(f"world {name!r} must be a WorldInfo, got {type(made).__name__}")
        return replace(made, version=f"{made.version} {source_of(name)}".strip())
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
    ours = make.__module__.startswith("dgtd.")
    source = "" if ours else hashlib.sha256(inspect.getsource(sys.modules[make.__module__]).encode()).hexdigest()
    return replace(made, version=f"{made.version} {source}".strip())


class OneByOne(ABC):
    """Each episode is seeded from its lane's stream: where a lane is can be had again, by its last episode's actions.

    A subclass makes its environments before it calls `__init__`.
    """

    actions: int

    def __init__(self, streams: NDArray[np.uint64]) -> None:
        self._seeds = [np.random.default_rng(list(map(int, stream))) for stream in streams]
        self._episodes = np.zeros(len(streams), dtype=np.int64)  # begun so far
        self._taken = [array("q") for _ in streams]  # actions since the episode began
        self.observation = np.stack([self._begin(lane) for lane in range(len(streams))])

    @abstractmethod
    def reset(self, lane: int, seed: int) -> Observations:
        """Begin an episode of one lane."""

    @abstractmethod
    def move(self, lane: int, action: int) -> tuple[Observations, float, bool, bool]:
        """One lane takes its action: where that led, the reward, whether it terminated, whether its time was over."""

    @property
    def ages(self) -> NDArray[np.int64]:
        """[lanes]: steps since the episode began."""
        return np.array([len(taken) for taken in self._taken])

    def _begin(self, lane: int) -> Observations:
        self._episodes[lane] += 1
        del self._taken[lane][:]
        return self.reset(lane, int(self._seeds[lane].integers(2**31)))

    def step(self, actions: NDArray[np.int64]) -> Moved:
        following, now = np.empty_like(self.observation), np.empty_like(self.observation)
        reward = np.empty(len(actions))
        ended, cut = np.zeros((2, len(actions)), dtype=np.bool_)
        for lane, action in enumerate(actions.tolist()):
            self._taken[lane].append(action)
            observation, reward[lane], terminated, truncated = self.move(lane, action)
            following[lane] = observation
            ended[lane], cut[lane] = terminated, truncated and not terminated
            now[lane] = self._begin(lane) if terminated or truncated else observation
        self.observation = now
        return Moved(following, reward, ended, cut)

    def state(self) -> State:
        """How many episodes each lane has begun, and its actions in the last one."""
        return {
            "episodes": self._episodes, "observation": self.observation, "lengths": self.ages,
            "actions": np.concatenate([np.array(taken, dtype=np.int64) for taken in self._taken]),
        }  # fmt: skip

    def restore(self, saved: State) -> None:
        """Draw the seeds up to each lane's last episode, begin that one, and take its actions again."""
        here: State = {"episodes": self._episodes.copy(), "observation": self.observation.copy(), "lengths": self.ages}
        refill(here, saved)
        taken = np.split(saved["actions"], np.cumsum(here["lengths"])[:-1])
        for lane, actions in enumerate(taken):
            self.observation[lane] = self._again(lane, int(here["episodes"][lane]), actions)
        if self.observation.tobytes() != here["observation"].tobytes():
            raise ValueError("the same seeds and actions did not lead to the same observations")

    def _again(self, lane: int, episodes: int, actions: NDArray[np.int64]) -> Observations:
        """What the lane sees after these actions in that episode."""
        while self._episodes[lane] < episodes - 1:
            self._seeds[lane].integers(2**31)
            self._episodes[lane] += 1
        observation: Observations = self.observation[lane]
        if self._episodes[lane] < episodes:
            observation = self._begin(lane)
        for action in map(int, actions):
            self._taken[lane].append(action)
            observation, _, terminated, truncated = self.move(lane, action)
            if terminated or truncated:
                raise ValueError("the same seeds and actions ended an episode that was going on")
        return observation
