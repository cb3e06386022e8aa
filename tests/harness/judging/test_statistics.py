"""Intervals and tests: known values, and (in short) the rates that they promise."""

import numpy as np
import pytest
from scipy import stats

from dgtd.harness.judging.statistics import (
    Interval,
    Sprt,
    holm,
    iqm_interval,
    mean_interval,
    paired,
    proportion_interval,
    seeds_needed,
    slopes,
)
from dgtd.harness.judging.verdicts import Verdict, below, confirmed, exactly, seldom
from tests.harness.judging.coverage import measure, pooled_regression_misses


@pytest.mark.slow
def test_every_interval_and_test_keeps_its_nominal_rate():
    """1000 trials each against 5 % (`make coverage` has 20 000); a right one is called broken with chance 1e-4."""
    broken = [row for row in measure(1000) if not row[-1]]
    assert not broken
    assert pooled_regression_misses(300) > 0.3  # the way not to do it is seen to be wrong


def test_the_measurement_tells_a_broken_interval_from_a_right_one(monkeypatch):
    import tests.harness.judging.coverage as coverage

    def too_narrow(rng):
        x = rng.normal(3.0, 2.0, size=8)
        return abs(x.mean() - 3.0) > 1.96 * x.std() / np.sqrt(8)

    monkeypatch.setattr(coverage, "TRIALS", [("normal for t", too_narrow, False)])
    assert not coverage.measure(1000)[0][-1]


def test_known_values():
    assert proportion_interval(0, 20, 0.10).high == pytest.approx(0.1391, abs=1e-4)  # 0 of 20 shows < 14 % one-sided
    assert proportion_interval(20, 20, 0.10).low == pytest.approx(1 - 0.1391, abs=1e-4)
    x = np.array([1.0, 2.0, 4.0])
    expected = stats.t.interval(0.9, 2, x.mean(), stats.sem(x))
    found = mean_interval(x, 0.1)
    assert (found.low, found.high) == pytest.approx(expected)
    assert iqm_interval([range(8)], 0.1).estimate == 3.5
    assert iqm_interval([[0, 1, 2, np.inf]], 0.1).estimate == 1.5
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])


def test_the_sprt_needs_about_26_clean_lanes_where_a_fixed_sample_needs_62():
    test = Sprt(0.01, 0.20, 1e-4, 1e-2, 200)
    assert 20 <= test.lanes_if_clean <= 30
    assert test.decide([False] * 200) == (True, test.lanes_if_clean)
    assert test.decide([True] * 200) == (False, 4)
    assert test.decide([False] * 10) == (None, 10)
    fixed = [n for n in range(1, 200) if any(
        stats.binom.sf(k, n, 0.01) <= 1e-4 and stats.binom.cdf(k, n, 0.20) <= 1e-2 for k in range(n)
    )]  # fmt: skip
    assert fixed[0] == 62
    with pytest.raises(ValueError, match="good must be below bad"):
        Sprt(0.3, 0.2, 0.1, 0.1, 10)


def test_slopes_are_exact_on_a_power_law_and_a_bend_is_seen():
    n = np.geomspace(10, 1e5, 21)
    lanes = np.stack([c * n**-0.5 for c in (1.0, 2.0, 3.0)])
    found = slopes(n, lanes, 0.05)
    assert found.exponent.estimate == pytest.approx(-0.5)
    assert found.power_law
    flat = slopes(n, lanes + 0.1, 0.05)
    assert not flat.power_law
    assert flat.bend.low > 0


def test_a_diverged_lane_is_never_dropped():
    a = np.array([1.0, 1.0, np.nan, np.nan, np.nan, np.inf, np.nan, np.nan])
    b = np.full(8, 2.0)
    found = paired(a, b)
    assert found.better.estimate == 2 / 8
    assert paired(b, a).better.estimate == 6 / 8
    both = paired(a, a)
    assert both.p == 1.0
    with pytest.raises(ValueError, match="equally many and at least 2, got 1 and 1"):
        paired([1.0], [2.0])


def test_the_paired_test_is_wilcoxons():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 12))
    assert paired(a, b).p == pytest.approx(stats.wilcoxon(a, b, method="exact").pvalue)


def test_three_verdicts_and_what_is_still_needed():
    far, wrong, near = (
        Interval(-0.5, -0.52, -0.48, 20),
        Interval(-0.2, -0.3, -0.1, 20),
        Interval(-0.46, -0.55, -0.37, 20),
    )
    assert below(far, -0.45, 1e-3, "").verdict is Verdict.PASS
    assert below(wrong, -0.45, 1e-3, "").verdict is Verdict.FAIL
    found = below(near, -0.45, 1e-3, "")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.needed == seeds_needed(near, -0.45) > 20 * 50
    assert exactly(1e-12, 1e-8, "").verdict is Verdict.PASS
    assert exactly(1e-3, 1e-8, "it is off", "badly").words == "it is off: badly"
    test = Sprt(0.01, 0.20, 1e-4, 1e-2, 60)
    assert seldom(test, [False] * 60, "").verdict is Verdict.PASS
    assert seldom(test, [True] * 60, "").verdict is Verdict.FAIL
    short = seldom(test, [False] * 5, "")
    assert short.verdict is Verdict.INCONCLUSIVE
    assert short.needed == test.lanes_if_clean


def test_a_failure_stands_only_if_fresh_seeds_fail_too():
    bad = below(Interval(1.0, 0.9, 1.1, 9), 0.5, 1e-3, "too high")
    good = below(Interval(0.1, 0.0, 0.2, 9), 0.5, 1e-3, "fine")
    assert confirmed(bad, bad).verdict is Verdict.FAIL
    assert confirmed(bad, bad).false_alarm == pytest.approx(1e-6)
    assert confirmed(bad, good).verdict is Verdict.INCONCLUSIVE
