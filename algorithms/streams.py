"""Random streams from named axes: adding a rule, a seed or a problem never changes another stream."""

import hashlib

import numpy as np
from numpy.typing import NDArray


def seed_sequence(root: int, **axes: str | int) -> np.random.SeedSequence:
    """The stream of `root` at the point that the named axes describe; their order does not matter."""
    if root < 0:
        raise ValueError(f"seed must be 0 or more, got {root}")
    text = repr(sorted((name, type(value).__name__, str(value)) for name, value in axes.items()))
    key = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(root, spawn_key=tuple(int(part) for part in key))


def generator(root: int, **axes: str | int) -> np.random.Generator:
    """A numpy generator on that stream."""
    return np.random.Generator(np.random.PCG64(seed_sequence(root, **axes)))


def generators(root: int, seeds: list[int] | range, **axes: str | int) -> list[np.random.Generator]:
    """One numpy generator per seed: what a lane draws does not depend on its neighbours."""
    return [generator(root, lane_seed=seed, **axes) for seed in seeds]


def lane_streams(root: int, seeds: list[int] | range, **axes: str | int) -> NDArray[np.uint64]:
    """xoshiro256++ states [lanes, 4] for the compiled sampler, one stream per seed."""
    states = [seed_sequence(root, lane_seed=seed, **axes).generate_state(4, np.uint64) for seed in seeds]
    return np.array(states, dtype=np.uint64).reshape(len(states), 4)
