"""Z(s, a) against Monte Carlo: returns are those of the frozen policy, laws keep means, and a wrong law is told."""

import numpy as np
import pytest

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.experiment.search import iterating_learner, run_spec
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.suites.policy_iteration import figure_one
from dgtd.suites.policy_iteration.figure_one import Closing, distances, joined, laws, monte_carlo, near, on_atoms
from dgtd.suites.policy_iteration.search import V0
from tests.physics import fallen, moved

SETTING = Setting("full", 0, 1e-5)
TARGET = CdfTarget(0, 10, 30)


def iterating(lanes=2, **options):
    return Iterating.of(run_spec(V0, iterating_learner("tdc", V0, "cdf", cohort=lanes, **options), 300, 3, "law"))


def test_laws_on_atoms_keep_means():
    values = np.random.default_rng(0).uniform(0, 10, size=(3, 50))
    F = on_atoms(values, TARGET)
    assert np.all(np.diff(F, axis=1) >= 0)
    np.testing.assert_allclose(TARGET.mean(F), values.mean(1), rtol=1e-12)
    np.testing.assert_allclose(on_atoms(np.full((1, 4), TARGET.support[7]), TARGET)[0], np.arange(29) >= 7, atol=1e-12)


def test_returns_are_those_of_the_equations_of_motion():
    run = iterating(explore=(0.0, 0.0))
    lanes = run.evaluators(range(2))
    lanes.act = lambda x, explore, choice, behave=0.0: Evaluators.act(lanes, 0 * x, explore, choice, behave)
    action = lanes.values(np.zeros((2, 4))).argmax(1)  # at every state, since every state looks upright to it
    found = monte_carlo(run, lanes, action, 3, 0)
    for lane in range(2):
        state, steps = np.zeros((1, 4)), 0
        while not fallen(state)[0]:
            state, steps = moved(state, action[lane : lane + 1]), steps + 1
        np.testing.assert_allclose(found[lane], (1 - 0.9**steps) / 0.1, rtol=1e-12)


def test_exploration_is_the_policys_own():
    run = iterating(explore=(1.0, 1.0))  # actions at random: upright, some 20 steps
    found = monte_carlo(run, run.evaluators(range(2)), np.zeros(2, dtype=np.int64), 200, 0)
    assert found.std(axis=1).min() > 0.1
    assert 7.0 < found.mean() < 9.5


def test_what_is_kept_is_the_policy_that_was_evaluated_and_what_was_learnt_of_it():
    walk = Walk(iterating(4, episodes=2), range(4), Closing)
    for _ in range(100):
        walk.step()
    walk.lanes.listen()
    before = walk.lanes.improved.copy()
    policies = walk.lanes.policy.copy()
    while walk.lanes.open.any():
        walk.step()
    ended = walk.lanes.improved > before
    assert ended.all()
    np.testing.assert_array_equal(walk.lanes.evaluated, policies)
    assert np.all(np.any(walk.lanes.learnt != walk.lanes.evaluated, axis=(1, 2)))
    once = walk.lanes.improved == before + 1
    assert once.any()
    np.testing.assert_array_equal(walk.lanes.policy[once], walk.lanes.learnt[once])


def test_a_lane_alone_is_the_lane_among_others():
    spec = iterating(4, episodes=2).spec.to_json()
    together, alone = laws(spec, 0, 4, rollouts=5), laws(spec, 2, 1, rollouts=5)
    np.testing.assert_array_equal(alone["learnt"][0], together["learnt"][2])
    np.testing.assert_array_equal(alone["start"][0], together["start"][2])
    assert np.shape(together["sampled"]) == (4, 29)


def planted(off, count=30):
    """Lanes whose returns are 9, whose first law is uniform, and whose learnt law is a mass that is off by so much."""
    start = np.repeat(np.arange(1, 30)[None] / 30, count, axis=0)
    around = np.linspace(-0.1, 0.1, count)[:, None]
    return {
        "z": TARGET.support.tolist(), "start": start.tolist(), "mean": [9.0] * count,
        "learnt": on_atoms(9.0 - off + around, TARGET).tolist(),
        "sampled": on_atoms(np.full((count, 1), 9.0), TARGET).tolist(),
    }  # fmt: skip


@pytest.mark.parametrize(("off", "verdict"), [(0.0, Verdict.PASS), (3.0, Verdict.FAIL)])
def test_a_law_that_is_far_off_is_told(off, verdict):
    assert near([planted(off, 20), planted(off, 10)], SETTING).verdict is verdict
    assert near([planted(off, 4)], SETTING).verdict is Verdict.INCONCLUSIVE


def test_distances_are_of_masses_that_far_apart():
    after, _ = distances(joined([planted(3.0)]))
    np.testing.assert_allclose(after**2, 3.0, atol=0.5)


def test_a_lane_that_diverged_is_far():
    some = planted(0.0)
    some["learnt"][0] = [float("nan")] * 29
    assert distances(joined([some]))[0][0] == np.inf


@pytest.mark.parametrize(("projection", "rests"), [("nearest", 250 / 29), ("cramer", 10.0)])
def test_a_return_of_ten_is_out_of_reach_for_nearest(projection, rests):
    """Why a law by the paper's projection can't be near: a reward of 1 for ever, from a mass at 0."""
    import torch

    target = CdfTarget(0, 10, 30, projection)
    backup = target.shift([1.0], [0.9]).tensors(torch.float64)
    F = torch.as_tensor(target.point_mass(0.0))[None]
    for _ in range(1000):
        F = backup.apply(F)
    assert float(target.mean(F)[0]) == pytest.approx(rests, rel=1e-9)


def test_jobs_are_the_cohorts_of_the_figures_lanes():

    jobs = figure_one.jobs("tdc", SETTING)
    assert len(jobs) == 3
    assert len(figure_one.jobs("tdc", Setting("ci"))) == 1
