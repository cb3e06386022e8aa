"""Cases at the edges of the engines: ties, far ranges, lanes that threads do not divide, snapshots, first weights."""

import math

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.fast.compiled_loop import in_parts
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.problems import baird, walk

DOUBLE = torch.float64


# ---------------------------------------------------------------------- lanes and threads


@pytest.mark.parametrize(("lanes", "threads"), [(5, 2), (7, 3), (16, 5), (3, 8), (1, 4), (6, 3)])
def test_every_lane_is_run_once_however_many_threads_there_are(lanes, threads):
    run = []
    in_parts(lambda begin, end: run.extend(range(begin, end)), lanes, threads)
    assert sorted(run) == list(range(lanes))


def test_a_lane_is_finite_until_the_step_at_which_it_dies_and_gone_behind_it():
    """TD on Baird's star. `died` counts the steps before the one that failed; the last of them may overflow."""
    table, features, theta = baird()

    def run(snapshots=()):
        engine = LinearEngine(rules.td, table, features, ValueTarget())
        state = engine.start(theta, lane_streams(2, range(3)))
        return state, engine.run(state, 3000, 1.5, 0.1, snapshots=snapshots)

    died = run()[0].died
    assert died.min() > 0
    for lane, step in enumerate(died):
        state, curves = run([step - 1, step, step + 1])
        assert state.died.tolist() == died.tolist()
        assert np.isfinite(curves.theta[0, lane]).all()
        assert not np.isnan(curves.theta[1, lane]).all()
        assert np.isnan(curves.theta[2, lane]).all()


# ---------------------------------------------------------------------- ties


@pytest.mark.parametrize("target", [ValueTarget(), CdfTarget(-3, 3, 4)], ids=["value", "cdf"])
def test_of_equal_next_actions_the_first_is_greedy(target):
    """Actions 1 and 2 are the same and better than 0; θ follows the next prediction of the one that is taken."""
    engine = ReplayEngine(rules.greedy_gq(1.0), (2,), target, dtype=DOUBLE, actions=3)
    each = engine.sizes[-1] // 3
    layer = np.zeros((3, 3, each))  # [inputs and bias, actions, logits]
    layer[2, 0, 0], layer[2, 1:, -1] = (-1.0, 1.0) if each == 1 else (2.0, 2.0)
    theta = layer.reshape(1, -1)
    w = np.random.default_rng(0).normal(size=theta.shape)
    x = np.ones((1, 1, 2), dtype=np.float32)
    drawn = Transitions(x, 2 * x, np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1)), np.full((1, 1), 0.9))
    found = engine.gradients(theta, w, drawn)[0].reshape(3, 3, each)
    assert np.abs(found[:, 1]).max() > 1e-3
    assert (found[:, 2] == 0).all()


def test_of_equal_actions_the_first_is_taken():
    engine = SmallEngine(rules.gtd2, (5, 4), ValueTarget())
    lanes = Evaluators(engine, np.zeros((3, 1, engine.weights)), actions=3, episodes=1, epsilon=0.3)
    choice = lanes.act(np.ones((3, 2)), np.array([0.9, 0.1, 0.1]), np.array([0.9, 0.1, 0.9]))
    assert choice.action.tolist() == [0, 0, 2]
    assert choice.rho.tolist() == [1.0] * 3


# ---------------------------------------------------------------------- far ranges


def test_softplus_is_itself_up_to_20_and_the_identity_beyond():
    """Of one unit and one output: at 10 it is 5e-5 from the identity, at 20 2e-9. From there on torch leaves it out."""
    engine = ReplayEngine(rules.td, (1, 1), ValueTarget(), dtype=DOUBLE, actions=1, activation="softplus")
    a = np.array([-40.0, -3.0, 0.0, 5.0, 9.0, 10.5, 12.0, 15.0, 18.0, 19.9, 20.1, 30.0])
    theta = np.tile([1.0, 0.0, 1.0, 0.0], (len(a), 1))  # the weight and the bias of both layers
    found = engine.values(theta, a[:, None])[:, 0]
    right = np.where(a > 20, a, np.logaddexp(0.0, a))
    np.testing.assert_allclose(found, right, rtol=1e-13, atol=0)
    torchs = MlpEngine(rules.td, (1, 1), ValueTarget(), activation="softplus").predict(
        engine.layers(theta), torch.as_tensor(a)[:, None, None]
    )
    np.testing.assert_allclose(torchs[:, 0, 0].numpy(), right, rtol=1e-13, atol=0)


@pytest.mark.parametrize("logit", [-1e4, -800.0, -40.0, 0.0, 40.0, 800.0])
def test_a_pinned_logit_is_one_of_them_however_far_the_others_are(logit):
    """Three atoms at 0, 1 and 2: two logits that are equal, and the last one at 0."""
    target = CdfTarget(0.0, 2.0, 3)
    engine = ReplayEngine(rules.td, (1,), target, dtype=DOUBLE, actions=1, pinned=True)
    theta = np.array([[0.0, 0.0, logit, logit]])  # no weight of the input; the biases
    share = math.exp(min(logit, 0.0)) / (2 * math.exp(min(logit, 0.0)) + math.exp(-max(logit, 0.0)))
    found = engine.values(theta, np.ones((1, 1)))
    assert found[0, 0] == pytest.approx(share + 2 * (1 - 2 * share), rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------------- snapshots


@pytest.mark.parametrize("kind", ["layers", "module"])
def test_snapshots_are_of_their_steps_and_not_of_the_last(kind):
    """A run of nine steps, against runs that end where the snapshots are."""
    target = ValueTarget()

    def run(steps, snapshots):
        if kind == "layers":
            engine = MlpEngine(rules.gtd2, (5, 4), target)
            theta = engine.init(generators(0, range(2)))
        else:
            with torch.random.fork_rng():
                torch.manual_seed(0)
                engine = ModuleEngine(rules.gtd2, torch.nn.Linear(5, 1, dtype=DOUBLE))
            theta = engine.init(2)
        loop = TorchLoop(engine, walk(), np.eye(5), target)
        state = loop.start(theta, lane_streams(0, range(2)))
        return state, loop.run(state, steps, 0.1, 0.2, snapshots=snapshots)

    _, curves = run(9, [0, 4, 9])
    for i, steps in enumerate((0, 4, 9)):
        state, _ = run(steps, [])
        for kept, there in ((curves.theta[i], state.theta), (curves.w[i], state.w)):
            pairs = zip(kept.values(), there.values()) if kind == "module" else zip(kept, there)  # noqa: B905
            assert all(torch.equal(one, other) for one, other in pairs)


# ---------------------------------------------------------------------- first weights


def test_first_weights_are_uniform_within_one_over_the_root_of_the_inputs():
    """Of draws in [0, 1), one after the other: layer by layer, row by row, biases last. A bias is no input."""
    sizes, target = (7, 4, 3), CdfTarget(-2, 2, 6)
    draws = generators(3, range(2), purpose="first")
    expected = []
    for stream in draws:
        layers = [(stream.random((rows + 1, n)) * 2 - 1) / math.sqrt(rows) for rows, n in ((7, 4), (4, 3), (3, 6))]
        expected.append(np.concatenate([layer.ravel() for layer in layers]))
    small, mlp, agents = (
        kind(rules.gtd2, sizes, target, **more)
        for kind, more in ((SmallEngine, {}), (MlpEngine, {}), (ReplayEngine, {"dtype": DOUBLE}))
    )
    found = [
        small.init(generators(3, range(2), purpose="first"))[:, 0],
        small.flat(mlp.init(generators(3, range(2), purpose="first")))[:, 0],
        agents.start(generators(3, range(2), purpose="first")),
    ]
    for each in found:
        np.testing.assert_allclose(each, expected, rtol=0, atol=1e-15)
