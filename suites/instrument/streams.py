"""Random streams: every one is its own, and numpy's SeedSequence of the root seed and the named axes."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly

SOURCE = "ours: named streams"
ROOTS = (0, 7, 2**70 + 5)  # the last one takes three words of entropy
SEEDS = [0, 3, 2**40]
AXES: tuple[dict[str, str | int], ...] = ({}, {"problem": "baird", "zone": 3})


def claims() -> list[Claim]:
    """Or two claims would rest on the same luck, and a stored run could not be repeated."""
    return [
        Claim(
            id="instrument/streams",
            says="every seed, lane, problem and purpose has a stream of its own, "
            "and the order of the axes does not matter",
            source=SOURCE,
            check=streams_differ,
        ),
        Claim(
            id="instrument/streams/numpy",
            says="a lane's stream is numpy's SeedSequence of the root seed and the SHA-256 of its named axes",
            source=SOURCE,
            check=streams_are_numpys,
            seeded=False,
        ),
    ]


def streams_differ(setting: Setting) -> Finding:
    """All states of 160 streams, pairwise different; the same one again under reordered axes."""
    from algorithms.streams import lane_streams

    made = np.concatenate(
        [
            lane_streams(root, range(10), problem=problem, purpose=purpose)
            for root in (setting.seed, setting.seed + 1)
            for problem in ("a", "b")
            for purpose in ("x", "y", "z", "1")
        ]
    )
    again = lane_streams(setting.seed, range(10), purpose="x", problem="a")
    doubles = len(made) - len(np.unique(made, axis=0)) + int((again != made[:10]).sum())
    return exactly(float(doubles), 0.0, f"{doubles} of {len(made)} streams stand twice")


def streams_are_numpys(setting: Setting) -> Finding:
    """States of the compiled sampler's streams, and the first numbers of numpy's generators, one lane at a time."""
    from algorithms.streams import generators, lane_streams

    wrong = 0
    for root in ROOTS:
        for axes in AXES:
            states = lane_streams(root, SEEDS, **axes)
            drawn = [each.random() for each in generators(root, SEEDS, **axes)]
            for lane, seed in enumerate(SEEDS):
                sequence = written_out(root, {**axes, "lane_seed": seed})
                first = np.random.Generator(np.random.PCG64(sequence)).random()
                wrong += not np.array_equal(states[lane], state_of(sequence)) or drawn[lane] != first
    return exactly(float(wrong), 0.0, f"{wrong} of {len(AXES) * len(ROOTS) * len(SEEDS)} lanes have another stream")


def written_out(root: int, axes: dict[str, str | int]) -> np.random.SeedSequence:
    """Name, type and value of every axis, sorted by name; the SHA-256 of that list is the spawn key."""
    named = [(name, type(axes[name]).__name__, str(axes[name])) for name in sorted(axes)]
    key = hashlib.sha256(repr(named).encode()).digest()
    return np.random.SeedSequence(root, spawn_key=[int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)])


def state_of(sequence: np.random.SeedSequence) -> NDArray[np.uint64]:
    """The four words with which a lane's stream starts."""
    return sequence.generate_state(4, np.uint64).astype(np.uint64)
