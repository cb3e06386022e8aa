"""The finite CartPole: its physics, and that evaluation's fixed point is the oracle's, for values and for laws."""

import numpy as np
import pytest

from algorithms.engines.network_batches import BatchLearner, Lesson, Update
from algorithms.engines.small import SmallEngine
from algorithms.rules import gtd2, tdc
from algorithms.streams import lane_streams
from harness.oracle.returns import projected_law
from harness.plugins import find_problem
from harness.worlds.cartpole import STEEP, CartPole
from suites.problems.cartpole import FASTEST, finite_cartpole

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


def mean_step(rule, target, theta):
    """What one learning step does on average at θ, by policy iteration's own kernel: a lane per outcome, α = β = 1."""
    table = MDP.table
    inputs = np.eye(MDP.states)[:, :-1]  # a table: the bias is the last pair's row
    engine = SmallEngine(rule, (MDP.states - 1,), target, pinned=True)
    lanes = len(table.state)
    at = np.repeat(theta[None], lanes, axis=0)
    w, before = np.zeros_like(at), at.copy()
    column = lambda part: part[:, None]  # noqa: E731
    lesson = Lesson(
        inputs[table.state][:, None], inputs[table.next_state][:, None], column(table.reward), column(table.discount),
        column(table.rho),
    )  # fmt: skip
    ones = np.ones(lanes)
    BatchLearner(engine).learn(at, w, lesson, Update(ones, ones, 0.0, np.inf, 0, np.full(lanes, -1)))
    return np.einsum("o,oij->ij", MDP.mass, at - before), np.einsum("o,oij->ij", MDP.mass, w)


def table_of(rows):
    """θ of a table whose pairs have these rows [states, n]: differences to the last, and the last as the bias."""
    return np.concatenate([rows[:-1] - rows[-1], rows[-1:]]).reshape(1, -1)


@pytest.mark.parametrize("rule", [gtd2, tdc], ids=lambda rule: rule.name)
@pytest.mark.parametrize("kind", ["value", "cramer", "nearest"])
def test_evaluations_fixed_point_is_the_oracles(rule, kind):
    target = PROBLEM.target("value") if kind == "value" else PROBLEM.target("cdf", 30, kind)
    if kind == "value":
        right, wrong = MDP.v[:, None], MDP.v[:, None] + 0.1
    else:
        mass = np.diff(projected_law(MDP, target).cdf, axis=1, prepend=0.0, append=1.0)
        logs = np.log(np.maximum(mass, 1e-30))
        right, wrong = (logs[:, :-1] - logs[:, -1:], 0.5 * (logs[:, :-1] - logs[:, -1:]))
    at_right, at_wrong = ([np.abs(part).max() for part in mean_step(rule, target, table_of(x))] for x in (right, wrong))
    assert max(at_right) < 1e-12
    assert max(at_wrong) > 1e-4
