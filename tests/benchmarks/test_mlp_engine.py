"""The mlp engine against an eager autograd + SGD step of the same network, and against the module engine."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from algorithms import rules
from algorithms.engines.mlp import MlpEngine
from algorithms.engines.module import ModuleEngine
from algorithms.engines.tensors import TensorBatch
from algorithms.targets import CdfTarget
from algorithms.transitions import Batch
from harness.timing import alternating
from tests.benchmarks.lines import report

NETWORKS = [((6, 50), 30), ((64, 512, 512), 50), ((256, 2000, 2000), 50), ((512, 4096, 4096), 50)]


def batch_of(target, inputs, size, lanes=1):
    rng = np.random.default_rng(0)
    x, x_next = rng.normal(size=(2, lanes, size, inputs))
    ones = np.ones((lanes, size))
    return TensorBatch.of(Batch(x, x_next, target.shift(ones, 0.9 * ones), ones), torch.float32)


def network(sizes, outputs):
    layers = []
    for rows, columns in pairwise(sizes):
        layers += [torch.nn.Linear(rows, columns), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], outputs))


def backprop_step(sizes, atoms, x):
    """Forward, backward and SGD on a CDF head, as a user writes it."""
    net = network(sizes, atoms)
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-6)
    goal = torch.rand(len(x), atoms)

    def step():
        optimiser.zero_grad()
        loss = (torch.softmax(net(x), -1).cumsum(-1) - goal).square().sum() / len(x)
        loss.backward()
        optimiser.step()

    return step


def gtd2_step(sizes, atoms, size):
    target = CdfTarget(0, 10, atoms)
    engine = MlpEngine(rules.gtd2, sizes, target, dtype=torch.float32)
    theta = engine.init(1)
    w, batch = engine.zeros(theta), batch_of(target, sizes[0], size)
    return lambda: engine.step(theta, w, batch, 1e-6, 1e-6), batch


@pytest.mark.benchmark(group="distributional GTD2 step / backprop step")
@pytest.mark.parametrize(("size", "bound"), [(1, 1.8), (32, 3.0)])
def test_a_whole_step_against_eager_backprop(benchmark, size, bound):
    ratios = []
    for sizes, atoms in NETWORKS:
        ours, batch = gtd2_step(sizes, atoms, size)
        theirs = backprop_step(sizes, atoms, batch.x[0])
        ours()
        theirs()
        ratios.append(alternating(ours, theirs))
        report(benchmark, f"step / backprop, batch {size}, {'-'.join(map(str, (*sizes, atoms)))}", ratios[-1], "-")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    report(benchmark, f"step / backprop, batch {size}, geometric mean", mean, f"≤ {bound}")
    benchmark(gtd2_step(*NETWORKS[0], size)[0])
    assert mean <= bound


@pytest.mark.benchmark(group="30 lanes")
def test_stacked_lanes_against_the_module_engine_lane_by_lane(benchmark):
    sizes, atoms, lanes, size = (4, 64, 64), 80, 30, 32
    target = CdfTarget(0, 10, atoms)
    engine = MlpEngine(rules.gtd2, sizes, target, dtype=torch.float32)
    theta = engine.init(lanes)
    w, batch = engine.zeros(theta), batch_of(target, sizes[0], size, lanes)
    module = ModuleEngine(rules.gtd2, network(sizes, atoms), engine.head.predict)
    ones = [(p := module.init(1), module.zeros(p)) for _ in range(lanes)]
    single = batch_of(target, sizes[0], size)

    def ours():
        engine.step(theta, w, batch, 1e-4, 1e-4)

    def theirs():
        for parameters, aux in ones:
            module.step(parameters, aux, single, 1e-4, 1e-4)

    ours()
    theirs()
    speed = 1 / alternating(ours, theirs)
    report(benchmark, "module engine looped / mlp engine, 30 lanes, batch 32, 4-64-64-80", speed, "≥ 12")
    benchmark(ours)
    assert speed >= 12
