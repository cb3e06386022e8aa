"""Any environment of gymnasium with discrete actions and a vector to observe: `gym:Acrobot-v1`."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.names import unknown
from harness.worlds.world import GYM, Moved, WorldInfo, missing


class GymWorld:
    """One environment per lane. Each episode is seeded from its lane's stream, so that it can be had again."""

    def __init__(self, name: str, streams: NDArray[np.uint64]) -> None:
        self.envs = [_make(name) for _ in streams]
        self.actions = int(self.envs[0].action_space.n)
        self._seeds = [np.random.default_rng(list(map(int, stream))) for stream in streams]
        self.observation = np.stack([self._begin(lane) for lane in range(len(self.envs))])

    def _begin(self, lane: int) -> Any:
        observation, _ = self.envs[lane].reset(seed=int(self._seeds[lane].integers(2**31)))
        return np.asarray(observation, dtype=np.float32).reshape(-1)

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action."""
        following, now = np.empty_like(self.observation), np.empty_like(self.observation)
        reward = np.empty(len(self.envs))
        ended, cut = np.zeros((2, len(self.envs)), dtype=np.bool_)
        for lane, env in enumerate(self.envs):
            observation, reward[lane], terminated, truncated, _ = env.step(int(actions[lane]))
            following[lane] = now[lane] = np.asarray(observation, dtype=np.float32).reshape(-1)
            ended[lane], cut[lane] = terminated, truncated and not terminated
            if terminated or truncated:
                now[lane] = self._begin(lane)
        self.observation = now
        return Moved(following, reward, ended, cut)


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
