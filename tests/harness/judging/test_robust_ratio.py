"""Ratios of variances: where their interval keeps its rate, and where it does not."""

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.statistics import proportion_interval, robust_ratio, variance_ratio
from dgtd.suites.returns import earns_more

TRIALS, NOMINAL = 1000, 0.02


def collapse(rng, count):
    """Returns near 500; one lane in ten learns little."""
    return np.where(rng.random(count) < 0.1, rng.uniform(0, 300, count), rng.normal(500, 10, count))


def misses(interval, draw, count):
    """How often the bounds leave out 1, the truth."""
    rng = np.random.default_rng(5)
    found = [interval(draw(rng, count), draw(rng, count), NOMINAL) for _ in range(TRIALS)]
    return sum(not each.low <= 1 <= each.high for each in found)


def normal(rng, count):
    return rng.normal(size=count)


def morgan(a, b, false_alarm):
    return variance_ratio(a, b, false_alarm).ratio


@pytest.mark.parametrize(
    ("interval", "draw", "count", "keeps"),
    [
        (robust_ratio, normal, 30, True), (robust_ratio, collapse, 480, True),
        (morgan, collapse, 480, False),  # the interval that it is made from
        (robust_ratio, collapse, 30, False),  # too few, and the docs say so
    ],
)  # fmt: skip
def test_where_it_keeps_its_rate(interval, draw, count, keeps):
    """1000 pairs of equal variances. False alarm of this test: 1e-6 for those that keep it."""
    assert (proportion_interval(misses(interval, draw, count), TRIALS, 1e-6).low <= NOMINAL) == keeps


def test_what_diverged_has_earned_less_than_all_others():
    ours, theirs = np.full(30, 200.0), np.full(30, 150.0)
    setting = Setting("full", 0, 0.01)
    assert earns_more(ours, theirs, "", setting).verdict == "PASS"
    ours[:25] = -np.inf
    assert earns_more(ours, theirs, "", setting).verdict == "FAIL"
    assert earns_more(theirs, ours, "", setting).verdict == "PASS"
