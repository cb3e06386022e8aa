"""Time ratios that survive a noisy machine: A, B, A, B … in one process, the median of the per-pair ratios."""

import statistics
import time
from collections.abc import Callable


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


def report(benchmark, name: str, value: float, bound: str) -> None:
    """Print one line of the table and keep the number beside the timing."""
    benchmark.extra_info[name] = value
    print(f"\n  {name:<66} {value:8.2f}   required {bound}", flush=True)
