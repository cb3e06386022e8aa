"""The limits of Theorem 2: judges on planted lanes, and what the theorem asks for."""

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.suites.convergence import limits
from tests.suites.test_judges import SETTING, trial

PASS, FAIL = Verdict.PASS, Verdict.FAIL
TIMES = limits.decades(1_000_000)
LANES = 32


def power(exponent, noise=0.0):
    """t^exponent in every lane, from 1 at the start."""
    steps = np.maximum(TIMES, 1).astype(float)
    wobble = np.random.default_rng(0).normal(size=(len(TIMES), LANES))
    return steps[:, None] ** exponent * np.exp(noise * wobble)


def flat(height=1.0):
    return np.full((len(TIMES), LANES), float(height))


def test_checkpoints_start_at_0_and_have_the_same_number_in_every_decade():
    assert TIMES.tolist()[:2] == [0, 1000]
    assert [int(np.sum((low <= TIMES) & (10 * low > TIMES))) for low in (1000, 10_000, 100_000)] == [4, 4, 4]
    assert TIMES[-1] == 1_000_000


def test_j_must_be_near_0_in_the_mean_over_lanes():
    found = limits.j_is_near_0([trial(TIMES, J=power(-0.4, 0.1))], SETTING)
    assert found.verdict is PASS
    assert found.estimate == pytest.approx(1e6**-0.4, rel=0.1)
    assert limits.j_is_near_0([trial(TIMES, J=flat())], SETTING).verdict is FAIL
    lost = power(-0.4)
    lost[-1, ::2] = np.nan
    assert limits.j_is_near_0([trial(TIMES, J=lost)], SETTING).verdict is not PASS


def test_a_slope_is_of_the_last_two_decades():
    """Falling before 10⁴ steps and flat since is a stall, whatever the whole curve's slope is."""
    found = limits.slope_is_negative("J", [trial(TIMES, J=power(-0.4, 0.05))], SETTING)
    assert found.verdict is PASS
    assert found.estimate == pytest.approx(-0.4, abs=0.03)
    stalled = np.where(TIMES[:, None] < 10_000, power(-1.0), 1e-4) * np.exp(0.05 * np.log(power(1.0, 1.0)))
    assert limits.slope_is_negative("J", [trial(TIMES, J=stalled)], SETTING).verdict is not PASS


def network(**changes):
    return trial(
        TIMES, **({"J": power(-0.4), "gradient": power(-0.4), "rank": flat(23), "condition": flat(1e6)} | changes)
    )


def test_a_networks_j_is_judged_by_its_geometric_mean_and_its_gradient_by_the_median():
    assert limits.network_is_near("J", [network()], SETTING).verdict is PASS
    assert limits.network_is_near("gradient", [network()], SETTING).verdict is PASS
    one = power(-0.4)
    one[-1, 3] = 0.5
    found = limits.network_is_near("J", [network(J=one)], SETTING)
    assert (found.verdict, found.estimate) == (PASS, pytest.approx(1e6**-0.4 * (0.5 / 1e6**-0.4) ** (1 / LANES)))
    assert "0.5000 in 32 lanes" in found.words
    for what in ("J", "gradient"):
        assert limits.network_is_near(what, [network(**{what: flat()})], SETTING).verdict is FAIL
        lost = power(-0.4)
        lost[-1, ::2] = np.nan
        assert limits.network_is_near(what, [network(**{what: lost})], SETTING).verdict is not PASS


def test_where_the_rank_drops_the_words_say_so():
    assert "rank 23 throughout" in limits.network_is_near("J", [network()], SETTING).words
    dropped = flat(23)
    dropped[5, :4] = 7
    assert "rank below 23 at times in 4 lanes" in limits.network_is_near("J", [network(rank=dropped)], SETTING).words


def test_the_rank_is_full_on_any_seed():
    """Directions at a millionth of the largest are small, and not null."""
    for seed in range(20):
        assert limits.ranks_are_full(Setting("ci", seed)).verdict is PASS


def test_one_feature_too_many_costs_the_network_its_rank():
    from dataclasses import replace

    from dgtd.algorithms.rules import gtd2
    from dgtd.harness.runs.trainers.networks import Layers

    spec = limits.network_run(gtd2, Setting())[0].spec
    assert Layers.of(spec).rank() == (23, 23)
    wider = replace(spec.learner.predictor, inputs="features")  # four features that sum to 1, and a bias
    rank, size = Layers.of(spec.with_learner(predictor=wider)).rank()
    assert (rank, size) == (23, 25)
