"""The mlp engine against an eager autograd + SGD step of the same network, and against the module engine."""

import math

import pytest

from dgtd.algorithms.rules import gtd2
from dgtd.harness.cost.fits import alternating
from dgtd.harness.cost.peers import Network, backprop, mlp_step, module_step
from tests.benchmarks.lines import report

SHAPES = [(6, (50,), 30), (64, (512, 512), 50), (256, (2000, 2000), 50), (512, (4096, 4096), 50)]


@pytest.mark.benchmark(group="distributional GTD2 step / backprop step")
@pytest.mark.parametrize(("size", "bound"), [(1, 1.8), (32, 3.0)])
def test_a_whole_step_against_eager_backprop(benchmark, size, bound):
    ratios = []
    for shape in SHAPES:
        network = Network(*shape, size)
        ours, theirs = mlp_step(gtd2, network).call, backprop(network).call
        ours()
        theirs()
        ratios.append(alternating(ours, theirs))
        report(benchmark, f"step / backprop, batch {size}, {network}", ratios[-1], "-")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    report(benchmark, f"step / backprop, batch {size}, geometric mean", mean, f"≤ {bound}")
    benchmark(mlp_step(gtd2, Network(*SHAPES[0], size)).call)
    assert mean <= bound


@pytest.mark.benchmark(group="30 lanes")
def test_stacked_lanes_against_the_module_engine_lane_by_lane(benchmark):
    network, lanes = Network(4, (64, 64), 80, 32), 30
    ours = mlp_step(gtd2, network, lanes).call
    ones = [module_step(gtd2, network).call for _ in range(lanes)]

    def theirs():
        for call in ones:
            call()

    ours()
    theirs()
    speed = 1 / alternating(ours, theirs)
    report(benchmark, f"module engine looped / mlp engine, 30 lanes, batch 32, {network}", speed, "≥ 12")
    benchmark(ours)
    assert speed >= 12
