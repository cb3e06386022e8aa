"""Any environment of gymnasium with discrete actions and a vector to observe: `gym:Acrobot-v1`."""

from __future__ import annotations

import warnings
from array import array
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.names import unknown
from algorithms.state import State, refill
from harness.worlds.world import GYM, Moved, WorldInfo, missing


class GymWorld:
    """One environment per lane. Each episode is seeded from its lane's stream, so that it can be had again."""

    def __init__(self, name: str, streams: NDArray[np.uint64]) -> None:
        self.envs = [_make(name) for _ in streams]
        self.actions = int(self.envs[0].action_space.n)
        self._seeds = [np.random.default_rng(list(map(int, stream))) for stream in streams]
        self._episodes = np.zeros(len(self.envs), dtype=np.int64)  # begun so far
        self._taken = [array("q") for _ in streams]  # actions since the episode began
        self.observation = np.stack([self._begin(lane) for lane in range(len(self.envs))])

    def _begin(self, lane: int) -> Any:
        observation, _ = self.envs[lane].reset(seed=int(self._seeds[lane].integers(2**31)))
        self._episodes[lane] += 1
        del self._taken[lane][:]
        return np.asarray(observation, dtype=np.float32).reshape(-1)

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action."""
        following, now = np.empty_like(self.observation), np.empty_like(self.observation)
        reward = np.empty(len(self.envs))
        ended, cut = np.zeros((2, len(self.envs)), dtype=np.bool_)
        for lane, env in enumerate(self.envs):
            action = int(actions[lane])
            observation, reward[lane], terminated, truncated, _ = env.step(action)
            self._taken[lane].append(action)
            following[lane] = now[lane] = np.asarray(observation, dtype=np.float32).reshape(-1)
            ended[lane], cut[lane] = terminated, truncated and not terminated
            if terminated or truncated:
                now[lane] = self._begin(lane)
        self.observation = now
        return Moved(following, reward, ended, cut)

    def state(self) -> State:
        """How many episodes each lane has begun, and its actions in the last one: an environment can't be copied."""
        return {
            "episodes": self._episodes, "observation": self.observation,
            "lengths": np.array([len(taken) for taken in self._taken]),
            "actions": np.concatenate([np.array(taken, dtype=np.int64) for taken in self._taken]),
        }  # fmt: skip

    def restore(self, saved: State) -> None:
        """Draw the seeds up to each lane's last episode, begin that one, and take its actions again."""
        here = {"episodes": self._episodes.copy(), "observation": self.observation.copy()}
        lengths = np.zeros(len(self.envs), dtype=np.int64)
        refill(here | {"lengths": lengths}, saved)
        taken = np.split(saved["actions"], np.cumsum(lengths)[:-1])
        for lane in range(len(self.envs)):
            self.observation[lane] = self._again(lane, int(here["episodes"][lane]), taken[lane])
        if self.observation.tobytes() != here["observation"].tobytes():
            raise ValueError("the same seeds and actions did not lead to the same observations")

    def _again(self, lane: int, episodes: int, actions: NDArray[np.int64]) -> Any:
        """What the lane sees after these actions in that episode."""
        while self._episodes[lane] < episodes - 1:
            self._seeds[lane].integers(2**31)
            self._episodes[lane] += 1
        observation = self._begin(lane) if self._episodes[lane] < episodes else self.observation[lane]
        for action in map(int, actions):
            observation, _, terminated, truncated, _ = self.envs[lane].step(action)
            self._taken[lane].append(action)
            if terminated or truncated:
                raise ValueError("the same seeds and actions ended an episode that was going on")
        return np.asarray(observation, dtype=np.float32).reshape(-1)


@cache
def info(name: str) -> WorldInfo:
    """What gymnasium says of an environment; ValueError if a learner of ours can't act there."""
    from gymnasium import spaces

    env = _make(name)
    seen, moves = env.observation_space, env.action_space
    if not isinstance(moves, spaces.Discrete):
        raise ValueError(f"world {name!r} must have discrete actions, got {moves}")
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        raise ValueError(f"world {name!r} must show a vector, got {seen}")
    limit = env.spec.max_episode_steps if env.spec is not None else None
    packages = f"gymnasium {version('gymnasium')}"
    if ".box2d." in type(env.unwrapped).__module__:
        packages += f", Box2D {import_module('Box2D').__version__}"
    env.close()
    return WorldInfo(
        name, f"gymnasium's {name.removeprefix(GYM)}", int(seen.shape[0]), int(moves.n), limit or 0,
        lambda streams: GymWorld(name, streams), packages, frame=lambda: _frame(name),
    )  # fmt: skip


def _frame(name: str) -> Any:
    """As gymnasium renders it."""
    from gymnasium import error

    try:
        env = _make(name, render_mode="rgb_array")
        env.reset(seed=0)
        frame = env.render()
        env.close()
    except error.Error as wrong:
        raise ValueError(f"world {name!r} can't be drawn: {wrong}") from None
    return frame


def _make(name: str, **settings: Any) -> Any:
    import gymnasium
    from gymnasium import error

    short = name.removeprefix(GYM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return gymnasium.make(short, **settings)
    except error.DependencyNotInstalled as wrong:
        if "box2d" in str(wrong).lower():
            raise missing(name, "box2d") from None
        raise ValueError(f"world {name!r} needs a package that is not here: {wrong}") from None
    except (error.NameNotFound, error.VersionNotFound, error.NamespaceNotFound, error.DeprecatedEnv):
        raise unknown("world", name, [f"{GYM}{each}" for each in sorted(gymnasium.registry)]) from None
    except error.Error as wrong:
        raise ValueError(f"world {name!r}: {wrong}") from None
