"""Policy iteration as a run: which policy acts, which action follows, lanes alone and among others, bad input."""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.search import iterating_learner, run_spec
from dgtd.harness.runs.acting_spec import Iteration
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.harness.runs.trainers.trainer import train

WORLD = "cartpole-v0"


def made(rule="tdc", target="value", steps=300, lanes=4, **options):
    return Iterating.of(run_spec(WORLD, iterating_learner(rule, WORLD, target, cohort=lanes, **options), steps, seed=5))


def test_a_specification_is_data():
    spec = made(capacity=50, batch=4, behave=0.3).spec
    assert RunSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize("episodes", [3, 20])
def test_the_policy_is_frozen_for_exactly_its_episodes_and_then_is_what_was_learnt(episodes):
    walk = Walk(made(steps=1200, episodes=episodes), range(4))
    ended, changes = np.zeros(4, dtype=int), [[] for _ in range(4)]
    moved = walk.world.step

    def counted(actions):
        found = moved(actions)
        nonlocal ended
        ended = ended + (found.terminated | found.truncated)
        return found

    walk.world.step = counted
    for _ in range(1200):
        before = walk.lanes.policy.copy()
        walk.step()
        for lane in range(4):
            if not np.array_equal(before[lane], walk.lanes.policy[lane]):
                changes[lane].append(int(ended[lane]))
                np.testing.assert_array_equal(walk.lanes.policy[lane], walk.lanes.theta[lane])
    assert all(changes)
    for lane in range(4):
        assert changes[lane] == [episodes * (i + 1) for i in range(len(changes[lane]))]


def test_the_action_that_is_learnt_from_is_the_one_that_is_taken_next():
    walk = Walk(made(target="cdf"), range(4))
    lessons, taken, ends = [], [], []
    learn, move = walk.lanes.learn, walk.world.step
    walk.lanes.learn = lambda lesson, *rest: (lessons.append(lesson), learn(lesson, *rest))

    def recorded(actions):
        found = move(actions)
        taken.append(actions.copy())
        ends.append(found.terminated | found.truncated)
        return found

    walk.world.step = recorded
    for _ in range(200):
        walk.step()
    for i in range(199):
        following = lessons[i].x_next[:, 0, 4:].argmax(1)
        on = ~ends[i]
        np.testing.assert_array_equal(following[on], taken[i + 1][on])
        np.testing.assert_array_equal(lessons[i].x[:, 0, 4:].argmax(1), taken[i])
        np.testing.assert_array_equal(lessons[i].rho, 1.0)
    assert np.sum(ends) > 4


def test_off_policy_the_next_action_is_weighed_and_an_end_is_not():
    walk = Walk(made(behave=0.9), range(4))
    lessons = []
    learn = walk.lanes.learn
    walk.lanes.learn = lambda lesson, *rest: (lessons.append(lesson), learn(lesson, *rest))
    for _ in range(300):
        walk.step()
    rho, discount = (np.concatenate([getattr(each, name)[:, 0] for each in lessons]) for name in ("rho", "discount"))
    greedy, other = (1 - 0.1 / 2) / (1 - 0.9 / 2), (0.1 / 2) / (0.9 / 2)
    first = rho[: 4 * 50]  # before ε has moved much
    assert set(np.round(first, 6)) <= {round(greedy, 6), round(other, 6), 1.0}
    assert np.all(rho[discount == 0] == 1.0)
    assert len(np.unique(first)) > 1


def test_replayed_transitions_take_their_next_action_from_the_policy_as_it_is():
    walk = Walk(made(capacity=64, batch=8, explore=(0.0, 0.0)), range(4))
    for _ in range(80):
        walk.step()
    drawn = walk._replayed(walk._replay)
    x_next = drawn.x_next[..., :4]
    for i in range(8):
        greedy = walk.lanes.values(x_next[:, i]).argmax(1)
        np.testing.assert_array_equal(drawn.x_next[:, i, 4:].argmax(1), greedy)


@pytest.mark.parametrize("options", [{}, {"capacity": 100, "batch": 4}], ids=["online", "replayed"])
def test_a_lane_alone_is_the_lane_among_others(options):
    run = made(target="cdf", steps=200, **options)
    together = train(run, range(4), lambda: None)
    alone = train(run, range(2, 3), lambda: None)
    np.testing.assert_array_equal(alone.curves[:, 0], together.curves[:, 2])
    np.testing.assert_array_equal(alone.law[0], together.law[2])
    assert together.law.shape == (4, 29)
    assert np.all(np.diff(together.law, axis=1) >= 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"explore": (1.2, 0.1)}, "explore must be in"),
        ({"explore": (0.1, 0.2)}, "explore must fall"),
        ({"behave": -0.1}, "behave must be in"),
        ({"batch": 4}, "batch must be 1 online, with capacity 0, got 4"),
        ({"v_min": 3.0, "v_max": 3.0}, "v_min must be below v_max"),
        ({"scale": (1.0, 0.0, 1.0, 1.0)}, "scale must be positive"),
        ({"capacity": -1}, "capacity must be"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        Iteration(**options)


def test_what_does_not_fit_the_world_is_named():
    spec = made().spec
    wrong = replace(spec.learner, iteration=Iteration(scale=(1.0,)))
    with pytest.raises(ValueError, match="scale must have shape"):
        Iterating.of(replace(spec, learner=wrong))
    single = replace(spec.learner, predictor=replace(spec.learner.predictor, single=True))
    with pytest.raises(ValueError, match="policy iteration runs in float64, got a predictor in float32"):
        Iterating.of(replace(spec, learner=single))
    with pytest.raises(ValueError, match="'dqn' is an agent with a policy of its own"):
        iterating_learner("dqn", WORLD)
