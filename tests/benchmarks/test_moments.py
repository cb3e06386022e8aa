"""What an exact learning curve costs per step, and a whole exact sweep."""

import subprocess
import sys
import time

import numpy as np
import pytest

from dgtd.algorithms.rules import gtd2
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.plugins import find_problem
from tests.benchmarks.lines import report

CASES = [("boyan", "value", 3000, 30.0), ("baird", "value", 1000, 120.0), ("boyan", "cdf", 60, 6000.0)]


@pytest.mark.benchmark(group="exact curves")
@pytest.mark.parametrize(("place", "kind", "steps", "bound"), CASES)
def test_a_step_of_an_exact_curve(benchmark, place, kind, steps, bound):
    problem = find_problem(place)
    moments = Moments(gtd2, problem.mdp, problem.target(kind, 21))
    moments.run(0.005, 0.02, [1])

    def seconds(count):
        start = time.perf_counter()
        moments.run(0.005, 0.02, [count], metrics=("rmspbe",))
        return time.perf_counter() - start

    each = min((seconds(2 * steps) - seconds(steps)) / steps for _ in range(5))  # without what is done once
    report(benchmark, f"exact curve, {place}, {kind}, µs a step", 1e6 * each, f"≤ {bound:g}")
    benchmark(lambda: seconds(steps))
    assert 1e6 * each <= bound


@pytest.mark.benchmark(group="exact curves")
def test_a_whole_sweep(benchmark, tmp_path):
    alphas, ratios = np.geomspace(1e-3, 1, 15), np.geomspace(0.1, 30, 15)
    words = [
        "sweep", "--exact", "--problem", "boyan", "--rule", "gtd2", "--steps", "10000", "--workers", "2",
        "--alphas", ",".join(f"{each:.6g}" for each in alphas), "--ratios", ",".join(f"{each:.6g}" for each in ratios),
        "--store", str(tmp_path / "s.sqlite"), "--json",
    ]  # fmt: skip
    command = [sys.executable, "-c", "from dgtd.harness.cli import main; main()", *words]
    benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True), rounds=1)
    seconds = benchmark.stats.stats.max
    report(benchmark, "exact sweep of 15 × 15 step sizes on Boyan, 10⁴ steps, seconds", seconds, "≤ 60")
    assert seconds <= 60
