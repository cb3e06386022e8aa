"""A policy that is never frozen: its lanes are those of the frozen one but for that, and who earns more is told."""

import numpy as np
import pytest

from dgtd.harness.experiment.search import iterating_learner, run_spec
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.runs.trainers.policy_iteration import Iterating
from dgtd.harness.runs.trainers.trainer import train
from dgtd.suites.policy_iteration.figure_one import EveryStep, both, every_step, frozen_earns_more, returns
from dgtd.suites.policy_iteration.search import V0
from dgtd.suites.returns import final_returns
from tests.suites.test_figure_one import lanes

SETTING = Setting("full", 0, 1e-5)


@pytest.fixture
def spec():
    return run_spec(V0, iterating_learner("tdc", V0, cohort=4, episodes=2), 500, 3, "every step")


def test_lanes_are_those_of_a_frozen_policy_if_it_is_frozen(spec, monkeypatch):
    other = returns(spec.to_json(), 0, 4)
    monkeypatch.setattr(EveryStep, "close", EveryStep.__mro__[1].close)
    np.testing.assert_array_equal(
        returns(spec.to_json(), 0, 4), final_returns(train(Iterating.of(spec), range(4), lambda: None))
    )
    assert other != returns(spec.to_json(), 0, 4)


def test_who_earns_more_is_told():
    for high, verdict in ((100, Verdict.PASS), (20, Verdict.FAIL), (50, Verdict.INCONCLUSIVE)):
        trial = lanes(np.full(10, high), 1.0, 30)
        others = np.random.default_rng(3).normal(50, 1.0, size=30)
        assert frozen_earns_more([trial, others[:10], others[10:]], SETTING).verdict is verdict


def test_both_have_the_same_lanes():
    frozen, *jobs = both("tdc", SETTING)
    assert (frozen.seeds, len(jobs)) == (30, 3)
    assert all(claim.figure for claim in every_step())
