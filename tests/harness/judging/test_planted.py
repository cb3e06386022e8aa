"""Statistics against independent computations: tables, binomial sums, other tests, enumeration of signs, hand-work."""

from itertools import product
from math import comb, log

import numpy as np
import pytest
from scipy import stats

from dgtd.harness.judging.statistics import (
    FAR_ABOVE,
    Interval,
    end_over_start,
    exponential,
    iqm_interval,
    mean_interval,
    median_interval,
    paired,
    proportion_interval,
    seeds_needed,
    slopes,
    variance_ratio,
)

LEVELS = (0.1, 0.05, 0.01, 1e-3, 1e-4)


def at_most(k, n, p):
    """P(X ≤ k) for n throws, each a head with chance p."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def sample(n):
    """Values with no order and no two alike: nothing is drawn."""
    return np.sin(np.arange(1.0, n + 1) ** 2) + 0.1 * np.arange(n)


# ---------------------------------------------------------------------- intervals


@pytest.mark.parametrize(("false_alarm", "critical"), [(0.10, 2.131847), (0.05, 2.776445), (0.01, 4.604095)])
def test_the_interval_of_a_mean_is_students_two_sided_one(false_alarm, critical):
    """A table's t with 4 degrees of freedom; 2, 4, 4, 5, 10 have mean 5 and variance 36/4 = 9."""
    found = mean_interval([2, 4, 4, 5, 10], false_alarm)
    half = critical * 3 / 5**0.5
    assert (found.estimate, found.n) == (5.0, 5)
    assert (found.low, found.high) == pytest.approx((5 - half, 5 + half), rel=1e-6)


def ends_where_student_rejects(interval):
    for n, level in product((2, 5, 30), LEVELS):
        found = interval(sample(n), level)
        assert found.low < sample(n).mean() < found.high
        for bound in (found.low, found.high):
            assert stats.ttest_1samp(sample(n), bound).pvalue == pytest.approx(level, rel=1e-8, abs=0)


def test_the_interval_of_a_mean_ends_where_students_two_sided_test_just_rejects():
    ends_where_student_rejects(mean_interval)


def wider(values, false_alarm):
    found = mean_interval(values, false_alarm)
    more = 1e-6 * (found.high - found.low) / 2
    return Interval(found.estimate, found.low - more, found.high + more, found.n)


@pytest.mark.parametrize("wrong", [lambda values, level: mean_interval(values, 2 * level), wider])
def test_a_one_sided_interval_of_a_mean_and_one_too_wide_by_a_millionth_are_seen(wrong):
    with pytest.raises(AssertionError):
        ends_where_student_rejects(wrong)


def test_a_mean_of_one_or_none_has_no_bounds_and_what_is_not_finite_is_refused():
    assert mean_interval([3.0], 0.05) == Interval(3.0, -np.inf, np.inf, 1)
    assert (mean_interval([], 0.05).high, mean_interval([], 0.05).n) == (np.inf, 0)
    for broken in (np.nan, np.inf):
        with pytest.raises(ValueError, match="values must be finite"):
            mean_interval([1.0, broken, 2.0], 0.05)


def test_a_geometric_mean_is_the_exponential_of_its_logarithms():
    found = exponential(Interval(log(3), log(2), log(5), 7))
    assert (found.estimate, found.low, found.high, found.n) == (pytest.approx(3), pytest.approx(2), pytest.approx(5), 7)
    huge = exponential(Interval(1e4, -1e4, np.inf, 7))
    assert np.isfinite([huge.estimate, huge.high]).all()


def leaves_half_in_each_tail(interval, n=12):
    for level, k in product(LEVELS, range(n + 1)):
        found = interval(k, n, level)
        assert (found.estimate, found.n) == (k / n, n)
        if k > 0:
            assert 1 - at_most(k - 1, n, found.low) == pytest.approx(level / 2, rel=1e-8, abs=0)
        if k < n:
            assert at_most(k, n, found.high) == pytest.approx(level / 2, rel=1e-8, abs=0)
        assert (interval(0, n, level).low, interval(n, n, level).high) == (0.0, 1.0)


def test_the_bounds_of_a_share_leave_half_the_false_alarm_in_each_tail():
    leaves_half_in_each_tail(proportion_interval)
    for wrong in ((13, 12), (-1, 12), (0, 0)):
        with pytest.raises(ValueError, match="successes must be in"):
            proportion_interval(*wrong, 0.1)


def by_normal_limit(successes, n, false_alarm):
    """The interval of most textbooks."""
    share = successes / n
    half = stats.norm.isf(false_alarm / 2) * (share * (1 - share) / n) ** 0.5
    return Interval(share, max(0.0, share - half), min(1.0, share + half), n)


@pytest.mark.parametrize(
    "wrong",
    [
        by_normal_limit,
        lambda k, n, level: proportion_interval(k, n, 1.001 * level),
        lambda k, n, level: Interval(k / n, np.nan, np.nan, n),
    ],
    ids=["normal", "narrower", "no-number"],
)
def test_wrong_intervals_of_a_share_are_seen(wrong):
    with pytest.raises(AssertionError):
        leaves_half_in_each_tail(wrong)


def has_the_innermost_order_statistics(interval, false_alarm):
    for n in range(1, 40):
        x = np.random.default_rng(n).permutation(np.arange(1.0, n + 1) ** 2)
        allowed = [k for k in range(1, n // 2 + 1) if at_most(k - 1, n, 0.5) <= false_alarm / 2]
        found = interval(x, false_alarm)
        bounds = (max(allowed) ** 2, (n + 1 - max(allowed)) ** 2) if allowed else (-np.inf, np.inf)
        assert (found.low, found.high) == bounds
        assert (found.estimate, found.n) == (np.median(x), n)


@pytest.mark.parametrize("false_alarm", LEVELS)
def test_the_bounds_of_a_median_are_the_innermost_order_statistics_that_binomials_allow(false_alarm):
    has_the_innermost_order_statistics(median_interval, false_alarm)
    with pytest.raises(AssertionError):
        has_the_innermost_order_statistics(lambda x, level: median_interval(x, level / 2), false_alarm)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_lanes_that_are_lost_are_the_largest_to_a_median(lost):
    kept = [3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0]
    for count in (1, 2, 3):
        found, known = (median_interval([each] * count + kept, 0.2) for each in (lost, 1e9))
        assert (found.estimate, found.low) == (known.estimate, known.low)
        assert found.high == (known.high if known.high < 1e9 else np.inf)
    for count in (3, 9):
        assert median_interval([lost] * count, 0.05).estimate == np.inf
    mixed = median_interval([1.0, np.nan, 2.0, np.inf, 3.0], 0.5)
    assert (mixed.estimate, mixed.high) == (3.0, np.inf)
    with pytest.raises(ValueError, match="must not be empty"):
        median_interval([], 0.05)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
@pytest.mark.parametrize("count", [0, 1, 8])
def test_a_fall_is_the_geometric_mean_and_a_lane_that_is_lost_counts_as_far_above(count, lost):
    """Eight lanes fall to a hundredth; then some of them end in NaN or infinity."""
    curves = np.ones((3, 8))
    curves[-1] = 0.01
    curves[-1, :count] = lost
    found = end_over_start(curves, 0.01)
    logarithm = ((8 - count) * log(0.01) + count * log(FAR_ABOVE)) / 8
    assert (log(found.estimate), found.n) == (pytest.approx(logarithm), 8)
    assert (found.high < 1) is (count == 0)


def test_seeds_needed_shrink_the_interval_to_the_gap():
    """Half a width of ½ with 16 lanes: a gap of ¼ needs 4 times as many, of ⅛ 16 times, of 1 a quarter, and one."""
    for gap, needed in ((0.25, 65), (0.125, 257), (1.0, 5)):
        assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0 + gap) == needed
        assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0 - gap) == needed
    assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0) is None
    assert seeds_needed(Interval(1.0, -np.inf, np.inf, 1), 2.0) is None


# ---------------------------------------------------------------------- slopes

N = np.geomspace(10, 1e5, 9)


def test_slopes_are_one_number_per_lane_and_their_interval_is_students():
    planted = [-0.3, -0.5, -0.4, -0.8]
    lanes = np.stack([c * N**slope for c, slope in zip((1, 5, 0.1, 7), planted, strict=True)])
    found = slopes(N, lanes, 0.05)
    assert found.exponent.estimate == pytest.approx(-0.5)
    half = 3.182446 * np.std(planted, ddof=1) / 2  # t with 3 degrees of freedom
    assert (found.exponent.low, found.exponent.high) == pytest.approx((-0.5 - half, -0.5 + half), rel=1e-6)
    assert found.exponent.n == 4
    assert found.bend.estimate == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [(-0.8, -0.2), (-0.2, -0.8), (-0.5, -0.45), (-0.5, -0.5), (0, -1)])
def test_a_bend_is_the_second_halfs_slope_minus_the_firsts(first, second):
    """A knee at the middle of nine points, which both halves share."""
    knee = N[4]
    curve = np.where(knee >= N, (N / knee) ** first, (N / knee) ** second)
    lanes = curve * np.array([[1.0], [2.0], [5.0]])
    found = slopes(N, lanes, 0.05)
    assert found.bend.estimate == pytest.approx(second - first, abs=1e-8)
    assert found.power_law == (abs(second - first) < 0.1)
    assert slopes(N, lanes, 0.05, tolerance=0.01).power_law == (second == first)


def test_a_bend_that_chance_explains_is_a_power_law_still():
    """Lanes bend by 2, −1, 2, −1: on average ½, with 0 inside the interval."""
    bends = np.array([2.0, -1.0, 2.0, -1.0])
    curves = np.where(N[4] >= N, 1.0, (N / N[4]) ** bends[:, None])
    found = slopes(N, curves, 0.05)
    assert (found.bend.estimate, found.power_law) == (pytest.approx(0.5), True)
    assert found.bend.low < 0 < found.bend.high


# ---------------------------------------------------------------------- pairs


def by_enumeration(gap):
    """Two-sided p: the share of all signs whose rank sum is as far from 0. Zeros are ranked, and carry no sign."""
    ranks = stats.rankdata(np.abs(gap))[gap != 0]
    seen = abs((np.sign(gap[gap != 0]) * ranks).sum())
    sums = [abs(sum(s * r for s, r in zip(signs, ranks, strict=True))) for signs in product((-1, 1), repeat=len(ranks))]
    return sum(total >= seen - 1e-9 for total in sums) / len(sums)


def gaps(kind, n, seed):
    rng = np.random.default_rng(seed)
    gap = rng.normal(0.6, 1.0, size=n)
    return {"plain": gap, "ties": np.round(gap), "low": -gap, "shared": np.sign(gap) * np.ceil(np.abs(gap))}[kind]


@pytest.mark.parametrize("kind", ["plain", "ties", "low", "shared"])
def test_p_is_two_sided_and_exact_for_few_pairs(kind):
    for n in (2, 5, 9):
        gap = gaps(kind, n, seed=n)
        found, other = paired(gap, np.zeros(n)), paired(np.zeros(n), gap)
        assert found.p == pytest.approx(by_enumeration(gap), abs=1e-8)
        assert other.p == pytest.approx(found.p, abs=1e-8)
        signed = (np.sign(gap) * stats.rankdata(np.abs(gap))).sum()
        assert found.direction == -other.direction == np.sign(signed)


@pytest.mark.parametrize(
    ("kind", "n"), [("plain", 17), ("low", 17), ("plain", 40), ("ties", 40), ("low", 40), ("shared", 40)]
)
def test_p_is_the_normal_limit_with_continuity_for_many_pairs(kind, n):
    gap = gaps(kind, n, seed=1)
    known = stats.wilcoxon(gap, zero_method="pratt", correction=True, method="asymptotic").pvalue
    assert paired(gap, np.zeros(n)).p == pytest.approx(known, rel=1e-9)


def test_a_is_better_where_it_is_lower_and_ties_count_half():
    """Gaps −3, −2, −1, 0, 0, 0, 5, 6: three wins, three ties, and the lower median of them all is 0."""
    gap = np.array([-3.0, -2, -1, 0, 0, 0, 5, 6])
    found = paired(gap + 10, np.full(8, 10.0), 0.1)
    assert (found.better.estimate, found.n, found.median_difference) == (4.5 / 8, 8, 0.0)
    assert found.better.low == pytest.approx(proportion_interval(4, 8, 0.1).low)
    assert found.better.high == pytest.approx(proportion_interval(5, 8, 0.1).high)
    assert (found.direction, found.p) == (0, 1.0)  # ranks 6, 5 and 4 against 7 and 8
    assert paired([1, 2, 3], [2, 4, 6]).direction == -1


@pytest.mark.parametrize("lost", [np.nan, np.inf])
@pytest.mark.parametrize(("in_a", "in_b"), [([0], []), ([], [3]), ([0, 1], [1, 2]), (range(9), [])])
def test_a_diverged_lane_is_ranked_worst_and_counts_among_the_pairs(in_a, in_b, lost):
    """As a gap larger than all others, and two of them as equally large ones; both lost is a tie."""
    a, b = np.random.default_rng(2).normal(size=(2, 9))
    gap = a - b
    for lane in range(9):
        if lane in in_a or lane in in_b:
            gap[lane] = 1e9 * ((lane in in_a) - (lane in in_b))
    a[list(in_a)], b[list(in_b)] = lost, lost
    found = paired(a, b)
    assert found.p == pytest.approx(by_enumeration(gap), abs=1e-8)
    assert (found.n, found.better.estimate) == (9, pytest.approx(((gap < 0) + 0.5 * (gap == 0)).mean()))
    if len(in_a) == 9:
        assert (found.direction, found.median_difference, found.better.estimate) == (1, np.inf, 0.0)


@pytest.mark.parametrize("own", [0.3, 2.0])
@pytest.mark.parametrize("level", LEVELS)
def test_variance_ratio_ends_where_morgans_test_just_rejects(own, level):
    """Var a = λ Var b if a + √λ b and a − √λ b are uncorrelated: p is the level at both bounds, r is 0 between them."""
    shared, steps = sample(25), np.arange(25.0)
    a, b = shared + own * np.cos(steps**2), 2 * shared + np.sin(3 + steps**3)
    found = variance_ratio(a, b, level)
    assert (found.ratio.estimate, found.ratio.n) == (pytest.approx(np.var(a) / np.var(b), rel=1e-8), 25)

    def correlation(ratio):
        return stats.pearsonr(a + ratio**0.5 * b, a - ratio**0.5 * b)

    assert correlation(found.ratio.estimate).statistic == pytest.approx(0, abs=1e-9)
    for bound, sign in ((found.ratio.low, 1), (found.ratio.high, -1)):
        assert correlation(bound).pvalue == pytest.approx(level, rel=1e-8, abs=0)
        assert np.sign(correlation(bound).statistic) == sign
    assert found.p == pytest.approx(stats.spearmanr(a + b, a - b).pvalue)


# ---------------------------------------------------------------------- middle halves


def test_the_middle_half_is_the_trimmed_mean():
    for n in (3, 4, 7, 8, 9, 30):
        x = np.random.default_rng(n).lognormal(size=n)
        assert iqm_interval([x], 0.1).estimate == pytest.approx(stats.trim_mean(x, 0.25))
    assert iqm_interval([[-np.inf, 1.0, 3.0, np.inf]], 0.1).estimate == 2.0
    assert iqm_interval([[1.0, 3.0, np.inf, np.inf]], 0.1).estimate == np.inf
