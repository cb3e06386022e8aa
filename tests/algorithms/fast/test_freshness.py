"""Compiled code: cached for the built-in rules, never stale for a rule that changed."""

import os
import shutil
from pathlib import Path

import pytest

from tests import forked

START = """
import numpy as np
from dgtd.algorithms import rules
from dgtd.algorithms.fast import kernels
from dgtd.algorithms import streams
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.targets import ValueTarget
from tests.problems import baird

def final(rule):
    table, features, theta = baird()
    engine = LinearEngine(rule, table, features, ValueTarget())
    state = engine.start(theta, lane_streams(0, range(2)))
    engine.run(state, 50, 0.01, 0.05)
    return state.theta.sum()
"""

COUNT = """
for rule in (*rules.RULES.values(), rules.greedy_gq(0.5), rules.tdrc(1.0)):
    final(rule)
used = [kernels.run, streams.start_states]
print(sum(sum(kernel.dispatcher.stats.cache_misses.values()) for kernel in used))
"""


DRAW = """
from dgtd.algorithms.table import Sampler
from dgtd.algorithms.streams import lane_streams
from tests.problems import baird
print(Sampler(baird()[0], lane_streams(0, range(2))).draw(20).tolist())
"""


def run(code: str, cwd: Path | None = None) -> str:
    root = Path(__file__).parents[3]
    done = forked.run(f"import sys; sys.path.insert(0, {str(root)!r})\n" + START + code, cwd=cwd or root)
    done.check_returncode()
    return done.stdout.strip()


@pytest.mark.slow
def test_a_second_start_compiles_nothing_for_the_built_in_rules():
    run(COUNT)
    assert run(COUNT) == "0"


@pytest.mark.slow
def test_a_kernel_whose_helper_changed_in_another_module_runs_as_it_now_is(tmp_path):
    """numba's own cache looks at the kernel's file alone, and would go on running the old helper."""
    root = Path(__file__).parents[3]
    for room in ("dgtd", "algorithms", "harness", "tests"):
        shutil.copytree(root / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    kernel, helper = (tmp_path / "algorithms" / name for name in ("streams.py", "uniform.py"))
    whole = kernel.read_text()
    start = whole.index("@inlined", whole.index("class Sampling"))
    end = whole.index("@inlined", start + 1)
    source = "import numpy as np\n\nfrom dgtd.algorithms.fast.compiling import inlined\n\n\n" + whole[start:end]
    kernel.write_text(whole[:start] + "from dgtd.algorithms.uniform import uniform\n\n\n" + whole[end:])
    results = []
    for changed in (source, source.replace("uint64(11)", "uint64(12)"), source):
        helper.write_text(changed)
        environment = os.environ | {"DGTD_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = forked.run(DRAW, cwd=tmp_path, env=environment)
        done.check_returncode()
        results.append(done.stdout)
    assert results[0] == results[2] != results[1]


@pytest.mark.slow
@pytest.mark.parametrize("linear", [True, False])
def test_a_rule_whose_source_changed_runs_as_it_now_is(tmp_path, linear):
    """Same file, same name, same process caches: only the source differs, and so must the numbers."""
    source = """
from dgtd.algorithms.rule import Cotangents, rule
@rule(linear={linear})
def mine(delta, u, rho):
    return Cotangents({scale} * -rho * delta{extra}, rho * u, rho * delta - u)
"""
    extra = "" if linear else " / (1 + abs(delta))"
    code = "sys.path.insert(0, '.'); import mine\nprint(repr(final(mine.mine)))"
    results = []
    for scale in ("1.0", "0.5", "1.0"):
        (tmp_path / "mine.py").write_text(source.format(linear=linear, scale=scale, extra=extra))
        results.append(run(code, tmp_path))
    assert results[0] == results[2] != results[1]
