"""The judges of tails and of the bound from the exact expectation, on planted lanes; and that nothing is in ci."""

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.suites.rates import tails
from tests.suites.test_judges import trial

SETTING = Setting("full", 0, 1e-5)
UNIFORM = (np.arange(10_000) + 0.5) / 10_000


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (-np.log(UNIFORM), Verdict.PASS),  # exponential: equal steps
        (10 + UNIFORM, Verdict.PASS),
        (UNIFORM**-1.0, Verdict.FAIL),  # a power law: each step is 6.3 times the one before
        (np.where(UNIFORM < 0.02, 1e3, 1.0), Verdict.FAIL),
        (np.where(UNIFORM < 0.1, np.inf, 1.0), Verdict.FAIL),
    ],
)
def test_tails_are_told_apart(values, verdict):
    with np.errstate(invalid="ignore"):
        found = tails.tails_are_exponential("err", [trial(times=(100,), err=values[None])], SETTING)
    assert (found.verdict is Verdict.PASS) == (verdict is Verdict.PASS), found.words


def test_equal_steps_are_a_ratio_of_1_for_exponential_tails():
    found = tails.tails_are_exponential("err", [trial(times=(100,), err=-np.log(UNIFORM)[None])], SETTING)
    assert found.estimate == pytest.approx(1.0, abs=0.02)
    assert found.low < 1 < found.high


def test_an_interval_of_a_quantile_holds_it_as_often_as_it_says():
    """At 5 %, 400 samples of 500: the number outside is binomial, at most 40 with chance 0.9999."""
    rng = np.random.default_rng(0)
    intervals = [tails.quantile(np.sort(rng.random(500)), 0.9, 0.05) for _ in range(400)]
    assert 2 <= sum(not each.low <= 0.9 <= each.high for each in intervals) <= 40


@pytest.mark.parametrize(("share", "verdict"), [(1.0, Verdict.PASS), (0.5, Verdict.FAIL)])
def test_the_bound_is_the_expectation_and_a_multiple_of_the_spread(share, verdict):
    """Lanes just below the bound, or half of them just above, at n = 1000."""
    place, n, lanes, delta = "random_walk", 1000, 2000, 0.1
    from dgtd.harness.oracle.averages import at_horizon

    moments, saddle, zeros = tails.problem_of(place, tails.gtd2)
    size = saddle.step(n)
    found = at_horizon(moments, size, size, [n], metrics=("rmspbe",), average=True, theta=zeros)
    exact, mdp = found.of("rmspbe")[0], moments.mdp
    residual = mdp.b - mdp.A @ np.linalg.lstsq(mdp.features, found.mean[0, :, 0], rcond=None)[0]
    variance = exact - residual @ mdp.C_inverse @ residual
    assert 0 < variance < exact / 2
    limit = np.sqrt(exact) + np.sqrt(2 * np.log(10) * variance)
    values = limit * np.where(np.arange(lanes) < share * lanes, 0.999, 1.001)
    evidence = [trial(times=(n,), rmspbe=values[None])]
    assert tails.bound_covers(place, delta, True, evidence, SETTING).verdict is verdict
    assert tails.bound_covers(place, delta, False, evidence, SETTING).verdict is Verdict.FAIL


def test_nothing_of_it_is_in_ci():
    assert all("ci" not in claim.profiles for claim in tails.claims())
