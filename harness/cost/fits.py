"""Laws of cost: exact laws, solved from a few sizes and checked on the rest, growth of time, and ratios of times."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats


@dataclass(frozen=True)
class Law:
    """Integer coefficients, and the largest difference between a count and the law: 0 if the law holds."""

    coefficients: tuple[int, ...]
    residual: int


def exact_law(terms: ArrayLike, counts: ArrayLike) -> Law:
    """Solve counts = terms · coefficients from as many rows as it needs, and check it on every row.

    terms [sizes, unknowns] are integers, and the coefficients must be integers too: they are counts of operations.
    """
    rows = [[Fraction(int(term)) for term in row] for row in np.asarray(terms)]
    y = [Fraction(int(count)) for count in np.asarray(counts)]
    unknowns = len(rows[0])
    if len(rows) <= unknowns:
        raise ValueError(f"{len(rows)} sizes for {unknowns} coefficients leave no size to check them on")
    solved = _solve(rows, y)
    whole = tuple(round(c) for c in solved)
    misses = [
        abs(count - sum(t * c for t, c in zip(row, whole, strict=True))) for row, count in zip(rows, y, strict=True)
    ]
    return Law(whole, int(max(misses)))


def _solve(rows: list[list[Fraction]], y: list[Fraction]) -> list[Fraction]:
    """Gauss–Jordan on the first rows that determine every unknown, in exact arithmetic: floats lose counts at 10⁷."""
    unknowns, basis = len(rows[0]), list[tuple[int, list[Fraction]]]()
    for row, value in zip(rows, y, strict=True):
        line = [*row, value]
        for pivot, done in basis:
            line = [a - line[pivot] * b for a, b in zip(line, done, strict=True)]
        pivot = next((i for i in range(unknowns) if line[i]), unknowns)
        if pivot == unknowns:
            continue
        line = [a / line[pivot] for a in line]
        basis = [(p, [a - done[pivot] * b for a, b in zip(done, line, strict=True)]) for p, done in basis]
        basis.append((pivot, line))
        if len(basis) == unknowns:
            return [line[-1] for _, line in sorted(basis)]
    raise ValueError(f"the sizes determine {len(basis)} of {unknowns} coefficients")


def time_exponent(sizes: ArrayLike, seconds: ArrayLike) -> list[float]:
    """p of a + b·d^p, one per round (seconds [rounds, sizes]); the fit is in logarithms, so that every size counts."""
    from scipy.optimize import least_squares

    d = np.asarray(sizes, dtype=float)
    found = []
    for times in np.asarray(seconds, dtype=float):

        def misfit(x: np.ndarray, times: np.ndarray = times) -> np.ndarray:
            overhead, largest, p = x
            return np.log(np.exp(overhead) + np.exp(largest) * (d / d[-1]) ** p) - np.log(times)

        fit = least_squares(misfit, (np.log(times[0]), np.log(times[-1]), 1.0), bounds=([-40, -40, 0.0], [10, 10, 4.0]))
        found.append(float(fit.x[2]))
    return found


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
