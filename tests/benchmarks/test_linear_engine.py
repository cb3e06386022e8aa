"""The linear engine on Baird's star: against a plain numpy loop, over atoms, over threads, and its first compile."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import Sampler
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.cost.fits import alternating
from tests.benchmarks.lines import report
from tests.benchmarks.numpy_loops import tabled_loop, value_loop
from tests.problems import baird

STEPS = 2000


def engine_run(target, theta, lanes, steps, threads):
    table, features, _ = baird()
    engine = LinearEngine(rules.gtd2, table, features, target)
    state = engine.start(theta, lane_streams(0, range(lanes)))
    return lambda: engine.run(state, steps, 2**-8, 2**-8, threads=threads)


@pytest.mark.benchmark(group="linear engine")
def test_against_a_plain_numpy_loop(benchmark):
    ours = engine_run(ValueTarget(), baird()[2], 64, STEPS, threads=1)
    ours()
    ratio = 64 / alternating(ours, value_loop(STEPS))
    report(benchmark, "numpy loop / linear engine, GTD2 on Baird's star, one thread", ratio, "≥ 150")
    known = Sampler(baird()[0], lane_streams(0, range(1))).draw(STEPS)[:, 0].tolist()
    undrawn = 64 / alternating(ours, value_loop(STEPS, known))
    report(benchmark, "the same, but for the loop every transition is drawn beforehand", undrawn, "-")
    tabled = 64 / alternating(ours, tabled_loop(STEPS, known))
    report(benchmark, "and everything that depends on the transition alone is tabled", tabled, "-")
    benchmark(ours)
    report(benchmark, "ns per lane-step", benchmark.stats.stats.min / 64 / STEPS * 1e9, "-")
    assert ratio >= 150


@pytest.mark.benchmark(group="linear engine")
def test_cost_per_parameter_does_not_grow_with_the_atoms(benchmark):
    one = engine_run(ValueTarget(), np.zeros((1, 8)), 64, STEPS, threads=1)
    many = engine_run(CdfTarget(-1, 1, 51), np.zeros((50, 8)), 64, STEPS // 50, threads=1)
    one()
    ratio = alternating(many, one)
    report(benchmark, "cost per parameter, 51 atoms / one value", ratio, "≤ 1")
    benchmark(many)
    assert ratio <= 1


@pytest.mark.benchmark(group="linear engine")
def test_two_threads_against_one(benchmark):
    one, two = (engine_run(ValueTarget(), baird()[2], 256, STEPS, threads) for threads in (1, 2))
    one()
    two()
    ratio = 1 / alternating(two, one, pairs=15)
    report(benchmark, "one thread / two threads, 256 lanes", ratio, "≥ 1.4")
    benchmark(two)
    assert ratio >= 1.4


@pytest.mark.benchmark(group="linear engine")
def test_the_first_compile(benchmark, tmp_path):
    """A fresh cache folder: every kernel is compiled, once."""
    code = (
        "from tests.benchmarks.test_linear_engine import *; import dgtd.algorithms.fast.kernels as k;"
        "engine_run(ValueTarget(), baird()[2], 2, 2, 1)(); k.directions.dispatcher;"
        "from dgtd.algorithms.table import Sampler; Sampler(baird()[0], lane_streams(0, range(2))).draw(2)"
    )
    start = partial(subprocess.run, [sys.executable, "-c", code], check=True, env={"DGTD_CACHE": str(tmp_path)})
    benchmark.pedantic(start, rounds=2)
    first, second = benchmark.stats.stats.data
    report(benchmark, "first compile of every kernel, seconds more than a second start", first - second, "≤ 20")
    assert first - second <= 20
