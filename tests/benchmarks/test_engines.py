"""One distributional GTD2 step of each engine against its oracle, eager backprop, and a plain numpy loop."""

from functools import partial

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.cost import peers
from dgtd.harness.cost.fits import alternating
from dgtd.harness.oracle import literal
from tests.benchmarks import numpy_loops
from tests.benchmarks.lines import report
from tests.benchmarks.test_linear_engine import engine_run
from tests.benchmarks.test_small_engine import small_loop
from tests.problems import baird

NETWORK = peers.Network(6, (50,), 30)
LINEAR = CdfTarget(-1, 1, 30)
LANES, STEPS = 64, 100
LONG = 2000  # steps of a compiled network a call: a run hands over thousands at once


def linear():
    """(engine's call, its steps), and the peers' calls of one step, on Baird's features."""
    table, features, _ = baird()
    n, k = LINEAR.outputs, features.shape[1]
    shift, rho = LINEAR.shift(table.reward, table.discount), 7.0
    T, t = shift.matrix()[0], shift.constant[0]
    theta, w = np.zeros((n, k)), np.zeros((n, k))
    module = torch.nn.Linear(k, n, bias=False)
    optimiser, goal = torch.optim.SGD(module.parameters(), lr=peers.SMALL), torch.rand(n)
    x, x_next = (torch.as_tensor(row) for row in features[:2])
    x32 = x.float()
    start = torch.zeros(n * k, dtype=torch.float64)
    sample = literal.Sample(x, x_next, torch.as_tensor(T), torch.as_tensor(t), rho)

    def oracle():
        literal.directions(rules.gtd2, partial(literal.linear, n), start, start, sample)

    def backprop():
        optimiser.zero_grad()
        (module(x32) - goal).square().sum().backward()
        optimiser.step()

    def loop():
        numpy_loops.linear_step(theta, w, features[0], features[1], T, t, rho, peers.SMALL, peers.SMALL)

    engine = engine_run(LINEAR, np.zeros((n, k)), LANES, STEPS, threads=1)
    return engine, LANES * STEPS, {"oracle": oracle, "backprop": backprop, "numpy loop": loop}


def network(step, lanes=1):
    """The same for an engine's step, made by `step`, on a network with one hidden layer."""
    data = NETWORK.data(dtype=torch.float64)
    x, x_next = (np.append(part[0, 0].numpy(), 1.0) for part in (data.x, data.x_next))
    shift = NETWORK.target.shift(1.0, 0.9)
    T, t = shift.matrix(), shift.constant
    rng = np.random.default_rng(0)
    theta = [rng.normal(size=size) / 3 for size in ((7, 50), (51, 30))]
    w = [np.zeros_like(part) for part in theta]

    def loop():
        numpy_loops.mlp_step(theta, w, x, x_next, T, t, 1.0, peers.SMALL, peers.SMALL)

    oracle, backprop = peers.explicit_jacobian(NETWORK).call, peers.backprop(NETWORK).call
    return step.call, lanes, {"oracle": oracle, "backprop": backprop, "numpy loop": loop}


def small():
    """The compiled loop, one lane, drawing its transitions; the peers take the same one again and again."""
    loop, state = small_loop((NETWORK.inputs, *NETWORK.hidden), NETWORK.atoms, 1)
    return network(peers.Step(lambda: loop.run(state, LONG, peers.SMALL, peers.SMALL, threads=1)), LONG)


ENGINES = {
    "linear": linear,
    "small": small,
    "mlp": lambda: network(peers.mlp_step(rules.gtd2, NETWORK)),
    "mlp, 30 lanes": lambda: network(peers.mlp_step(rules.gtd2, NETWORK, 30), 30),
    "module": lambda: network(peers.module_step(rules.gtd2, NETWORK)),
}


BOUNDS = {("small", "numpy loop"): 25, ("small", "backprop"): 30}


@pytest.mark.benchmark(group="one step")
@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_against_its_peers(benchmark, name):
    engine, steps, calls = ENGINES[name]()
    engine()
    ratios = {}
    for peer, call in calls.items():
        call()
        ratios[peer] = alternating(call, engine) * steps
        bound = BOUNDS.get((name, peer), 1 if peer == "oracle" else 0)
        report(benchmark, f"{peer} / engine: {name}", ratios[peer], f"> {bound}" if bound else "-")
    benchmark(engine)
    assert ratios["oracle"] > 1
    assert all(ratio > BOUNDS.get((name, peer), 0) for peer, ratio in ratios.items())
