"""Agents against what was published: plain torch loops, and Algorithm 3 through the engine that is held to it."""

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.replay import Replay, Transitions
from dgtd.algorithms.rule import Cotangents, rule, uses
from dgtd.algorithms.stepping import Adam
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget

LANES, SIZE, OBSERVATIONS, ACTIONS = 3, 5, 4, 2
LAW = CdfTarget(0, 10, 7)
DOUBLE = torch.float64


def transitions(seed=0, size=SIZE):
    """Rewards on and off the grid, a third of them the last of their episode."""
    rng = np.random.default_rng(seed)
    x, x_next = rng.normal(size=(2, LANES, size, OBSERVATIONS)).astype(np.float32)
    ended = rng.random((LANES, size)) < 0.3
    reward = rng.choice([-0.7, 0.0, 1.0, 2.35, 14.0], (LANES, size))
    return Transitions(x, x_next, rng.integers(ACTIONS, size=(LANES, size)), reward, np.where(ended, 0.0, 0.9))


@rule(linear=False, curvature=False, promises=())
def huber(delta, u, rho):
    return Cotangents(prediction=-rho * np.clip(delta, -1, 1), target=0.0 * u, tangent=0.0 * u)


@pytest.mark.parametrize("target", [ValueTarget(), *(CdfTarget(0, 10, 7, p) for p in ("cramer", "nearest", "floor"))])
@pytest.mark.parametrize(
    "update", [rules.gtd2, rules.tdc, rules.greedy_gq(0.5), rules.greedy_gq(0), rules.td, rules.tdrc(0.5), huber,
               rules.residual_gradient],
    ids=lambda update: update.name,
)  # fmt: skip
@pytest.mark.parametrize(
    ("hidden", "activation"), [((6, 5), "tanh"), ((19, 16), "relu"), ((8, 33), "silu"), ((24, 9), "softplus")]
)
def test_gradients_are_the_mlp_engines(update, target, hidden, activation):
    """Widths that fill tiles, and such that do not."""
    drawn, shape = transitions(), {"actions": ACTIONS, "activation": activation}
    engine = ReplayEngine(update, (OBSERVATIONS, *hidden), target, dtype=DOUBLE, **shape)
    plain = MlpEngine(update, (OBSERVATIONS, *hidden), target, **shape)
    theta = engine.start(generators(0, range(LANES)))
    w = np.random.default_rng(1).normal(size=theta.shape)
    shift = target.shift(drawn.reward, drawn.discount)
    x, x_next = (part.astype(float) for part in (drawn.x, drawn.x_next))
    batch = Batch(x, x_next, shift, np.ones((LANES, SIZE)), drawn.action)
    expected = plain.directions(engine.layers(theta), engine.layers(w), batch)
    g_theta, g_w, health = engine.gradients(theta, w, drawn)
    flat = [np.concatenate([part.flatten(1).numpy() for part in each], axis=1) for each in expected]
    np.testing.assert_allclose(g_theta, flat[0], rtol=0, atol=1e-12)
    if engine.uses_w:
        np.testing.assert_allclose(g_w, flat[1], rtol=0, atol=1e-12)
    assert (health == 0).all()


def test_what_a_rule_uses_is_found_by_probing():
    assert uses(rules.td) == uses(huber) == (False, False)
    assert uses(rules.greedy_gq(0)) == (True, False)
    assert uses(rules.greedy_gq(0.5)) == uses(rules.gtd2) == (True, True)
    assert uses(rules.residual_gradient) == (False, True)


def module(weights):
    """The same network as torch users build it, at these weights [layers of in + 1, out]."""
    layers = []
    for i, each in enumerate(weights):
        linear = torch.nn.Linear(each.shape[0] - 1, each.shape[1], dtype=DOUBLE)
        with torch.no_grad():
            linear.weight.copy_(each[:-1].T)
            linear.bias.copy_(each[-1])
        layers += [linear, torch.nn.ReLU()] if i < len(weights) - 1 else [linear]
    return torch.nn.Sequential(*layers)


def dqn_loss(online, frozen, x, x_next, action, reward, discount):
    """Mnih et al. 2015: half the squared error."""
    with torch.no_grad():
        goal = reward + discount * frozen(x_next).max(-1).values
    return 0.5 * (goal - online(x).gather(-1, action[:, None])[:, 0]).square().mean()


def c51_loss(online, frozen, x, x_next, action, reward, discount):
    """Bellemare et al. 2017, their Algorithm 1: project, then cross entropy."""
    z = torch.as_tensor(LAW.support)
    with torch.no_grad():
        p = frozen(x_next).unflatten(-1, (ACTIONS, LAW.atoms)).softmax(-1)
        p = p[torch.arange(len(x)), (p @ z).argmax(-1)]
        m = torch.zeros(len(x), LAW.atoms, dtype=DOUBLE)
        for i in range(len(x)):
            for j in range(LAW.atoms):
                b = ((reward[i] + discount[i] * z[j]).clamp(LAW.v_min, LAW.v_max) - LAW.v_min) / LAW.spacing
                low, high = int(torch.floor(b)), int(torch.ceil(b))
                m[i, low] += p[i, j] * (1 if low == high else high - b)
                if low != high:
                    m[i, high] += p[i, j] * (b - low)
    logits = online(x).unflatten(-1, (ACTIONS, LAW.atoms))[torch.arange(len(x)), action]
    return -(m * logits.log_softmax(-1)).sum(-1).mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "metric", "loss"), [(ValueTarget(), "cramer", dqn_loss), (LAW, "kl", c51_loss)], ids=["dqn", "c51"]
)
def test_a_hundred_updates_are_those_of_torch(target, metric, loss):
    agent = Agent(rules.td, target, metric, frozen=10, hidden=(8, 8))
    players = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(LANES)), 1e-3, 1e-3, DOUBLE)
    online = [module([part[lane] for part in players.engine.layers(players.theta)]) for lane in range(LANES)]
    frozen = [module([part[lane] for part in players.engine.layers(players.theta)]) for lane in range(LANES)]
    optimisers = [torch.optim.Adam(each.parameters(), lr=1e-3) for each in online]
    for step in range(1, 101):
        drawn = transitions(step)
        players.learn(drawn, step)
        players.renew(step)
        for lane in range(LANES):
            parts = [torch.as_tensor(part[lane]) for part in drawn]
            optimisers[lane].zero_grad()
            loss(online[lane], frozen[lane], parts[0].double(), parts[1].double(), *parts[2:]).backward()
            optimisers[lane].step()
            if step % 10 == 0:
                frozen[lane].load_state_dict(online[lane].state_dict())
    for lane in range(LANES):
        ours = [part[lane] for part in players.engine.layers(players.theta)]
        theirs = [torch.cat([each.weight.T, each.bias[None]]) for each in online[lane][::2]]
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other.detach(), rtol=0, atol=1e-10)


def test_adam_has_a_rate_per_lane():
    theta, direction = np.ones((2, 3)), np.full((2, 3), 0.5)
    adam = Adam(np.array([0.1, 0.2]), theta)
    adam.step(theta, direction)
    np.testing.assert_allclose(theta, [[0.9] * 3, [0.8] * 3], atol=1e-7)


def test_a_lane_alone_is_the_lane_among_others_to_rounding():
    agent = Agent(rules.greedy_gq(0.5), LAW, hidden=(8, 8))
    many = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(LANES)), 1e-3, 1e-2)
    one = Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(1)), 1e-3, 1e-2)
    for step in range(50):
        drawn = transitions(step)
        many.learn(drawn, step)
        one.learn(Transitions(*(part[:1].copy() for part in drawn)), step)
    np.testing.assert_allclose(one.theta[0], many.theta[0], atol=1e-5)


@pytest.mark.slow
def test_w_goes_towards_its_solution():
    """With θ nearly at rest w's mean update vanishes at w*: u = J w becomes the projection of δ."""
    agent = Agent(rules.greedy_gq(0.5), ValueTarget(), hidden=(), w="sgd")
    players = Players.start(agent, OBSERVATIONS, 1, generators(0, range(1)), 1e-12, 0.2, DOUBLE)
    drawn = Transitions(*(part[:1].copy() for part in transitions(size=40)))
    drawn.action[:] = 0
    for step in range(3000):
        players.learn(drawn, step)
    x = np.concatenate([drawn.x[0].astype(float), np.ones((40, 1))], axis=1)
    theta = players.theta[0]
    following = np.concatenate([drawn.x_next[0].astype(float), np.ones((40, 1))], axis=1) @ theta
    delta = drawn.reward[0] + drawn.discount[0] * following - x @ theta
    assert np.isfinite(players.w).all()  # NaN would equal NaN
    np.testing.assert_allclose(players.w[0], np.linalg.lstsq(x, delta, rcond=None)[0], atol=1e-6)


def test_a_lane_that_overflows_is_dated_and_disturbs_no_neighbour():
    agent = Agent(rules.greedy_gq(0.5), ValueTarget(), hidden=(8,))
    players, right = (
        Players.start(agent, OBSERVATIONS, ACTIONS, generators(0, range(LANES)), 1e-3, 1e-2) for _ in range(2)
    )
    players.theta[1] = np.inf
    drawn = transitions()
    for each in (players, right):
        each.learn(drawn, 7)
    assert players.died.tolist() == [-1, 7, -1]
    np.testing.assert_allclose(players.theta[[0, 2]], right.theta[[0, 2]], atol=1e-6)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (lambda: Agent(rules.greedy_gq(0.5), LAW, frozen=5).engine(4, 2), "can't be frozen"),
        (lambda: Agent(rules.td, ValueTarget(), "kl").engine(4, 2), "'kl' compares laws"),
        (lambda: Agent(rules.gtd2, LAW, "kl").engine(4, 2), "rules without w"),
        (lambda: Agent(rules.td, LAW, "wasserstein").engine(4, 2), "no metric 'wasserstein'"),
        (lambda: Agent(rules.td, LAW, frozen=-1), "frozen must be at least 0"),
    ],
)
def test_an_agent_that_can_not_be_is_refused_by_name(agent, words):
    with pytest.raises(ValueError, match=words):
        agent()


def test_replay_keeps_the_last_transitions_and_draws_from_each_lanes_own_stream():
    replay = Replay(lane_streams(0, range(2)), 3, 1)
    with pytest.raises(ValueError, match="empty"):
        replay.draw(1)
    for step in range(5):
        at = np.array([[step], [10 + step]], dtype=np.float32)
        replay.add(at, [0, 1], [step, 10 + step], [0.9, 0.0], at + 100)
    drawn, more = replay.draw(300), replay.draw(300)
    assert (more.x != drawn.x).any()
    assert replay.size == 3
    for lane, first in enumerate((2, 12)):  # χ² with two degrees of freedom; false alarm 1e-9
        counts = np.bincount(drawn.x[lane, :, 0].astype(int) - first, minlength=3)
        assert ((counts - 100) ** 2 / 100).sum() < 41.4
    assert set(drawn.x[0, :, 0]) == {2, 3, 4}
    assert set(drawn.x[1, :, 0]) == {12, 13, 14}
    np.testing.assert_array_equal(drawn.x_next, drawn.x + 100)
    np.testing.assert_array_equal(drawn.reward, drawn.x[..., 0])
    for lane in range(2):
        alone = Replay(lane_streams(0, range(lane, lane + 1)), 3, 1)
        for number in (10 * lane + step for step in range(5)):
            at = np.array([[number]], dtype=np.float32)
            alone.add(at, [lane], [number], [0.9], at + 100)
        np.testing.assert_array_equal(alone.draw(300).x[0], drawn.x[lane])


@pytest.mark.parametrize("activation", ["relu", "tanh", "silu", "softplus"])
@pytest.mark.parametrize("target", [ValueTarget(), CdfTarget(-3, 10, 7)])
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_agents_act_by_the_means_of_their_laws(activation, target, dtype, within):
    engine = ReplayEngine(rules.td, (4, 9, 5), target, dtype=dtype, actions=3, activation=activation)
    theta = engine.start(generators(0, range(3), suite="values"))
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    laws = engine.laws(theta, x[:, None])[:, 0]
    expected = target.mean(laws) if isinstance(target, CdfTarget) else laws[..., 0]
    np.testing.assert_allclose(engine.values(theta, x), expected, rtol=within, atol=within)
    assert np.ptp(expected) > 1e-2  # actions differ, so that a head mixed up would show
