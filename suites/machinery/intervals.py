"""Intervals against the tests and tails that define them, and lanes that are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import comb

import numpy as np
from scipy import stats

from algorithms.checks import Floats
from harness.judging.claims import Claim, Setting
from harness.judging.statistics import (
    FAR_ABOVE,
    Interval,
    end_over_start,
    mean_interval,
    median_interval,
    proportion_interval,
    variance_ratio,
)
from harness.judging.verdicts import Finding, exactly
from suites.machinery.cases import ROUNDING, all_hold, exact

LEVELS = (0.1, 0.01, 1e-4)


def claims() -> list[Claim]:
    """Means, shares, medians, ratios of variances, falls; and two intervals that are wrong."""
    return [
        exact(
            "statistics/mean",
            "the bounds of a mean are the two values that Student's two-sided test just rejects",
            "Student 1908",
            partial(mean_is_students, mean_interval),
        ),
        exact(
            "control/one-sided/mean",
            "an interval with the one-sided quantile ends where Student's two-sided test just rejects",
            "Student 1908",
            partial(mean_is_students, one_sided),
            control=True,
        ),
        exact(
            "statistics/share",
            "the bounds of a share leave half of the false-alarm rate in each binomial tail",
            "Clopper and Pearson 1934",
            partial(share_has_its_tails, proportion_interval),
        ),
        exact(
            "control/normal/share",
            "an interval of a share by the normal limit leaves half of the false-alarm rate in each binomial tail",
            "Clopper and Pearson 1934",
            partial(share_has_its_tails, by_normal_limit),
            control=True,
        ),
        exact(
            "statistics/median",
            "the bounds of a median are the innermost values of the sample that binomial tails allow",
            "Thompson 1936",
            median_is_binomial,
        ),
        exact(
            "statistics/median-lost",
            "a lane that is lost counts as the largest in a median and in its interval",
            "definitions",
            lost_lanes_are_largest,
        ),
        exact(
            "statistics/variance-ratio",
            "the bounds of a ratio of variances are where the paired test of equal variances just rejects",
            "Pitman 1939; Morgan 1939",
            ratio_is_morgans,
        ),
        exact(
            "statistics/fall",
            "a fall is the geometric mean over all lanes, and a lane that is lost counts as far above",
            "definitions",
            falls_keep_lost_lanes,
        ),
    ]


def sample(n: int) -> Floats:
    """Values with no order and no two alike: nothing is drawn."""
    return np.asarray(np.sin(np.arange(1.0, n + 1) ** 2) + 0.1 * np.arange(n))


# ---------------------------------------------------------------------- a mean


def mean_is_students(interval: Callable[[Floats, float], Interval], setting: Setting) -> Finding:
    """The p-value of scipy's test at each bound, over the false-alarm rate; each bound on its side."""
    off = []
    for n in (2, 5, 30):
        x = sample(n)
        for level in LEVELS:
            found = interval(x, level)
            off += [stats.ttest_1samp(x, bound).pvalue / level - 1 for bound in (found.low, found.high)]
            off.append(0.0 if found.low < x.mean() < found.high else 1.0)
    error = float(np.abs(off).max())
    return exactly(error, ROUNDING, f"p at {len(off) * 2 // 3} bounds is off by {error:.1e} of what it must be")


def one_sided(values: Floats, false_alarm: float) -> Interval:
    """A control."""
    return mean_interval(values, 2 * false_alarm)


# ---------------------------------------------------------------------- a share


def share_has_its_tails(interval: Callable[[int, int, float], Interval], setting: Setting) -> Finding:
    """P(k or more) at the lower bound and P(k or fewer) at the upper one, for every k of 12; 0 and 1 at the ends."""
    off, n = [], 12
    for level in LEVELS:
        for k in range(n + 1):
            found = interval(k, n, level)
            off.append(1 - at_most(k - 1, n, found.low) - level / 2 if k else found.low)
            off.append(at_most(k, n, found.high) - level / 2 if k < n else found.high - 1)
    error = float(np.abs(off).max())
    return exactly(error, ROUNDING, f"{len(off)} tails are off by {error:.1e}")


def at_most(k: int, n: int, p: float) -> float:
    """P(X ≤ k) for n throws, each a head with chance p: the sum itself."""
    return float(sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)))


def by_normal_limit(successes: int, n: int, false_alarm: float) -> Interval:
    """A control: the interval of most textbooks."""
    share = successes / n
    half = stats.norm.isf(false_alarm / 2) * np.sqrt(share * (1 - share) / n)
    return Interval(share, max(0.0, share - half), min(1.0, share + half), n)


# ---------------------------------------------------------------------- a median


def median_is_binomial(setting: Setting) -> Finding:
    """For every size up to 30: the k-th smallest and k-th largest, for the largest k whose tail is small enough."""
    return all_hold(medians())


def medians() -> Iterator[tuple[str, bool]]:
    """A case per size and level."""
    for n in range(1, 31):
        x = sample(n)
        ordered = sorted(x)
        for level in LEVELS:
            found = median_interval(x, level)
            ranks = [k for k in range(1, n // 2 + 1) if at_most(k - 1, n, 0.5) <= level / 2]
            expected = (ordered[ranks[-1] - 1], ordered[-ranks[-1]]) if ranks else (-np.inf, np.inf)
            right = (found.low, found.high) == expected and bool(np.isclose(found.estimate, np.median(x)))
            yield f"{n} values at {level:g}", right


def lost_lanes_are_largest(setting: Setting) -> Finding:
    """NaN and infinity against a number that is larger than all others."""
    kept, cases = [3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0], []
    for lost in (np.nan, np.inf):
        for count in (1, 2, 3):
            found = median_interval([lost] * count + kept, 0.2)
            known = median_interval([1e9] * count + kept, 0.2)
            high = known.high if known.high < 1e9 else np.inf
            same = (found.estimate, found.low, found.high) == (known.estimate, known.low, high)
            cases.append((f"{count} lanes that are {lost}", same))
        cases.append((f"all lanes {lost}", median_interval([lost] * 9, 0.05).estimate == np.inf))
    return all_hold(cases)


# ---------------------------------------------------------------------- two variances, and falls


def ratio_is_morgans(setting: Setting) -> Finding:
    """Var a = λ Var b if a + √λ b and a − √λ b are uncorrelated: the p-value of that at both bounds."""
    shared, off = sample(25), []
    for own in (0.3, 2.0):
        a, b = shared + own * np.cos(np.arange(25.0) ** 2), 2 * shared + np.sin(3 + np.arange(25.0) ** 3)
        for level in LEVELS:
            found = variance_ratio(a, b, level).ratio
            for bound in (found.low, found.high):
                apart = stats.pearsonr(a + np.sqrt(bound) * b, a - np.sqrt(bound) * b)
                off.append(apart.pvalue / level - 1)
            off.append(found.estimate / (np.var(a) / np.var(b)) - 1)
    error = float(np.abs(off).max())
    return exactly(error, ROUNDING, f"ratios, and p at their bounds, are off by {error:.1e}")


def falls_keep_lost_lanes(setting: Setting) -> Finding:
    """Eight lanes fall to a hundredth; then some of them end in NaN or infinity."""
    cases = []
    for lost in (np.nan, np.inf):
        for count in (0, 1, 8):
            curves = np.ones((3, 8))
            curves[-1] = 0.01
            curves[-1, :count] = lost
            found = end_over_start(curves, 0.01)
            logarithm = ((8 - count) * np.log(0.01) + count * np.log(FAR_ABOVE)) / 8
            right = bool(np.isclose(np.log(found.estimate), logarithm)) and found.n == 8
            cases.append((f"{count} of 8 lanes end in {lost}", right and (found.high < 1) is (count == 0)))
    return all_hold(cases)
