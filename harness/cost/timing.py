"""Time ratios for a noisy machine: A, B, A, B … in one process, then the median of the per-pair ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from algorithms.checks import Floats


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Seconds per call over a block of repeats."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def alternating(ours: Callable[[], object], theirs: Callable[[], object], pairs: int = 9, block: float = 0.05) -> float:
    """Median over pairs of time(ours) / time(theirs); each block lasts about `block` seconds."""
    repeats = [max(1, round(block / max(seconds(call, 1), 1e-9))) for call in (ours, theirs)]
    ratios = [seconds(ours, repeats[0]) / seconds(theirs, repeats[1]) for _ in range(pairs)]
    return statistics.median(ratios)


def interleaved(calls: Sequence[Callable[[], object]], rounds: int, block: float = 0.01) -> Floats:
    """[rounds, calls]: seconds per call, each round through all of them, so that a slow period affects all equally."""
    repeats = [max(1, round(block / max(min(seconds(call, 1) for _ in range(2)), 1e-9))) for call in calls]
    return np.array([[seconds(call, n) for call, n in zip(calls, repeats, strict=True)] for _ in range(rounds)])
