"""Sequential tests: Wald's of a failure rate by hand and by enumeration, and the signed-rank test at repeated looks.

The latter against published boundaries, multivariate normal probabilities, all sign patterns, and planted trials.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dgtd.harness.judging import sequential
from dgtd.harness.judging.sequential import (
    boundaries,
    decide,
    lanes_needed,
    looks,
    repeated_interval,
    sequential_p,
    signed_rank_z,
)
from dgtd.harness.judging.statistics import Sprt, holm, paired, proportion_interval
from tests.harness.judging.coverage import LOOKS, crosses


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


def by_likelihoods(test, failures):
    """Wald, in fractions: stop where the likelihood of `bad` over that of `good` reaches (1 − β)/α or β/(1 − α)."""
    good, bad, alpha, beta = (Fraction(str(x)) for x in (test.good, test.bad, test.false_alarm, test.miss))
    ratio = Fraction(1)
    for used, failed in enumerate(failures[: test.most], start=1):
        ratio *= bad / good if failed else (1 - bad) / (1 - good)
        if ratio >= (1 - beta) / alpha:
            return False, used
        if ratio <= beta / (1 - alpha):
            return True, used
    return None, min(len(failures), test.most)


RATES = [
    (0.1, 0.5, 0.05, 0.1), (0.2, 0.4, 0.1, 0.02), (0.01, 0.2, 0.001, 0.01),
    (0.1, 0.5, 0.05, 0.2), (0.2, 0.6, 0.3, 0.02), (0.05, 0.3, 0.01, 0.3),
]  # fmt: skip


@pytest.mark.parametrize("rates", RATES)
def test_every_sequence_is_decided_as_likelihoods_say(rates):
    test = Sprt(*rates, most=9)
    for failures in product([False, True], repeat=10):
        assert test.decide(failures) == by_likelihoods(test, failures)
    assert by_likelihoods(Sprt(*rates, most=100), [False] * 100) == (True, test.lanes_if_clean)


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


def test_looks_double_up_to_the_maximum():
    assert looks(10, 100) == (10, 20, 40, 80, 100)
    assert looks(10, 40) == (10, 20, 40)
    assert looks(10, 41) == (10, 20, 40, 41)
    assert looks(8, 8) == (8,)
    with pytest.raises(ValueError, match=r"first must be in \[1, 8\], got 9"):
        looks(9, 8)


def test_boundaries_are_the_published_ones():
    """Lan and DeMets' of O'Brien and Fleming's type, five equal looks, 2.5 % on each side."""
    published = [4.877, 3.357, 2.680, 2.290, 2.031]
    np.testing.assert_allclose(boundaries((20, 40, 60, 80, 100), 0.05), published, rtol=0, atol=5e-4)
    # The spending 2 (1 − Φ(z_{alpha/2} / √t)) on both sides together would begin at z_{alpha/2} / √0.2 instead.
    assert stats.norm.isf(0.025) / np.sqrt(0.2) == pytest.approx(4.383, abs=1e-3)


def spends_as_declared(at, critical, alpha):
    """The chance to stay inside all boundaries so far, as a multivariate normal one, is 1 − alpha*(t)."""
    n = np.array(at, dtype=float)
    correlation = np.sqrt(np.minimum.outer(n, n) / np.maximum.outer(n, n))
    for k in range(1, len(at) + 1):
        spent = 4 * stats.norm.sf(stats.norm.isf(alpha / 4) / np.sqrt(at[k - 1] / at[-1]))
        law = stats.multivariate_normal(cov=correlation[:k, :k], seed=0, maxpts=10**7, abseps=1e-8, releps=1e-8)
        inside = law.cdf(critical[:k], lower_limit=-critical[:k]) if k > 1 else 1 - 2 * stats.norm.sf(critical[0])
        assert abs(1 - inside - spent) < 1e-6


@pytest.mark.parametrize("at", [(50, 100), (10, 20, 40), (10, 100, 101)])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_boundaries_spend_as_multivariate_normal_probabilities_say(at, alpha):
    spends_as_declared(at, boundaries(at, alpha), alpha)


def test_a_boundary_that_is_off_in_the_fourth_digit_is_seen():
    with pytest.raises(AssertionError):
        spends_as_declared((10, 20, 40), boundaries((10, 20, 40), 0.05) - 1e-4, 0.05)


def test_bad_looks_and_levels_are_told():
    with pytest.raises(ValueError, match=r"looks must be positive and increasing, got \(10, 10\)"):
        boundaries((10, 10), 0.05)
    with pytest.raises(ValueError, match=r"alpha must be inside \(0, 1\), got 0"):
        boundaries((10, 20), 0)
    with pytest.raises(ValueError, match="gaps must not be NaN"):
        decide([[1.0, np.nan]], (10, 20), 0.05)
    with pytest.raises(ValueError, match="matters × scale must be positive"):
        decide([np.ones(10)], (10, 20), 0.05, matters=0.0)


def by_all_signs(gaps):
    """Two-sided p from every assignment of signs, zeros ranked and without a sign."""
    ranks = stats.rankdata(np.abs(gaps)) * (gaps != 0)
    sums = np.array(list(product([-1.0, 1.0], repeat=len(gaps)))) @ ranks
    return (np.abs(sums) >= abs(np.sign(gaps) @ ranks) - 1e-9).mean()


@pytest.mark.parametrize("n", [1, 2, 5, 11])
@pytest.mark.parametrize("width", [0.5, 1.5, 1e6])
def test_a_single_look_is_the_exact_signed_rank_test_ties_and_zeros_included(n, width):
    for seed in range(5):
        gaps = np.rint(width * np.random.default_rng(seed).normal(0.5, 1.0, size=n))
        z = signed_rank_z(gaps)
        exact = by_all_signs(gaps)
        assert 2 * stats.norm.sf(abs(z)) == pytest.approx(exact)
        if n > 1:
            with_zeros = paired(gaps, np.zeros(n))
            assert with_zeros.p == pytest.approx(exact)
            assert np.sign(z) in (0, with_zeros.direction)
        p = sequential_p(gaps, (n,))
        assert p.shape == (1,)
        assert p[0] == pytest.approx(exact if exact <= 0.9 else 1.0, rel=2e-3)  # interpolated, best where it is small


def test_more_lanes_have_the_exact_law_too_and_very_many_its_normal_limit():
    gaps = np.random.default_rng(1).normal(0.2, 1.0, size=sequential.EXACT + 1)
    fewer = 2 * stats.norm.sf(abs(signed_rank_z(gaps[:100])))
    assert fewer == pytest.approx(stats.wilcoxon(gaps[:100], method="exact").pvalue)
    assert 2 * stats.norm.sf(abs(signed_rank_z(gaps))) == pytest.approx(paired(gaps, 0 * gaps).p)
    assert sequential_p(gaps[:100], (100,))[0] == pytest.approx(fewer if fewer <= 0.9 else 1.0, rel=2e-3)


def test_p_falls_and_is_at_most_alpha_exactly_where_a_boundary_has_been_crossed():
    gaps = np.random.default_rng(2).normal(0.3, 1.0, size=(40, 100))
    p = sequential_p(gaps, LOOKS)
    assert (np.diff(p, axis=1) <= 0).all()
    for alpha in (1e-4, 0.01, 0.05, 0.3):
        z = np.stack([signed_rank_z(gaps[:, :n]) for n in LOOKS], axis=1)
        crossed = np.logical_or.accumulate(np.abs(z) >= boundaries(LOOKS, alpha), axis=1)
        np.testing.assert_array_equal(p <= alpha, crossed)
        assert 0 < crossed.sum() < crossed.size
    np.testing.assert_allclose(sequential_p(gaps[:, :50], LOOKS), p[:, :3])  # 50 lanes have come to the third look


def false_alarms_are_within(critical):
    """2000 trials without a difference; a right test is called wrong with chance 5e-5 at most."""
    gaps = np.random.default_rng(3).normal(size=(2000, LOOKS[-1]))
    assert proportion_interval(int(crosses(gaps, LOOKS, critical).sum()), 2000, 1e-4).low <= 0.05


def test_false_alarms_keep_their_rate_and_a_constant_1_96_is_seen_not_to():
    false_alarms_are_within(boundaries(LOOKS, 0.05))
    with pytest.raises(AssertionError):
        false_alarms_are_within(np.full(len(LOOKS), 1.96))


def test_the_interval_holds_exactly_the_centres_that_its_look_does_not_reject():
    gaps = np.random.default_rng(4).normal(1.0, 1.0, size=100)
    for n, bound in zip(LOOKS, boundaries(LOOKS, 0.05), strict=True):
        found = repeated_interval(gaps[:n], LOOKS, 0.05)
        assert found.n == n
        if n < 40:  # 20 pairs cannot reach 4.877
            assert (found.low, found.high) == (-np.inf, np.inf)
            assert abs(signed_rank_z(np.ones(n) * np.arange(1, n + 1))) < bound
            continue
        for edge, outside in ((found.low, -1e-9), (found.high, 1e-9)):
            assert abs(signed_rank_z(gaps[:n] - edge - outside)) >= bound
            assert abs(signed_rank_z(gaps[:n] - edge + outside)) < bound


def test_the_interval_of_very_many_lanes_continues_that_of_fewer(monkeypatch):
    gaps = np.random.default_rng(5).normal(size=250)
    exact = repeated_interval(gaps, (250,), 0.05)
    monkeypatch.setattr(sequential, "EXACT", 200)
    limit = repeated_interval(gaps, (250,), 0.05)
    assert (limit.low, limit.high) == pytest.approx((exact.low, exact.high), abs=2e-3)


def test_the_lanes_needed_give_the_power_asked_for():
    """From z at n on: √m Z(m) = √n z + √(m − n) G, where G has the drift seen so far."""
    critical = boundaries(LOOKS, 0.05)
    for z, expected in ((3.1, 80), (1.9, 100), (1.75, 100)):
        n = 40
        power = {
            m: stats.norm.sf((bound * np.sqrt(m) - np.sqrt(n) * z) / np.sqrt(m - n) - z / np.sqrt(n) * np.sqrt(m - n))
            for m, bound in zip(LOOKS, critical, strict=True) if m > n
        }  # fmt: skip
        assert next(m for m in power if power[m] >= 0.8) == expected == lanes_needed(z, n, LOOKS, 0.05)
    beyond = lanes_needed(1.0, 40, LOOKS, 0.05)
    assert stats.norm.sf(critical[-1] - np.sqrt(beyond / 40)) >= 0.8  # a new experiment, at its last look
    assert stats.norm.sf(critical[-1] - np.sqrt((beyond - 1) / 40)) < 0.8
    assert lanes_needed(0.01, 40, LOOKS, 0.05) is None
    assert lanes_needed(-2.0, 40, LOOKS, 0.05) is None


def test_identical_lanes_are_not_decided_but_they_are_too_small_to_matter():
    plain, judged = decide([np.zeros(100)], LOOKS, 0.05)[0], decide([np.zeros(100)], LOOKS, 0.05, matters=0.1)[0]
    assert (plain.p, plain.direction, plain.state, plain.lanes, plain.identical) == (1.0, 0, "open", None, True)
    assert (judged.state, judged.interval.low, judged.interval.high) == ("too small to matter", 0.0, 0.0)


def test_fewer_than_six_lanes_decide_nothing():
    """All signs alike have p = 1/16 with five lanes; before the first look there is no p at all."""
    for at in ((5,), (5, 10), (6, 12)):
        found = decide([np.arange(1.0, 6.0)], at, 0.05, matters=100.0)[0]
        assert found.state == "open" or (found.state == "too small to matter" and at == (5,))
        assert found.p > 0.05
        assert found.interval.low == -np.inf
    assert decide([[]], (5, 10), 0.05)[0].state == "open"


def test_holm_decides_and_a_question_that_has_stopped_stays_decided():
    rng = np.random.default_rng(6)
    gaps = rng.normal(size=(6, 100)) + np.array([0, 0, 0.3, -0.4, 1.0, -1.5])[:, None]
    kept = [LOOKS[0]] * 6
    for n in LOOKS:
        kept = [n if answer.state == "open" else old for old, answer in zip(
            kept, decide([row[:m] for row, m in zip(gaps, kept, strict=True)], LOOKS, 0.05), strict=True
        )]  # fmt: skip
    stopped = decide([row[:m] for row, m in zip(gaps, kept, strict=True)], LOOKS, 0.05)
    whole = decide(list(gaps), LOOKS, 0.05)
    assert [each.direction for each in stopped] == [each.direction for each in whole]
    assert kept[-1] < LOOKS[-1]
    assert [each.direction for each in whole][-2:] == [1, -1]
    np.testing.assert_allclose([each.adjusted for each in whole], holm(sequential_p(gaps, LOOKS)[:, -1]))
    assert all((each.adjusted <= 0.05) == (each.direction != 0) for each in whole)


def test_what_matters_is_measured_in_its_scale():
    """Gaps in pairs of x and −x: at every look they lie even about 0, or about the margin itself."""
    gaps = (np.random.default_rng(7).normal(size=50)[:, None] * [1.0, -1.0]).ravel()
    gaps /= gaps.std()
    small, wide, edge = decide([gaps, 10 * gaps, gaps + 0.5], LOOKS, 0.05, matters=0.5)
    assert (small.small, wide.small, edge.small) == (True, False, False)
    assert all(each.small for each in decide([gaps, 10 * gaps], LOOKS, 0.05, matters=0.5, scale=[1.0, 10.0]))
    alone, one_of_six = 1.8, 2.2  # z at the last look: one side at 5 % asks for 1.731, at 5 % / 6 for 2.439
    for z, others, expected in ((alone, 0, True), (one_of_six, 0, True), (one_of_six, 5, False)):
        margin = next(m for m in np.linspace(0.05, 0.5, 1000) if signed_rank_z(gaps + m) >= z)
        assert decide([gaps] + [100 * gaps] * others, LOOKS, 0.05, matters=margin)[0].small == expected


def test_the_direction_is_that_of_the_look_that_decides():
    gaps = np.r_[-np.arange(1.0, 11.0) / 100, np.arange(1.0, 91.0)]
    assert [each.direction for each in decide([gaps, -gaps], LOOKS, 0.05)] == [1, -1]


def test_an_open_question_is_told_the_lanes_that_its_level_in_holms_order_takes():
    """Two are open of three; the second is even about 0, so that its lanes are those of being too small."""
    even = np.arange(1.0, 21.0).repeat(2) * np.tile([1.0, -1.0], 20)
    uneven = even + 3.0
    found = decide([uneven, even, np.arange(1.0, 41.0)], LOOKS, 0.05, matters=3.0)
    assert [each.state for each in found] == ["open", "open", "decided"]
    inside = signed_rank_z(even + 3.0)
    assert found[0].lanes == lanes_needed(signed_rank_z(uneven), 40, LOOKS, 0.05 / 2)
    assert found[1].lanes == lanes_needed(inside, 40, LOOKS, 2 * 0.05 / 3)
    assert found[2].lanes is None
    assert found[0].lanes != lanes_needed(signed_rank_z(uneven), 40, LOOKS, 0.05)
    assert found[1].lanes != lanes_needed(inside, 40, LOOKS, 0.05)


def test_diverged_lanes_count_at_their_end():
    gaps = np.r_[np.full(70, np.inf), np.zeros(20), np.full(10, -1.0)]
    found = decide([np.random.default_rng(8).permutation(gaps)], LOOKS, 0.05, matters=1.0)[0]
    assert (found.direction, found.small) == (1, False)
    assert found.interval.estimate == found.interval.high == np.inf
