"""Lanes of environments that are moved one by one and can't be copied: gymnasium's, and ViZDoom's games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array

import numpy as np
from numpy.typing import NDArray

from algorithms.state import State, refill
from harness.places.world import Moved, Observations


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
        """Every lane takes its action."""
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
