"""Lanes that evaluate a frozen policy: their updates, their actions and ratios, and when the policy changes."""

from itertools import product

import numpy as np
import pytest

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.fast.mlp import TorchLearner
from dgtd.algorithms.fast.network_batches import LARGEST_COMPILED, BatchLearner, Kept, Lesson, Update, learner_for
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.rules import gtd2, tdc, tdrc
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget

LANES, INPUTS = 4, 6
TARGETS = [ValueTarget(), CdfTarget(0, 10, 7)]
both_learners = pytest.mark.parametrize("learner", [BatchLearner, TorchLearner])


def lanes_of(rule, target, seed=0):
    engine = SmallEngine(rule, (INPUTS, 5), target)
    theta = engine.init(generators(seed, range(LANES)))
    return engine, theta, np.random.default_rng(seed).normal(size=theta.shape) / 3


def lesson(count, seed=0):
    rng = np.random.default_rng(seed)
    x, x_next = rng.normal(size=(2, LANES, count, INPUTS))
    reward, discount = rng.normal(size=(LANES, count)), np.where(rng.random((LANES, count)) < 0.3, 0.0, 0.9)
    return Lesson(x, x_next, reward, discount, rng.choice([0.5, 1.0, 2.0], size=(LANES, count)))


def update(alpha=0.1, beta=0.2, decay=0.0, radius=np.inf, now=3):
    rates = np.full(LANES, alpha), np.full(LANES, beta)
    return Update(*rates, decay, radius, now, np.full(LANES, -1), np.empty((LANES, 1)))


@both_learners
@pytest.mark.parametrize("target", TARGETS, ids=["value", "cdf"])
@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("rule", [gtd2, tdc, tdrc(0.5)], ids=lambda rule: rule.name)
def test_an_update_is_the_small_engines_step(rule, count, target, learner):
    engine, theta, w = lanes_of(rule, target)
    given, expected, expected_w = lesson(count), theta.copy(), w.copy()
    shift = target.shift(given.reward, given.discount)
    engine.step(expected, expected_w, Batch(given.x, given.x_next, shift, given.rho), 0.1, 0.2)
    learner(engine).learn(theta, w, given, update(decay=rule.w_decay))
    np.testing.assert_allclose(theta, expected, atol=1e-14)
    np.testing.assert_allclose(w, expected_w, atol=1e-14)


@both_learners
def test_the_ball_holds_both(learner):
    engine, theta, w = lanes_of(gtd2, TARGETS[1])
    learner(engine).learn(theta, w, lesson(1), update(alpha=50.0, beta=50.0, radius=0.5))
    assert np.all(np.linalg.norm(theta, axis=(1, 2)) <= 0.5 + 1e-12)
    assert np.all(np.linalg.norm(w, axis=(1, 2)) <= 0.5 + 1e-12)


@pytest.mark.filterwarnings("ignore:invalid value")
@both_learners
@pytest.mark.parametrize("count", [1, 3])
def test_a_lane_that_overflows_is_dated_and_disturbs_no_other(count, learner):
    engine, theta, w = lanes_of(gtd2, TARGETS[0])
    alone, alone_w = theta.copy(), w.copy()
    learner, moves = learner(engine), update()
    theta[1] = 1e308
    learner.learn(theta, w, lesson(count), moves)
    learner.learn(alone, alone_w, lesson(count), update())
    assert moves.died.tolist() == [-1, 3, -1, -1]
    assert np.isnan(theta[1]).all()
    np.testing.assert_array_equal(np.delete(theta, 1, 0), np.delete(alone, 1, 0))
    learner.learn(theta, w, lesson(count, seed=1), moves._replace(now=9))
    assert moves.died.tolist() == [-1, 3, -1, -1]


def test_large_batches_of_large_networks_are_matrix_products():
    engine = lanes_of(gtd2, TARGETS[0])[0]
    most = LARGEST_COMPILED // engine.weights
    assert [type(learner_for(engine, batch)) for batch in (1, most, most + 1)] == [
        BatchLearner, BatchLearner, TorchLearner,
    ]  # fmt: skip


def test_rows_are_made_once_and_begun_anew_when_full():
    made = []

    def make(keys):
        made.append(len(keys))
        return (keys[:, 0] * 10, keys[:, 1] - 1)

    kept = Kept(make)
    kept.FULL = 3
    for numbers in ([[1.0, 2.0, 1.0], [5.0, 5.0, 5.0]], [[2.0, 1.0], [5.0, 5.0]], [[7.0, 8.0, 1.0], [0.0, 0.0, 5.0]]):
        first, second = (np.array(each) for each in numbers)
        at = kept.find(first, second)
        np.testing.assert_array_equal(kept.arrays[0][at], first * 10)
        np.testing.assert_array_equal(kept.arrays[1][at], second - 1)
    assert made == [2, 3]


def evaluators(episodes=2, epsilon=0.3, actions=2):
    engine = SmallEngine(gtd2, (4 + actions, 5), TARGETS[1])
    return Evaluators(engine, engine.init(generators(1, range(LANES))), actions, episodes, epsilon)


def test_actions_and_ratios_are_those_of_policy_and_behaviour():
    """Over many draws: each action as often as the behaviour says, and E_b[ρ] = 1, E_b[ρ 1(a)] = π(a)."""
    lanes, rng, draws = evaluators(actions=3), np.random.default_rng(0), 40_000
    x = rng.normal(size=(LANES, 4))
    greedy = lanes.values(x).argmax(1)
    taken, weighed, total = np.zeros((LANES, 3)), np.zeros((LANES, 3)), np.zeros(LANES)
    for _ in range(draws // 1000):
        for explore, choice in zip(rng.random((1000, LANES)), rng.random((1000, LANES)), strict=True):
            action, rho, _ = lanes.act(x, explore, choice, behave=0.6)
            taken[np.arange(LANES), action] += 1
            weighed[np.arange(LANES), action] += rho
            total += rho
    is_greedy = np.arange(3) == greedy[:, None]
    for found, epsilon in ((taken, 0.6), (weighed, 0.3)):
        expected = epsilon / 3 + (1 - epsilon) * is_greedy
        np.testing.assert_allclose(found / draws, expected, atol=6 * 2 / np.sqrt(draws))  # six standard errors and more
    on_policy = lanes.act(x, rng.random(LANES), rng.random(LANES))[1]
    np.testing.assert_array_equal(on_policy, 1.0)


def test_a_policy_is_frozen_for_its_episodes_lane_by_lane():
    lanes = evaluators(episodes=2)
    before = lanes.policy.copy()
    lanes.theta += 1.0
    first, second = np.array([True, False, True, False]), np.array([True, True, False, False])
    lanes.close(first, 0.2)
    np.testing.assert_array_equal(lanes.policy, before)
    lanes.close(second, 0.1)
    changed = (lanes.policy != before).all(axis=(1, 2))
    assert changed.tolist() == [True, False, False, False]
    assert lanes.epsilon.tolist() == [0.1, 0.3, 0.3, 0.3]
    assert lanes.seen.tolist() == [0, 1, 1, 0]
    assert lanes.improved.tolist() == [1, 0, 0, 0]
    lanes.theta += 1.0  # the policy is a copy
    assert not np.array_equal(lanes.policy[0], lanes.theta[0])


def test_a_draw_explores_its_action_below_epsilon_and_its_ratio_is_that_of_policy_and_behaviour():
    """For every draw: from the middle of each third, below and above both ε; ρ = π(a)/b(a)."""
    lanes = evaluators(epsilon=0.3, actions=3)
    x = np.random.default_rng(0).normal(size=(LANES, 4))
    greedy = lanes.values(x).argmax(1)
    for behave, explore, third in product((0.0, 0.6), (0.1, 0.45, 0.9), range(3)):
        epsilon = max(behave, 0.3)
        found = lanes.act(x, np.full(LANES, explore), np.full(LANES, (third + 0.5) / 3), behave)
        action = np.full(LANES, third) if explore < epsilon else greedy
        policy, behaviour = (each / 3 + (1 - each) * (action == greedy) for each in (0.3, epsilon))
        np.testing.assert_array_equal(found.action, action)
        np.testing.assert_allclose(found.rho, policy / behaviour, rtol=1e-12)
