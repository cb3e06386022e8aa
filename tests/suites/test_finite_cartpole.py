"""The finite CartPole: its physics, and that evaluation's fixed point is the oracle's, for values and for laws."""

import numpy as np
import pytest

from dgtd.algorithms.rules import gtd2, tdc
from dgtd.algorithms.streams import lane_streams
from dgtd.harness.places.cartpole import STEEP, CartPole
from dgtd.harness.plugins import find_problem
from dgtd.suites.policy_iteration.evaluation import exact_rows, mean_step, table_of
from dgtd.suites.problems.cartpole import FASTEST, finite_cartpole
from tests.physics import fallen, moved

PROBLEM = finite_cartpole()
MDP = PROBLEM.mdp


def test_it_is_installed_and_small():
    assert find_problem("finite_cartpole").mdp.states == 286
    assert (MDP.d > 0).all()
    low, high = MDP.return_bounds()
    assert PROBLEM.support[0] <= low
    assert high <= PROBLEM.support[1]


def test_a_step_leads_on_average_to_where_the_world_leads():
    """Inside the grid the corners' mean is the compiled CartPole's next angle and speed; each step pays 1."""
    rng, checked = np.random.default_rng(0), 0
    o, features = MDP.transitions, MDP.features
    for pair in rng.choice(MDP.states, 60, replace=False):
        world = CartPole(lane_streams(0, range(1)), 10)
        angle, speed = features[pair, :2] * (STEEP, FASTEST)
        world.lanes.state[0] = (0, 0, angle, speed)
        moved = world.step(features[pair, 2:].argmax(keepdims=True))
        mine = o.state == pair
        np.testing.assert_array_equal(o.reward[mine], 1.0)
        assert o.ends[mine].all() == moved.terminated[0]
        to = moved.observation[0, 2:] / (STEEP, FASTEST)
        if not moved.terminated[0] and abs(to[1]) <= 1:
            mean = o.probability[mine] @ features[o.next_state[mine], :2]
            np.testing.assert_allclose(mean, to, atol=1e-6)
            checked += 1
    assert checked > 20


def test_the_next_action_is_drawn_by_the_policy():
    o = MDP.transitions
    on = ~o.ends
    left, right = (np.bincount(o.state[on], o.probability[on] * (o.next_state[on] % 2 == a), 286) for a in (0, 1))
    some = left + right > 0
    assert set(np.round(np.minimum(left, right)[some], 9)) != {0.0}
    leans = MDP.features[:, 0] / np.abs(MDP.features[:, 0]).max()
    steep = some & (np.abs(leans) > 0.5) & (np.abs(MDP.features[:, 1]) < 0.3)  # all corners lean to the same side
    np.testing.assert_allclose(np.where(leans > 0, left, right)[steep], 0.05, atol=1e-12)


@pytest.mark.parametrize("rule", [gtd2, tdc], ids=lambda rule: rule.name)
@pytest.mark.parametrize("kind", ["value", "cramer", "nearest"])
def test_evaluations_fixed_point_is_the_oracles_and_no_other(rule, kind):
    target = PROBLEM.target("value") if kind == "value" else PROBLEM.target("cdf", 30, kind, linear=False)
    right = exact_rows(MDP, target)
    wrong = right + 0.1 if kind == "value" else 0.5 * right
    at_right, at_wrong = (
        max(np.abs(part).max() for part in mean_step(rule, MDP, target, table_of(x))) for x in (right, wrong)
    )
    assert at_right < 1e-12
    assert at_wrong > 1e-4


def test_every_step_inside_the_grid_leads_on_average_to_where_the_equations_of_motion_lead():
    o, X, scale = MDP.transitions, MDP.features, np.array([STEEP, FASTEST])
    state = np.zeros((MDP.states, 4))
    state[:, 2:] = X[:, :2] * scale
    after = moved(state, X[:, 2:].argmax(1))
    to = after[:, 2:] / scale
    inside = ~fallen(after) & (np.abs(to[:, 1]) <= 1)
    mean = np.stack([np.bincount(o.state, o.probability * X[o.next_state, i], MDP.states) for i in (0, 1)], 1)
    assert inside.any()
    np.testing.assert_allclose(mean[inside], to[inside], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(np.bincount(o.state, o.probability * o.ends, MDP.states), fallen(after))
    np.testing.assert_array_equal(o.reward, 1.0)
