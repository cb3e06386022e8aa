"""The oracle's two heavy numbers, and the command line's first answer."""

import subprocess
import sys

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.streams import generators
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.oracle.objectives import Objective, flat, mlp
from dgtd.harness.plugins import find_problem
from tests.benchmarks.lines import report


@pytest.mark.benchmark(group="oracle")
def test_exact_d_mspbe_of_a_network(benchmark):
    problem = find_problem("random_mdp(states=100, features=20)")
    target = problem.target("cdf", atoms=51, linear=False)
    engine = MlpEngine(rules.gtd2, (20, 20), target)
    objective = Objective(problem.mdp, target, mlp(engine, problem.mdp.features))
    theta = flat(engine.init(generators(0, [0])))
    assert 1400 <= len(theta) <= 1600
    assert np.isfinite(benchmark.pedantic(objective.value, (theta,), rounds=1))
    seconds = benchmark.stats.stats.max
    report(benchmark, f"exact D-MSPBE, 100 states × 51 atoms × {len(theta)} parameters, seconds", seconds, "≤ 3")
    assert seconds <= 3


@pytest.mark.benchmark(group="oracle")
@pytest.mark.parametrize(
    ("place", "kind", "rule", "alpha", "beta"),
    [
        ("random_walk", "cdf", "gtd2", 1.0, 0.5),
        ("random_walk", "cdf", "td", 0.5, 0.5),
        ("random_mdp(states=120, features=100)", "value", "td", 0.01, 0.01),
        ("random_mdp(states=120, features=100)", "value", "gtd2", 0.02, 0.02),
    ],
)
def test_the_mean_square_bracket_at_d_100(benchmark, place, kind, rule, alpha, beta):
    problem = find_problem(place)
    dynamics = Dynamics(rules.find_rule(rule), problem.mdp, problem.target(kind), alpha, beta)
    assert dynamics.size == 100
    found = benchmark.pedantic(mean_square, (dynamics,), rounds=1)
    seconds = benchmark.stats.stats.max
    report(
        benchmark,
        f"mean-square bracket, d = 100, {rule} on {place}, radius {found.radius:.4f}, seconds",
        seconds,
        "≤ 10",
    )
    assert abs(found.radius - 1) > 1e-3
    assert (found.low > 1) or (found.high < 1)
    assert seconds <= 10


@pytest.mark.benchmark(group="command line")
def test_help_answers_at_once(benchmark):
    command = [sys.executable, "-c", "from dgtd.harness.cli import main; main(['--help'])"]
    benchmark.pedantic(lambda: subprocess.run(command, capture_output=True, check=True), rounds=5)
    seconds = benchmark.stats.stats.min
    report(benchmark, "dgtd --help, seconds", seconds, "≤ 0.3")
    assert seconds <= 0.3
