"""A distributional GTD2 step against backprop + SGD fused by hand, call by call: the mlp engine, and a run's engine.

All work in float64, on one transition a step. The peer is as lean as torch allows: no autograd, products straight into
the weights, every buffer made once. Calls alternate one by one: in blocks of many calls the peer's weights stay in the
third-level cache at 2000 units and those of a rule that has w do not, since they are twice as many.
"""

from itertools import pairwise

import pytest
import torch

from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generators
from dgtd.harness.cost.fits import alternating
from dgtd.harness.cost.peers import SMALL, Network
from dgtd.harness.runs.trainers.networks import LARGEST_SMALL
from tests.benchmarks.lines import report
from tests.benchmarks.test_small_engine import small_loop

CASES = [
    (Network(64, (512, 512), 50), 2.8),
    (Network(256, (2000, 2000), 50), 2.4),
    (Network(512, (4096, 4096), 50), 2.4),
]
PAIRS = 41


def fused(network: Network):
    """One step on the squared Cramér distance to a random law."""
    torch.set_num_threads(1)
    source, sizes, kind = torch.Generator().manual_seed(0), network.widths, torch.float64
    layers = [
        torch.randn(rows + 1, columns, generator=source, dtype=kind) / rows**0.5 for rows, columns in pairwise(sizes)
    ]
    inputs = [torch.ones(1, rows + 1, dtype=kind) for rows in sizes[:-1]]
    units = [each[:, :-1] for each in inputs]
    units[0].copy_(network.data(dtype=kind).x[0])
    goal = torch.rand(1, network.atoms, generator=source, dtype=kind)

    @torch.no_grad()
    def step():
        for i, layer in enumerate(layers):
            sums = torch.mm(inputs[i], layer)
            if i < len(layers) - 1:
                torch.tanh(sums, out=units[i + 1])
        masses = torch.softmax(sums, -1)
        residual = torch.cumsum(masses, -1) - goal
        total = torch.cumsum(residual, -1)
        down = torch.ops.aten._softmax_backward_data(total[:, -1:] - total + residual, masses, -1, kind)
        for i in range(len(layers) - 1, -1, -1):
            below = torch.mm(down, layers[i][:-1].t()) if i else None
            layers[i].addmm_(inputs[i].t(), down, alpha=-2 * SMALL)
            if below is not None:
                down = torch.ops.aten.tanh_backward(below, units[i])

    return step


def of_mlp_engine(network: Network):
    """One step, as a user of the engine takes it."""
    engine = MlpEngine(gtd2, network.widths[:-1], network.target)
    theta = engine.init(generators(0, [0]))
    w, batch = engine.zeros(theta), network.data(dtype=torch.float64)
    return lambda: engine.step(theta, w, batch, SMALL, SMALL)


@pytest.mark.benchmark(group="fused backprop")
@pytest.mark.parametrize(("network", "bound"), CASES, ids=[str(network) for network, _ in CASES])
def test_the_mlp_engine_against_fused_backprop(benchmark, network, bound):
    ours, theirs = of_mlp_engine(network), fused(network)
    ours(), theirs()
    ratio = alternating(ours, theirs, PAIRS, block=0)
    report(benchmark, f"mlp engine / fused backprop, {network}", ratio, f"≤ {bound}")
    benchmark(ours)
    assert ratio <= bound


@pytest.mark.benchmark(group="fused backprop")
@pytest.mark.parametrize(("network", "bound"), CASES, ids=[str(network) for network, _ in CASES])
def test_against_fused_backprop(benchmark, network, bound):
    assert network.size <= LARGEST_SMALL  # so this is the engine of a run
    loop, state = small_loop((network.inputs, *network.hidden), network.atoms, 1)
    count = max(1, 2_000_000 // network.size)

    def ours():
        loop.run(state, count, SMALL, SMALL, threads=1)

    ours()
    ratio = alternating(ours, fused(network), PAIRS, block=0) / count
    report(benchmark, f"small engine / fused backprop, {network}", ratio, f"≤ {bound}")
    benchmark(ours)
    assert ratio <= bound
