"""The loops that speed is measured against take the engines' steps."""

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.benchmarks import numpy_loops
from tests.problems import baird


@pytest.mark.parametrize("loop", [numpy_loops.value_loop, numpy_loops.tabled_loop])
def test_steps_on_values(loop):
    table, features, start = baird()
    engine = LinearEngine(rules.gtd2, table, features, ValueTarget())
    state = engine.start(start, lane_streams(0, range(1)))
    drawn = engine.start(start, lane_streams(0, range(1))).sampler.draw(200)[:, 0]
    engine.run(state, len(drawn), numpy_loops.ALPHA, numpy_loops.BETA)
    theta, w = loop(len(drawn), drawn.tolist())()
    assert state.theta[0, 0] == pytest.approx(theta, abs=1e-11)
    assert state.w[0, 0] == pytest.approx(w, abs=1e-11)


def test_linear_steps():
    table, features, _ = baird()
    target = CdfTarget(-1, 1, 7)
    engine = LinearEngine(rules.gtd2, table, features, target)
    theta = np.random.default_rng(0).normal(size=(target.outputs, 8))
    state = engine.start(theta, lane_streams(0, range(1)))
    drawn = engine.start(theta, lane_streams(0, range(1))).sampler.draw(40)[:, 0]
    w = np.zeros_like(theta)
    shift = target.shift(table.reward, table.discount)
    for outcome in drawn:
        numpy_loops.linear_step(
            theta, w, features[table.state[outcome]], features[table.next_state[outcome]],
            shift.matrix()[outcome], shift.constant[outcome], table.rho[outcome], 0.01, 0.02,
        )  # fmt: skip
    engine.run(state, len(drawn), 0.01, 0.02)
    assert state.theta[0] == pytest.approx(theta, abs=1e-12)
    assert state.w[0] == pytest.approx(w, abs=1e-12)
    assert (table.rho[drawn] > 0).sum() > 2  # or w alone would have moved


def test_a_network_step():
    target = CdfTarget(0, 10, 6)
    engine = MlpEngine(rules.gtd2, (3, 4), target)
    theta = engine.init(generators(0, [0]))
    w = engine.init(generators(1, [0]))
    rng = np.random.default_rng(0)
    x, x_next = rng.normal(size=(2, 3))
    shift = target.shift(1.0, 0.9)
    loop_theta, loop_w = ([part[0].numpy().copy() for part in parts] for parts in (theta, w))
    numpy_loops.mlp_step(
        loop_theta, loop_w, np.append(x, 1), np.append(x_next, 1), shift.matrix(), shift.constant, 1.5, 0.3, 0.2
    )
    one = np.ones((1, 1))
    batch = Batch(x[None, None], x_next[None, None], target.shift(one, 0.9 * one), 1.5 * one)
    engine.step(theta, w, batch, 0.3, 0.2)
    for ours, theirs in zip([*theta, *w], [*loop_theta, *loop_w], strict=True):
        assert ours[0].numpy() == pytest.approx(theirs, abs=1e-12)
