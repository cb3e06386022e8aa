"""Runs of the torch engines: the linear engine's numbers, on the linear engine's transitions."""

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.stepping import RobbinsMonro
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.problems import baird, walk

LANES = 3


def linear_and_torch(each, steps, alpha, beta, **options):
    """Baird's star by the linear engine, by a bias-free network of depth 0, and by a module."""
    table, features, theta = baird()
    streams = lane_streams(2, range(LANES))
    engine = LinearEngine(each, table, features, ValueTarget())
    state = engine.start(theta, streams)
    curves = engine.run(state, steps, alpha, beta, snapshots=[steps // 2, steps], **options)

    module = torch.nn.Linear(8, 1, bias=False, dtype=torch.float64)
    other = ModuleEngine(each, module)
    parameters = {"weight": torch.as_tensor(theta).expand(LANES, 1, 8).clone()}
    loop = TorchLoop(other, table, features, ValueTarget())
    torch_state = loop.start(parameters, streams)
    torch_curves = loop.run(torch_state, steps, alpha, beta, snapshots=[steps // 2, steps], **options)
    return state, curves, torch_state, torch_curves


@pytest.mark.slow
@pytest.mark.parametrize("each", [rules.gtd2, rules.tdrc(1.0)], ids=lambda r: r.name)
@pytest.mark.parametrize("options", [{}, {"radius": 5.0}, {"schedule": RobbinsMonro(offset=10.0)}], ids=str)
def test_a_module_run_is_the_linear_run(each, options):
    state, curves, torch_state, found = linear_and_torch(each, 300, 0.005, 0.05, **options)
    for i in range(2):
        np.testing.assert_allclose(found.theta[i]["weight"].numpy(), curves.theta[i], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.w[1]["weight"].numpy(), state.w, rtol=1e-9, atol=1e-11)
    assert torch_state.died.tolist() == [-1] * LANES


@pytest.mark.slow
def test_deaths_have_the_linear_engines_dates():
    state, _, found, _ = linear_and_torch(rules.td, 3000, 1.5, 0.1)
    assert (state.died >= 0).all()
    assert found.died.tolist() == state.died.tolist()


def test_parts_of_a_run_join():
    """Schedules and dates go on where the last part ended."""
    engine, target = MlpEngine(rules.gtd2, (5, 4), ValueTarget()), ValueTarget()
    loop, streams = TorchLoop(engine, walk(), np.eye(5), target), lane_streams(0, range(3))
    whole, parts = (loop.start(engine.init(generators(0, range(3))), streams) for _ in range(2))
    schedule = RobbinsMonro(offset=10.0)
    loop.run(whole, 300, 0.1, 0.2, schedule=schedule)
    for steps in (1, 299):
        loop.run(parts, steps, 0.1, 0.2, schedule=schedule)
    assert whole.steps == parts.steps == 300
    for a, b in zip(whole.theta, parts.theta, strict=True):
        assert torch.equal(a, b)
    with pytest.raises(ValueError, match=r"snapshots must be in \[300, 310\], got 311 … 311"):
        loop.run(whole, 10, 0.1, 0.2, snapshots=[311])
    with pytest.raises(ValueError, match="snapshots must be whole numbers"):
        loop.run(whole, 10, 0.1, 0.2, snapshots=[300.5])
    with pytest.raises(ValueError, match="steps must be at least 0, got -1"):
        loop.run(whole, -1, 0.1, 0.2)
    with pytest.raises(ValueError, match="theta must have shape"):
        loop.start(engine.init(generators(0, range(2))), streams)


def test_a_lane_run_alone_equals_the_lane_among_64_and_death_stays_at_home():
    target = CdfTarget(-2, 2, 5)
    engine = MlpEngine(rules.gtd2, (5, 4), target)
    theta = engine.init(generators(0, range(64)))
    theta[0][3] = 1e300  # this lane overflows at once
    streams = lane_streams(0, range(64))
    begin = [part[37:38].clone() for part in theta]
    loop = TorchLoop(engine, walk(), np.eye(5), target)
    found, alone = loop.start(theta, streams), loop.start(begin, streams[37:38])
    for state in (found, alone):
        loop.run(state, 40, 0.05, 0.2)
    for many, one in zip(found.theta, alone.theta, strict=True):
        torch.testing.assert_close(many[37:38], one, rtol=1e-12, atol=1e-14)
    assert (found.died >= 0).sum() == (found.died[3] >= 0)


def test_a_lanes_first_weights_do_not_depend_on_its_neighbours():
    """In every layer: from one stream for all, the second layer would depend on how many lanes there are."""
    engine = MlpEngine(rules.gtd2, (5, 4), CdfTarget(-2, 2, 5))
    few, many = (engine.init(generators(7, range(lanes))) for lanes in (2, 3))
    for a, b in zip(few, many, strict=True):
        assert torch.equal(a, b[:2])
        assert not torch.equal(a[0], a[1])


def test_inputs_must_fit_the_table():
    engine = MlpEngine(rules.gtd2, (5, 4), ValueTarget())
    with pytest.raises(ValueError, match=r"inputs must have shape \(5, any\), got \(4, 4\)"):
        TorchLoop(engine, walk(), np.eye(4), ValueTarget())
    loop = TorchLoop(engine, walk(), np.eye(5), ValueTarget())
    state = loop.start(engine.init(generators(0, [0])), lane_streams(0, [0]))
    with pytest.raises(ValueError, match="radius must be positive, got -1"):
        loop.run(state, 1, 0.1, 0.1, radius=-1)
