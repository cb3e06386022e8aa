"""What `control` says of the treadmill, of w and of seconds: planted lanes are judged right."""

import numpy as np
import pytest

from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.streams import lane_streams
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.places.world import find_world
from dgtd.suites.control import learning, seconds
from tests.suites.test_judges import line, trial

SETTING = Setting("ci", 0, 1e-6)
PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_the_treadmill_is_cut_off_and_the_other_says_that_it_ends():
    for name, ends in (("treadmill", False), ("treadmill-ends", True)):
        world = find_world(name).make(lane_streams(0, range(2)))
        for step in range(1, 25):
            moved = world.step(np.array([0, 1]))
            over = step % 10 == 0
            assert moved.terminated.tolist() == [over and ends] * 2
            assert moved.truncated.tolist() == [over and not ends] * 2
            assert moved.reward.tolist() == [1, 1]
            assert (moved.observation == 1).all()


@pytest.mark.parametrize(("believed", "verdict"), [(10.1, PASS), (5.3, FAIL), (14.0, FAIL), (np.nan, None)])
def test_beliefs_are_held_against_the_truth(believed, verdict):
    lanes = trial(value=line(*[0.0] * 5, *[believed] * 5) + 0.01 * np.arange(64))
    if verdict is None:
        with pytest.raises(ValueError, match="finite"):
            learning.is_true([lanes], SETTING)
    else:
        assert learning.is_true([lanes], SETTING).verdict is verdict


@pytest.mark.parametrize(
    ("last", "verdict"), [(0.2, PASS), (12.0, FAIL), (np.inf, FAIL), (np.nan, FAIL), (1.0, INCONCLUSIVE)]
)
def test_w_that_overflowed_is_large(last, verdict):
    w = line(0.0, last) * np.exp(0.1 * np.random.default_rng(0).normal(size=64))
    found = learning.stays_small([trial(w_norm=w)], SETTING)
    assert found.verdict is verdict
    assert f"{0 if np.isfinite(last) else 64} overflowed" in found.words


def test_one_lane_that_overflowed_does_not_decide_for_all():
    w = line(0.0, 0.2)
    w[-1, 0] = np.nan
    assert learning.stays_small([trial(w_norm=w)], SETTING).verdict is PASS


@pytest.mark.parametrize("target", learning.TARGETS)
def test_a_batch_whose_w_feels_half_of_itself_is_seen(target, monkeypatch):
    """G_w that is not linear in w: the threshold of its slope is another one."""
    assert learning.threshold_error(target, SETTING).verdict is PASS
    right = ReplayEngine.gradients

    def wrong(self, theta, w, drawn, frozen=None):
        g_theta, g_w, health = right(self, theta, np.tanh(w), drawn, frozen)
        return g_theta, g_w, health

    monkeypatch.setattr(ReplayEngine, "gradients", wrong)
    assert learning.threshold_error(target, SETTING).verdict is FAIL


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, PASS), (3.0, FAIL), (2.0, INCONCLUSIVE)])
def test_times_are_judged_by_their_ratio(ratio, verdict):
    noise = np.exp(0.05 * np.random.default_rng(0).normal(size=(24, 4)))
    evidence = {"agents": list(seconds.AGENTS), "seconds": (noise * [1, 1e-4, 1, ratio * 1e-4]).tolist()}
    assert seconds.ratio_of_times("cdf", "c51", 2.0, [evidence], SETTING).verdict is verdict


def test_times_are_of_every_agent(monkeypatch):
    monkeypatch.setattr(seconds, "GROUPS", 2)
    monkeypatch.setattr(seconds, "ROUNDS", 1)
    found = seconds.measured(0)
    assert np.shape(found["seconds"]) == (2, len(seconds.AGENTS))
    assert (np.array(found["seconds"]) > 0).all()
