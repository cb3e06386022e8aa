"""A user's network as an agent's engine: the same directions as the compiled engine has, and lanes of its own."""

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.fast.replayed import ReplayEngine, ReplayModule
from dgtd.algorithms.rule import rule
from dgtd.algorithms.streams import generators
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.algorithms.test_agents import ACTIONS, DOUBLE, LANES, LAW, OBSERVATIONS, transitions

HIDDEN = (6, 5)


def layers(inputs, outputs):
    """As torch's users write it."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN[0]), torch.nn.Tanh(), torch.nn.Linear(*HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN[1], outputs),
    )  # fmt: skip


def in_torchs_order(engine, flat):
    """[lanes, d] with each layer's weights as [out, in], then its biases."""
    parts = [[layer[:, :-1].transpose(1, 2).flatten(1), layer[:, -1]] for layer in engine.layers(flat)]
    return torch.cat([part for pair in parts for part in pair], 1).numpy().copy()


def convolving(inputs, outputs):
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, inputs)), torch.nn.Conv1d(1, 3, 2), torch.nn.Tanh(), torch.nn.Flatten(),
        torch.nn.Linear(3 * (inputs - 1), outputs),
    )  # fmt: skip


CASES = [
    (rules.td, ValueTarget(), "cramer", True),
    (rules.td, LAW, "kl", True),
    (rules.td, LAW, "kl", False),
    (rules.td, LAW, "cramer", False),
    (rules.greedy_gq(0.5), LAW, "cramer", False),
    (rules.greedy_gq(0), LAW, "cramer", False),
    (rules.greedy_gq(0.5), ValueTarget(), "cramer", False),
    (rules.gtd2, CdfTarget(0, 10, 7, "nearest"), "cramer", False),
    (rules.tdrc(0.5), LAW, "cramer", False),
    (rules.residual_gradient, LAW, "cramer", False),
]


@pytest.mark.parametrize(("update", "target", "metric", "frozen"), CASES)
def test_directions_values_and_laws_are_the_compiled_engines(update, target, metric, frozen):
    drawn, streams = transitions(), generators(0, range(LANES))
    ours = ReplayEngine(update, (OBSERVATIONS, *HIDDEN), target, metric, DOUBLE, actions=ACTIONS, activation="tanh")
    users = ReplayModule(update, layers, OBSERVATIONS, target, metric, DOUBLE, ACTIONS)
    theta, boot = ours.start(streams), ours.start(streams)
    w = np.random.default_rng(1).normal(size=theta.shape)
    expected = ours.gradients(theta, w, drawn, boot if frozen else None)
    flat = [in_torchs_order(ours, part) for part in (theta, w, boot)]
    found = users.gradients(flat[0], flat[1], drawn, flat[2] if frozen else None)
    np.testing.assert_allclose(found[0], in_torchs_order(ours, expected[0]), rtol=0, atol=1e-12)
    assert (found[1].size > 0) == (expected[1].size > 0)
    if ours.uses_w:
        np.testing.assert_allclose(found[1], in_torchs_order(ours, expected[1]), rtol=0, atol=1e-12)
    assert (found[2] == 0).all()
    np.testing.assert_allclose(users.values(flat[0], drawn.x[:, 0]), ours.values(theta, drawn.x[:, 0]), atol=1e-10)
    np.testing.assert_allclose(users.laws(flat[0], drawn.x), ours.laws(theta, drawn.x), atol=1e-12)


@pytest.mark.parametrize(
    "agent",
    [
        Agent(rules.td, ValueTarget(), frozen=5, network=convolving),
        Agent(rules.td, LAW, "kl", frozen=5, network=convolving),
        Agent(rules.greedy_gq(0.5), LAW, network=convolving),
    ],
    ids=["dqn", "c51", "greedy_gq"],
)
def test_a_lane_of_convolutions_is_the_same_alone(agent):
    """A hundred updates, past those after which a trace runs instead; and the first weights are each lane's own."""
    many = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(LANES)), 1e-3, 1e-3, DOUBLE)
    alone = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(1, 2)), 1e-3, 1e-3, DOUBLE)
    first = many.theta.copy()
    assert (np.ptp(first, axis=0) > 0).all()
    for step in range(100):
        drawn = transitions(step)
        many.learn(drawn, step)
        alone.learn(type(drawn)(*(part[1:2] for part in drawn)), step)
        many.renew(step)
        alone.renew(step)
    np.testing.assert_allclose(many.theta[1], alone.theta[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(many.w[1], alone.w[0], rtol=0, atol=1e-10)
    assert np.abs(many.theta - first).max() > 0.01


def test_a_sick_lane_is_told_and_disturbs_no_other():
    agent = Agent(rules.greedy_gq(0.5), LAW, network=convolving)
    lanes = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(LANES)), 1e-3, 1e-3, DOUBLE)
    lanes.theta[1] = np.nan
    lanes.learn(transitions(), 7)
    assert lanes.died.tolist() == [-1, 7, -1]
    assert np.isfinite(lanes.theta[[0, 2]]).all()


@rule(promises=())
def follows(delta, u, rho):
    from dgtd.algorithms.rule import Cotangents

    return Cotangents(prediction=-rho * delta, target=rho * delta, tangent=0.0 * u)


def test_what_can_not_be_is_said():
    with pytest.raises(ValueError, match="can't be frozen"):
        Agent(follows, LAW, frozen=5, network=convolving).engine(OBSERVATIONS, ACTIONS)
    with pytest.raises(ValueError, match="must be 'cdf'"):
        Agent(rules.td, ValueTarget(), "kl", network=convolving).engine(OBSERVATIONS, ACTIONS)
    with pytest.raises(ValueError, match="without w"):
        Agent(rules.greedy_gq(0.5), LAW, "kl", network=convolving).engine(OBSERVATIONS, ACTIONS)
