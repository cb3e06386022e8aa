"""Updates of networks from batches that come from outside: the learner that is chosen is the faster one."""

from functools import partial

import numpy as np
import pytest
import torch

from dgtd.algorithms.fast.mlp import TorchLearner
from dgtd.algorithms.fast.network_batches import BatchLearner, Lesson, Update, learner_for
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generators
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.cost.fits import alternating
from tests.benchmarks.lines import report

TINY = 1e-9  # step sizes: nothing may diverge while it is timed


@pytest.mark.benchmark(group="batches")
@pytest.mark.parametrize("lanes", [1, 12])
@pytest.mark.parametrize(
    ("sizes", "atoms", "batch"),
    [((6, 50), 30, 16), ((64, 512, 512), 50, 1), ((64, 512, 512), 50, 32)],
    ids=["6-50-30, 16", "64-512-512-50, 1", "64-512-512-50, 32"],
)
def test_the_chosen_learner_is_the_faster_one(benchmark, sizes, atoms, batch, lanes):
    torch.set_num_threads(1)
    engine = SmallEngine(gtd2, sizes, CdfTarget(0, 10, atoms))
    theta = engine.init(generators(0, range(lanes)))
    w, ones, rates = np.zeros_like(theta), np.ones((lanes, batch)), np.full(lanes, TINY)
    x, x_next = np.random.default_rng(0).normal(size=(2, lanes, batch, sizes[0]))
    lesson = Lesson(x, x_next, ones, 0.9 * ones, ones)
    update = Update(rates, rates, 0.0, np.inf, 0, np.full(lanes, -1), np.empty((lanes, 1)))
    compiled, in_torch = (
        partial(kind(engine).learn, theta, w, lesson, update) for kind in (BatchLearner, TorchLearner)
    )
    compiled(), in_torch()
    ratio = alternating(in_torch, compiled, 9, 0.1)
    chosen = type(learner_for(engine, batch))
    name = f"{'-'.join(map(str, (*sizes, atoms)))}, {batch} transitions, {lanes} lanes"
    report(benchmark, f"torch / compiled, {name}; chosen: {chosen.__name__}", ratio, "-")
    benchmark(compiled if chosen is BatchLearner else in_torch)
    assert (ratio > 1) == (chosen is BatchLearner)
