"""Statistics against independent computations: tables, binomial sums, enumeration of signs and sequences, hand-work."""

from itertools import product
from math import comb, log

import numpy as np
import pytest
from scipy import stats

from harness.judging.statistics import (
    Interval,
    Sprt,
    exponential,
    holm,
    iqm,
    mean_interval,
    median_interval,
    paired,
    proportion_interval,
    seeds_needed,
    slopes,
    variance_ratio,
)
from suites.machinery.significance import by_likelihoods


def at_most(k, n, p):
    """P(X ≤ k) for n throws, each a head with chance p."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


# ---------------------------------------------------------------------- intervals


@pytest.mark.parametrize(("false_alarm", "critical"), [(0.10, 2.131847), (0.05, 2.776445), (0.01, 4.604095)])
def test_the_interval_of_a_mean_is_students_two_sided_one(false_alarm, critical):
    """A table's t with 4 degrees of freedom; 2, 4, 4, 5, 10 have mean 5 and variance 36/4 = 9."""
    found = mean_interval([2, 4, 4, 5, 10], false_alarm)
    half = critical * 3 / 5**0.5
    assert (found.estimate, found.n) == (5.0, 5)
    assert (found.low, found.high) == pytest.approx((5 - half, 5 + half), rel=1e-6)


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


@pytest.mark.parametrize("false_alarm", [0.1, 1e-3])
def test_the_bounds_of_a_share_leave_half_the_false_alarm_in_each_tail(false_alarm):
    n = 12
    for k in range(n + 1):
        found = proportion_interval(k, n, false_alarm)
        assert (found.estimate, found.n) == (k / n, n)
        if k > 0:
            assert 1 - at_most(k - 1, n, found.low) == pytest.approx(false_alarm / 2)
        if k < n:
            assert at_most(k, n, found.high) == pytest.approx(false_alarm / 2)
    assert (proportion_interval(0, n, false_alarm).low, proportion_interval(n, n, false_alarm).high) == (0.0, 1.0)
    for wrong in ((13, 12), (-1, 12), (0, 0)):
        with pytest.raises(ValueError, match="successes must be in"):
            proportion_interval(*wrong, false_alarm)


@pytest.mark.parametrize("false_alarm", [0.1, 0.05, 1e-3])
def test_the_bounds_of_a_median_are_the_innermost_order_statistics_that_binomials_allow(false_alarm):
    for n in range(1, 40):
        x = np.random.default_rng(n).permutation(np.arange(1.0, n + 1) ** 2)
        allowed = [k for k in range(1, n // 2 + 1) if at_most(k - 1, n, 0.5) <= false_alarm / 2]
        found = median_interval(x, false_alarm)
        bounds = (max(allowed) ** 2, (n + 1 - max(allowed)) ** 2) if allowed else (-np.inf, np.inf)
        assert (found.low, found.high) == bounds
        assert (found.estimate, found.n) == (np.median(x), n)


def test_lanes_that_are_lost_are_the_largest_to_a_median():
    found = median_interval([1.0, np.nan, 2.0, np.inf, 3.0], 0.5)
    assert (found.estimate, found.high) == (3.0, np.inf)
    assert median_interval([np.nan] * 3, 0.05).estimate == np.inf
    with pytest.raises(ValueError, match="must not be empty"):
        median_interval([], 0.05)


def test_seeds_needed_shrink_the_interval_to_the_gap():
    """Half a width of ½ with 16 lanes: a gap of ¼ needs 4 times as many, of ⅛ 16 times, of 1 a quarter, and one."""
    for gap, needed in ((0.25, 65), (0.125, 257), (1.0, 5)):
        assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0 + gap) == needed
        assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0 - gap) == needed
    assert seeds_needed(Interval(1.0, 0.5, 1.5, 16), 1.0) is None
    assert seeds_needed(Interval(1.0, -np.inf, np.inf, 1), 2.0) is None


# ---------------------------------------------------------------------- the sequential test


def test_a_sequence_worked_by_hand():
    """log 5 = 1.609 a failure, log(5/9) = −0.588 otherwise; FAIL at log 18 = 2.890, PASS at log(2/19) = −2.251."""
    test = Sprt(good=0.1, bad=0.5, false_alarm=0.05, miss=0.1, most=8)
    bad, fine = True, False
    assert test.decide([bad, bad, fine]) == (False, 2)
    assert test.decide([fine] * 8) == (True, 4)
    assert test.lanes_if_clean == 4
    assert test.decide([bad, fine, bad, fine, bad]) == (False, 5)  # 1.61, 1.02, 2.63, 2.04, 3.65
    assert test.decide([bad, *[fine] * 6]) == (None, 7)  # 1.61 − 6 · 0.588 = −1.92
    assert test.decide([bad, *[fine] * 20]) == (True, 8)
    assert Sprt(0.1, 0.5, 0.05, 0.1, most=7).decide([bad, *[fine] * 20]) == (None, 7)


@pytest.mark.parametrize("rates", [(0.1, 0.5, 0.05, 0.1), (0.2, 0.4, 0.1, 0.02), (0.01, 0.2, 0.001, 0.01)])
def test_every_sequence_is_decided_as_likelihoods_say(rates):
    test = Sprt(*rates, most=9)
    for failures in product([False, True], repeat=10):
        assert test.decide(failures) == by_likelihoods(test, failures)


@pytest.mark.parametrize("rates", [(0.1, 0.5, 0.05, 0.1), (0.1, 0.6, 0.02, 0.05)])
def test_walds_bounds_hold_exactly_and_are_not_idle(rates):
    """A good rule fails with chance α/(1 − β) at most, a bad one passes with β/(1 − α) at most, and both can happen."""
    test = Sprt(*rates, most=10)
    fails = passes = 0.0
    for failures in product([False, True], repeat=10):
        decision, count = test.decide(failures)[0], sum(failures)
        fails += (decision is False) * test.good**count * (1 - test.good) ** (10 - count)
        passes += (decision is True) * test.bad**count * (1 - test.bad) ** (10 - count)
    assert test.false_alarm / 10 < fails <= test.false_alarm / (1 - test.miss)
    assert test.miss / 10 < passes <= test.miss / (1 - test.false_alarm)


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


@pytest.mark.parametrize(("first", "second"), [(-0.8, -0.2), (-0.2, -0.8), (-0.5, -0.45)])
def test_a_bend_is_the_second_halfs_slope_minus_the_firsts(first, second):
    """A knee at the middle of nine points, which both halves share."""
    knee = N[4]
    curve = np.where(knee >= N, (N / knee) ** first, (N / knee) ** second)
    found = slopes(N, curve * np.array([[1.0], [2.0], [3.0]]), 0.05)
    assert found.bend.estimate == pytest.approx(second - first)
    assert found.power_law == (abs(second - first) < 0.1)
    assert not slopes(N, curve * np.array([[1.0], [2.0], [3.0]]), 0.05, tolerance=0.01).power_law


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
        assert found.p == pytest.approx(by_enumeration(gap))
        assert other.p == pytest.approx(found.p)
        signed = (np.sign(gap) * stats.rankdata(np.abs(gap))).sum()
        assert found.direction == -other.direction == np.sign(signed)


@pytest.mark.parametrize("kind", ["plain", "ties", "low", "shared"])
def test_p_is_the_normal_limit_with_continuity_for_many_pairs(kind):
    gap = gaps(kind, 40, seed=1)
    known = stats.wilcoxon(gap, zero_method="pratt", correction=True, method="asymptotic").pvalue
    assert paired(gap, np.zeros(40)).p == pytest.approx(known, rel=1e-9)


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
def test_a_diverged_lane_is_ranked_worst_and_counts_among_the_pairs(lost):
    """As a gap larger than all others, and two of them as equally large ones; both lost is a tie."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 9))
    a_lost, b_lost = a.copy(), b.copy()
    a_lost[[0, 1]], b_lost[[1, 2]] = lost, lost  # A alone, both, B alone
    found = paired(a_lost, b_lost)
    gap = a - b
    gap[:3] = [1e9, 0.0, -1e9]
    assert found.p == pytest.approx(by_enumeration(gap))
    assert (found.n, found.better.estimate) == (9, pytest.approx(((gap < 0).sum() + 0.5) / 9))
    everyone = paired(np.full(8, lost), np.arange(8.0))
    assert (everyone.p, everyone.direction, everyone.median_difference) == (pytest.approx(2 / 2**8), 1, np.inf)
    assert everyone.better.estimate == 0.0


def test_variance_ratio_ends_where_morgans_test_just_rejects():
    """At a bound λ, a + √λ b and a − √λ b have the critical correlation; at the ratio itself they have none."""
    rng = np.random.default_rng(3)
    common = rng.normal(size=25)
    a, b = common + 0.5 * rng.normal(size=25), 2 * common + rng.normal(size=25)
    found = variance_ratio(a, b, 0.05)
    assert (found.ratio.estimate, found.ratio.n) == (pytest.approx(np.var(a) / np.var(b)), 25)

    def t_of(ratio):
        r = np.corrcoef(a + ratio**0.5 * b, a - ratio**0.5 * b)[0, 1]
        return r * (23 / (1 - r * r)) ** 0.5

    assert t_of(found.ratio.estimate) == pytest.approx(0, abs=1e-9)
    assert t_of(found.ratio.low) == pytest.approx(2.068658, rel=1e-5)  # t with 23 degrees of freedom, 95 %
    assert t_of(found.ratio.high) == pytest.approx(-2.068658, rel=1e-5)
    ranks = [stats.rankdata(x) for x in (a + b, a - b)]
    r = np.corrcoef(*ranks)[0, 1]
    assert found.p == pytest.approx(2 * stats.t.sf(abs(r) * (23 / (1 - r * r)) ** 0.5, 23))


# ---------------------------------------------------------------------- many tests, middle halves


def test_holm_by_hand():
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, and never smaller than the one before."""
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.9]), [1.0, 1.0])
    np.testing.assert_allclose(holm([0.02]), [0.02])
    np.testing.assert_allclose(holm([0.01, 0.01, 0.5]), [0.03, 0.03, 0.5])


def test_holms_numbers_are_below_a_level_exactly_where_the_procedure_rejects():
    for seed in range(20):
        p = np.random.default_rng(seed).random(6) ** 3
        for level in (0.01, 0.05, 0.2):
            rejected, order = set(), np.argsort(p)
            for step, which in enumerate(order):
                if p[which] > level / (6 - step):
                    break
                rejected.add(int(which))
            assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected


def test_the_middle_half_is_the_trimmed_mean():
    for n in (1, 3, 4, 7, 8, 9, 30):
        x = np.random.default_rng(n).lognormal(size=n)
        assert iqm(x) == pytest.approx(stats.trim_mean(x, 0.25))
    assert iqm([-np.inf, 1.0, 3.0, np.inf]) == 2.0
    assert iqm([1.0, 3.0, np.inf, np.inf]) == np.inf
