"""The statistics behind verdicts: exact intervals, or t-intervals over lanes; their coverage is measured."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dgtd.algorithms.checks import Floats, within

FAR_ABOVE = 1e300  # the ratio of a lane that was lost


@dataclass(frozen=True)
class Interval:
    """An estimate with its bounds and how many independent pieces of data it rests on."""

    estimate: float
    low: float
    high: float
    n: int

    @staticmethod
    def at(number: float, n: int) -> Interval:
        """One number, known as it is."""
        return Interval(number, number, number, n)

    @property
    def bounds(self) -> dict[str, float]:
        """For JSON."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}

    def __format__(self, digits: str) -> str:
        return f"{self.estimate:{digits}} [{self.low:{digits}}, {self.high:{digits}}]"

    def text(self, digits: str = ".3g") -> str:
        """The estimate, with its bounds where the data are enough for a lower one and something is finite."""
        if np.isposinf(self.low):
            return "∞"
        return f"{self.estimate:.3g}" + (f" [{self.low:{digits}}, {self.high:{digits}}]" if self.low > -np.inf else "")


def mean_interval(values: ArrayLike, false_alarm: float) -> Interval:
    """Two-sided t-interval of the mean of independent values."""
    x = np.asarray(values, dtype=float).ravel()
    if not np.isfinite(x).all():
        raise ValueError(f"values must be finite, got {x[~np.isfinite(x)][0]}")
    if len(x) < 2:
        return Interval(float(x.mean()) if len(x) else np.nan, -np.inf, np.inf, len(x))
    half = stats.t.isf(false_alarm / 2, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return Interval(float(x.mean()), float(x.mean() - half), float(x.mean() + half), len(x))


def exponential(logs: Interval) -> Interval:
    """The interval of a geometric mean, from that of the logarithms."""
    estimate, low, high = (float(np.exp(min(x, 700.0))) for x in (logs.estimate, logs.low, logs.high))
    return Interval(estimate, low, high, logs.n)


def magnitude(of: Interval) -> Interval:
    """The interval of how far from 0 it is."""
    nearest = 0.0 if of.low <= 0 <= of.high else min(abs(of.low), abs(of.high))
    return Interval(abs(of.estimate), nearest, max(-of.low, of.high), of.n)


def end_over_start(curves: ArrayLike, false_alarm: float) -> Interval:
    """The geometric mean over lanes of curves' [checkpoints, lanes] end over their start.

    A lane whose end is not finite counts as far above, one that ends at 0 as far below: none is dropped.
    """
    y = np.asarray(curves, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.isfinite(y[-1]), y[-1] / y[0], FAR_ABOVE)
    return exponential(mean_interval(np.log(np.clip(ratio, 1 / FAR_ABOVE, FAR_ABOVE)), false_alarm))


def proportion_interval(successes: int, n: int, false_alarm: float) -> Interval:
    """Clopper–Pearson: exact, so that 0 of 20 only shows 'below 14 %' one-sidedly at 95 %."""
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"successes must be in [0, {n}], got {successes}")
    low = stats.beta.ppf(false_alarm / 2, successes, n - successes + 1) if successes else 0.0
    high = stats.beta.isf(false_alarm / 2, successes + 1, n - successes) if successes < n else 1.0
    return Interval(successes / n, float(low), float(high), n)


@dataclass(frozen=True)
class Sprt:
    """A truncated sequential probability ratio test of a failure rate: at most `good`, or at least `bad`.

    Lanes come one by one; the test stops as soon as it knows, and at `most` lanes it says INCONCLUSIVE. Wald's bounds
    keep the chance of calling a good rule bad below `false_alarm`, and of calling a bad one good below `miss`;
    truncation can only take decisions away.
    """

    good: float
    bad: float
    false_alarm: float
    miss: float
    most: int

    def __post_init__(self) -> None:
        within("good", self.good, 0.0, 1.0)
        if not 0 < self.good < self.bad < 1:
            raise ValueError(f"good must be below bad, both inside (0, 1), got {self.good} and {self.bad}")

    def decide(self, failures: ArrayLike) -> tuple[bool | None, int]:
        """(passes, lanes used); None if the lanes ran out first."""
        up, down = np.log(self.bad / self.good), np.log((1 - self.bad) / (1 - self.good))
        accept, reject = np.log(self.miss / (1 - self.false_alarm)), np.log((1 - self.miss) / self.false_alarm)
        total = 0.0
        for used, failed in enumerate(np.asarray(failures, dtype=bool)[: self.most], start=1):
            total += up if failed else down
            if total >= reject:
                return False, used
            if total <= accept:
                return True, used
        return None, min(len(np.asarray(failures)), self.most)

    @property
    def lanes_if_clean(self) -> int:
        """How many lanes without a failure it takes to pass."""
        down = np.log((1 - self.bad) / (1 - self.good))
        return int(np.ceil(np.log(self.miss / (1 - self.false_alarm)) / down))


@dataclass(frozen=True)
class Slopes:
    """Exponents of power laws, one per lane, and whether a power law it is."""

    exponent: Interval
    bend: Interval  # slope of the second half minus slope of the first
    power_law: bool


def slopes(n: ArrayLike, curves: ArrayLike, false_alarm: float, tolerance: float = 0.1) -> Slopes:
    """One log-log slope per lane (curves [lanes, points]); the slopes are the data.

    It counts as a power law if the halves' slopes differ by less than `tolerance`, or by no more than chance.
    """
    x, y = np.log(np.asarray(n, dtype=float)), np.log(np.asarray(curves, dtype=float))
    middle = len(x) // 2
    whole, first, second = _fit(x, y), _fit(x[: middle + 1], y[:, : middle + 1]), _fit(x[middle:], y[:, middle:])
    bend = mean_interval(second - first, false_alarm)
    return Slopes(mean_interval(whole, false_alarm), bend, abs(bend.estimate) < tolerance or bend.low <= 0 <= bend.high)


def _fit(x: Floats, y: Floats) -> Floats:
    centred = x - x.mean()
    return (y - y.mean(axis=1, keepdims=True)) @ centred / (centred @ centred)


def iqm_interval(strata: ArrayLike, false_alarm: float) -> Interval:
    """The mean over strata [strata, n] of their interquartile means, with its interval over the n.

    Tukey and McLaughlin's: the spread of a trimmed mean from the winsorised variance, strata joined as Welch joins two
    means. `make coverage` prints how often it holds; a stratified bootstrap held 93.4 % of the time at 6 × 10.
    """
    x = np.sort(np.where(np.isnan(strata), np.inf, np.asarray(strata, dtype=float)), axis=1)
    count, n = x.shape
    cut = n // 4
    kept = n - 2 * cut
    if kept < 2:
        raise ValueError(f"an interval of interquartile means needs at least 2 values in a stratum, got {n}")
    estimate = float(x[:, cut : n - cut].mean())
    if not np.isfinite(estimate):
        return Interval(np.inf, -np.inf, np.inf, n)
    winsorised = np.clip(x, x[:, cut : cut + 1], x[:, n - cut - 1 : n - cut])
    variance = winsorised.var(axis=1, ddof=1) * (n - 1) / (kept * (kept - 1)) / count**2
    if not variance.sum() > 0:
        return Interval.at(estimate, n)
    freedom = variance.sum() ** 2 / (variance**2 / (kept - 1)).sum()
    half = stats.t.isf(false_alarm / 2, freedom) * np.sqrt(variance.sum())
    return Interval(estimate, float(estimate - half), float(estimate + half), n)


def robust_ratio(a: ArrayLike, b: ArrayLike, false_alarm: float) -> Interval:
    """The ratio of two variances on the same seeds: the wider of two intervals on each side.

    Morgan's, made for normal lanes, and the ratio's logarithm studentised by its influence values, which needs some
    hundreds of lanes where a few of them carry the variance: with 30 it is too narrow there, if wider than Morgan's.
    """
    found, (x, y) = variance_ratio(a, b, false_alarm).ratio, (np.asarray(v, dtype=float) for v in (a, b))
    if not found.low < found.high:
        return found
    squares = [(v - v.mean()) ** 2 / v.var() for v in (x, y)]
    spread = np.sqrt((squares[0] - squares[1]).var(ddof=1) / len(x))
    reach = np.exp(stats.t.isf(false_alarm / 2, len(x) - 1) * spread)
    return Interval(
        found.estimate, min(found.low, found.estimate / reach), max(found.high, found.estimate * reach), found.n
    )


@dataclass(frozen=True)
class Paired:
    """Paired lanes of A and B: `p` two-sided Wilcoxon, `better` the chance that A is below B, ties counted half.

    direction   −1 if the signed ranks say that A is lower, 1 if B is: what p is about, whatever the median says
    walsh       the share of pairs of lanes (a lane with itself too) whose gaps sum to less than 0, ties counted half
    """

    median_difference: float
    p: float
    better: Interval
    n: int
    direction: int = 0
    walsh: float = 0.5
    identical: bool = False

    def lanes_to_tell(self, false_alarm: float, power: float) -> int | None:
        """How many pairs the test would need for this, if it is so (Noether 1987); None if it would need very many."""
        effect = abs(self.walsh - 0.5)
        z = stats.norm.isf(false_alarm / 2) + stats.norm.isf(1 - power)
        return int(np.ceil(z * z / (3 * effect * effect))) if effect > 0.01 else None


def paired(a: ArrayLike, b: ArrayLike, false_alarm: float = 0.05) -> Paired:
    """A against B on the same seeds. A diverged lane (NaN, ∞) is worse than any that is not: never dropped."""
    x, y = (np.where(np.isfinite(v), v, np.inf) for v in (np.asarray(a, dtype=float), np.asarray(b, dtype=float)))
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"paired lanes must be equally many and at least 2, got {len(x)} and {len(y)}")
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isinf(x) & np.isinf(y), 0.0, x - y)
    ranks = stats.rankdata(np.abs(gap))  # infinite gaps share the top ranks
    signed = np.sign(gap) * ranks
    p = _signed_rank_p(signed)
    wins, ties = int((gap < 0).sum()), int((gap == 0).sum())
    low, high = (proportion_interval(wins + half, len(gap), false_alarm) for half in (ties // 2, -(-ties // 2)))
    better = Interval((wins + ties / 2) / len(gap), low.low, high.high, len(gap))
    middle = np.sort(gap)[(len(gap) - 1) // 2]  # no mean of two: they may be infinite, of either sign
    with np.errstate(invalid="ignore"):
        sums = np.nan_to_num(gap[:, None] + gap[None, :], nan=0.0)[np.triu_indices(len(gap))]
    walsh = float(((sums < 0) + 0.5 * (sums == 0)).mean())
    return Paired(float(middle), p, better, len(gap), int(np.sign(signed.sum())), walsh, bool((gap == 0).all()))


def _signed_rank_p(signed: Floats) -> float:
    """Two-sided p of the signed-rank sum: exact by enumeration up to 16 pairs, by its normal limit above."""
    nonzero = signed[signed != 0]
    m = len(nonzero)
    if m == 0:
        return 1.0
    total, ranks = abs(nonzero.sum()), np.abs(nonzero)
    if m <= 16:
        signs = 1 - 2 * ((np.arange(2**m)[:, None] >> np.arange(m)) & 1)
        return float(np.mean(np.abs(signs @ ranks) >= total - 1e-9))
    return float(min(1.0, 2 * stats.norm.sf((total - 1) / np.sqrt((ranks**2).sum()))))


def holm(p: ArrayLike) -> Floats:
    """Holm's adjusted p-values: all of them below a hold together with that error rate."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    adjusted = np.maximum.accumulate((len(values) - np.arange(len(values))) * values[order])
    out = np.empty_like(values)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def seeds_needed(interval: Interval, margin: float, small: tuple[float, float] | None = None) -> int | None:
    """How many lanes would settle on which side of the margin the estimate lies, if the spread stays what it is.

    Or that it lies between two bounds, if that takes fewer.
    """
    inside = 0.0 if small is None else min(interval.estimate - small[0], small[1] - interval.estimate)
    gap = max(abs(interval.estimate - margin), inside)
    half = (interval.high - interval.low) / 2
    if not np.isfinite(half) or gap == 0:
        return None
    return int(np.ceil(interval.n * (half / gap) ** 2)) + 1


def lanes_for_median(false_alarm: float) -> int:
    """The fewest values whose median has an interval by order statistics."""
    return next(n for n in count(1) if 2 * 0.5**n <= false_alarm)


def median_interval(values: ArrayLike, false_alarm: float) -> Interval:
    """The median with order statistics as its bounds: no assumption, and lanes at infinity count as such."""
    x = np.sort(np.where(np.isnan(values), np.inf, np.asarray(values, dtype=float)))
    n = len(x)
    if n == 0:
        raise ValueError("values must not be empty")
    # Below the k-th smallest lie fewer than k of n with the chance of k − 1 heads or fewer in n throws.
    k = int(stats.binom.ppf(false_alarm / 2, n, 0.5))
    if stats.binom.cdf(k - 1, n, 0.5) > false_alarm / 2:
        k -= 1
    low, high = (x[k - 1], x[n - k]) if k >= 1 else (-np.inf, np.inf)
    return Interval(float((x[(n - 1) // 2] + x[n // 2]) / 2), float(low), float(high), n)


@dataclass(frozen=True)
class VarianceRatio:
    """Var(a)/Var(b) of paired lanes, with Morgan's interval, and p of equal spread by ranks."""

    ratio: Interval
    p: float


def variance_ratio(a: ArrayLike, b: ArrayLike, false_alarm: float = 0.05) -> VarianceRatio:
    """Spread of A against B on the same seeds: a + b and a − b are uncorrelated exactly if the variances are equal.

    The interval (Morgan 1939) takes the lanes for jointly normal; p uses Spearman's correlation (McCulloch 1987), which
    does not. Lanes that diverged have no variance: NaN and p = 1.
    """
    x, y = (np.asarray(v, dtype=float) for v in (a, b))
    if len(x) != len(y) or len(x) < 4:
        raise ValueError(f"paired lanes must be equally many and at least 4, got {len(x)} and {len(y)}")
    n = len(x)
    if not (np.isfinite(x).all() and np.isfinite(y).all()) or not (x.std() > 0 and y.std() > 0):
        return VarianceRatio(Interval.at(np.nan, n), 1.0)
    ratio = float(x.var(ddof=1) / y.var(ddof=1))
    r = float(np.corrcoef(x, y)[0, 1])
    if 1 - r * r < 1e-12:  # one is the other, stretched: no chance is left in the ratio
        return VarianceRatio(Interval.at(ratio, n), 1.0 if abs(ratio - 1) < 1e-6 else 0.0)
    t = stats.t.isf(false_alarm / 2, n - 2)
    spread = 1 + 2 * (1 - r * r) * t * t / (n - 2)
    half = np.sqrt(spread * spread - 1)
    p = float(stats.spearmanr(x + y, x - y).pvalue)
    return VarianceRatio(Interval(ratio, ratio * (spread - half), ratio * (spread + half), n), p)
