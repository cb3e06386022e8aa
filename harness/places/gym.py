"""Any environment of gymnasium with discrete actions and a vector to observe: `gym:Acrobot-v1`."""

import inspect
import warnings
from functools import cache
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.names import unknown
from dgtd.harness.places.world import GYM, Observations, OneByOne, WorldInfo, missing
from dgtd.harness.plugins import digest_of, importable


class GymWorld(OneByOne):
    """One environment per lane."""

    def __init__(self, name: str, streams: NDArray[np.uint64]) -> None:
        self.envs = [_make(name) for _ in streams]
        moves = self.envs[0].action_space
        self.actions, self._first = int(moves.n), int(moves.start)
        super().__init__(streams)

    def reset(self, lane: int, seed: int) -> Observations:
        return _vector(self.envs[lane].reset(seed=seed)[0])

    def move(self, lane: int, action: int) -> tuple[Observations, float, bool, bool]:
        observation, reward, terminated, truncated, _ = self.envs[lane].step(self._first + action)
        return _vector(observation), float(reward), terminated, truncated


def _vector(observation: Any) -> Observations:
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
    packages = _deciding(env)
    env.close()
    return WorldInfo(
        name, f"gymnasium's {name.removeprefix(GYM)}", int(seen.shape[0]), int(moves.n), limit or 0,
        lambda streams: GymWorld(name, streams), packages, frame=lambda: _frame(name),
    )  # fmt: skip


def _deciding(env: Any) -> str:
    """What decides the numbers of an environment: packages and their versions; its own source, if it is not theirs."""
    kind = type(env.unwrapped)
    found = [f"gymnasium {version('gymnasium')}"]
    if ".box2d." in kind.__module__:
        found.append(f"Box2D {import_module('Box2D').__version__}")
    top = kind.__module__.partition(".")[0]
    if top != "gymnasium":
        found += [f"{package} {version(package)}" for package in packages_distributions().get(top, [])]
        found.append(digest_of(Path(inspect.getfile(kind)), kind.__module__))
    if env.spec is not None and env.spec.kwargs:
        found.append(repr(env.spec.kwargs))
    return ", ".join(found)


def _frame(name: str) -> Any:
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
        # gym:module:ID may name a module of the working folder.
        with warnings.catch_warnings(), importable(Path.cwd()):
            warnings.simplefilter("ignore")
            return gymnasium.make(short, **settings)
    except error.DependencyNotInstalled as wrong:
        if "box2d" in str(wrong).lower():
            raise missing(name, "box2d") from None
        raise ValueError(f"world {name!r} needs a package that is not here: {wrong}") from None
    except (error.NameNotFound, error.VersionNotFound, error.NamespaceNotFound, error.DeprecatedEnv):
        raise unknown("world", name, [f"{GYM}{each}" for each in sorted(gymnasium.registry)]) from None
    except Exception as wrong:  # whatever an environment's own code raises
        raise ValueError(f"world {name!r} can't be made: {type(wrong).__name__}: {wrong}") from None
