"""The sequential test: a sequence by hand, all sequences by their likelihoods, and Wald's bounds by enumeration."""

from fractions import Fraction
from itertools import product

import pytest

from dgtd.harness.judging.statistics import Sprt


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
