"""Tests against their definitions: signed ranks by all signs, Holm by all subsets, Wald by likelihoods, slopes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import stats

from algorithms.checks import Floats
from harness.judging.claims import Claim, Setting
from harness.judging.statistics import Sprt, holm, paired, slopes
from harness.judging.verdicts import Finding, exactly
from suites.machinery.cases import ROUNDING, all_hold, exact


def claims() -> list[Claim]:
    """Paired lanes, many tests, lanes one by one, power laws."""
    return [
        exact(
            "statistics/signed-ranks",
            "p of few pairs is the share of all signs whose rank sum is as far from 0, in either direction",
            "Wilcoxon 1945",
            p_is_enumerated,
        ),
        exact(
            "statistics/signed-ranks-many",
            "p of many pairs is the two-sided normal limit with a correction for continuity",
            "Wilcoxon 1945",
            p_is_the_normal_limit,
        ),
        exact(
            "statistics/signed-ranks-lost",
            "in a paired test a lane that is lost is worse than any other, and is never left out",
            "definitions",
            lost_lanes_are_ranked,
        ),
        exact(
            "statistics/holm",
            "Holm's p-value is the largest that Bonferroni gives to any set of the tests with this one in it",
            "Holm 1979",
            partial(closed_over_subsets, holm),
        ),
        exact(
            "control/uncorrected/holm",
            "p-values as they are hold for all tests together",
            "Holm 1979",
            partial(closed_over_subsets, lambda p: np.asarray(p, dtype=float)),
            control=True,
        ),
        exact(
            "statistics/sequential",
            "the sequential test decides every sequence of lanes where the likelihood ratio leaves Wald's bounds",
            "Wald 1945",
            sequences_are_walds,
        ),
        exact(
            "statistics/bend",
            "a curve with two different slopes is no power law, whichever of the two is steeper",
            "definitions",
            bends_are_seen,
        ),
    ]


def gaps(n: int, shift: float) -> Floats:
    """Differences of pairs, of both signs, no two of one size."""
    return np.asarray(np.sin(np.arange(1.0, n + 1) ** 2) + shift)


# ---------------------------------------------------------------------- pairs


def p_is_enumerated(setting: Setting) -> Finding:
    """For A lower and B lower, with and without ties."""
    off = []
    for n in (2, 5, 9):
        for shift in (-0.5, 0.3):
            for gap in (gaps(n, shift), np.round(2 * gaps(n, shift))):
                found = paired(gap, np.zeros(n))
                total = (np.sign(gap) * stats.rankdata(np.abs(gap))).sum()
                off += [found.p - by_all_signs(gap), float(found.direction - np.sign(total))]
    error = float(np.abs(off).max())
    return exactly(error, ROUNDING, f"p and direction of {len(off) // 2} samples are off by {error:.1e}")


def by_all_signs(gap: Floats) -> float:
    """Zeros have ranks, and no sign."""
    ranks, seen = stats.rankdata(np.abs(gap))[gap != 0], gap[gap != 0]
    total = abs(float(np.sign(seen) @ ranks))
    sums = [abs(float(np.dot(signs, ranks))) for signs in product((-1, 1), repeat=len(ranks))]
    return sum(each >= total - 1e-9 for each in sums) / len(sums)


def p_is_the_normal_limit(setting: Setting) -> Finding:
    """Against scipy's."""
    off = []
    for n in (17, 40):
        for shift in (-0.2, 0.1, 0.4):
            gap = gaps(n, shift)
            known = stats.wilcoxon(gap, correction=True, method="asymptotic").pvalue
            off.append(paired(gap, np.zeros(n)).p / known - 1)
    error = float(np.abs(off).max())
    return exactly(error, ROUNDING, f"p of {len(off)} samples is off by {error:.1e} of itself")


def lost_lanes_are_ranked(setting: Setting) -> Finding:
    """As a number far beyond all others, equally far in both; two lanes that are both lost are a tie."""
    cases, a, b = [], gaps(9, 1.0), np.ones(9)
    for lost in (np.nan, np.inf):
        for in_a, in_b in (([0], []), ([], [3]), ([0, 1], [1, 2]), (range(9), [])):
            x, y, far_x, far_y = a.copy(), b.copy(), a.copy(), b.copy()
            x[list(in_a)], y[list(in_b)] = lost, lost
            far_x[list(in_a)], far_y[list(in_b)] = 1e12, 1e12
            far = np.where(np.abs(far_x - far_y) > 1e9, np.sign(far_x - far_y) * 1e12, far_x - far_y)
            found = paired(x, y)
            wins = ((far < 0).sum() + (far == 0).sum() / 2) / 9
            right = np.isclose(found.p, by_all_signs(far)) and np.isclose(found.better.estimate, wins)
            cases.append((f"A loses {len(in_a)} and B {len(in_b)} lanes to {lost}", bool(right) and found.n == 9))
    return all_hold(cases)


# ---------------------------------------------------------------------- many tests


def closed_over_subsets(adjust: Callable[[Sequence[float]], Floats], setting: Setting) -> Finding:
    """Every set of up to six tests: its smallest p times its size; the largest over the sets that hold a test."""
    off: list[Any] = []
    for n in (1, 3, 6):
        for power in (1, 4):
            p = [float(x) for x in np.abs(np.sin(np.arange(1, n + 1) ** 2)) ** power]
            sets = [each for size in range(1, n + 1) for each in combinations(range(n), size)]
            level = {each: min(1.0, len(each) * min(p[i] for i in each)) for each in sets}
            expected = [max(level[each] for each in sets if i in each) for i in range(n)]
            off.append(np.abs(np.asarray(adjust(p)) - expected).max())
    error = float(np.max(off))
    return exactly(error, ROUNDING, f"{len(off)} lists of p-values are off by {error:.1e}")


# ---------------------------------------------------------------------- lanes one by one


def sequences_are_walds(setting: Setting) -> Finding:
    """All sequences of seven lanes, for three tests whose two error rates differ; in fractions."""
    return all_hold(sequences())


def sequences() -> Iterator[tuple[str, bool]]:
    """A case per sequence; what the test says it needs if no lane fails is one of them."""
    for rates in ((0.1, 0.5, 0.05, 0.2), (0.2, 0.6, 0.3, 0.02), (0.05, 0.3, 0.01, 0.3)):
        test = Sprt(*rates, most=6)
        for failures in product((False, True), repeat=7):
            shown = "".join("x" if failed else "." for failed in failures)
            yield f"{shown} at {rates}", test.decide(failures) == by_likelihoods(test, failures)
        clean = by_likelihoods(Sprt(*rates, most=100), [False] * 100)
        yield f"clean lanes at {rates}", clean == (True, test.lanes_if_clean)


def by_likelihoods(test: Sprt, failures: Sequence[bool]) -> tuple[bool | None, int]:
    """Wald: stop where the likelihood of `bad` over that of `good` reaches (1 − β)/α or β/(1 − α)."""
    good, bad, alpha, beta = (Fraction(str(x)) for x in (test.good, test.bad, test.false_alarm, test.miss))
    ratio = Fraction(1)
    for used, failed in enumerate(failures[: test.most], start=1):
        ratio *= bad / good if failed else (1 - bad) / (1 - good)
        if ratio >= (1 - beta) / alpha:
            return False, used
        if ratio <= beta / (1 - alpha):
            return True, used
    return None, min(len(failures), test.most)


# ---------------------------------------------------------------------- power laws


def bends_are_seen(setting: Setting) -> Finding:
    """A knee in the middle of nine points: the bend is the difference of the slopes, and decides up to a tenth."""
    n, cases = np.geomspace(10, 1e5, 9), []
    for first, second in ((-0.5, -0.5), (-0.5, -0.45), (-0.8, -0.2), (-0.2, -0.8), (0.0, -1.0)):
        curve = np.where(n <= n[4], (n / n[4]) ** first, (n / n[4]) ** second)
        found = slopes(n, curve * np.array([[1.0], [2.0], [5.0]]), 0.05)
        right = np.isclose(found.bend.estimate, second - first) and found.power_law == (abs(second - first) < 0.1)
        cases.append((f"slopes {first:g} and {second:g}", bool(right)))
    return all_hold(cases)
