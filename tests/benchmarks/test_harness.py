"""What the harness costs on top of the runs, and how fast a large store answers."""

import time

import numpy as np
import pytest

from dgtd.harness.commands.carry_out import progress
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lane
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import COHORT, Learner, Outcome, PlaceSpec, Probe, Request, RunSpec, log_times
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Cohort, Result
from tests.benchmarks.lines import report


def spec(**changes):
    return RunSpec(PlaceSpec("baird"), Learner(reference("gtd2"), 0.01, 0.05), Probe(log_times(1_000_000)), **changes)


@pytest.mark.benchmark(group="harness")
def test_overhead_of_a_60_second_run(benchmark, tmp_path):
    """Wall time outside of the cohorts themselves: specification, store, progress."""
    request = Request(spec(), 16)
    with Store(tmp_path / "warm.sqlite") as store:
        start = time.perf_counter()
        execute([request], store, InProcess)
        each = time.perf_counter() - start
    seeds = COHORT * max(2, round(60 / each))

    def whole():
        with Store(tmp_path / "s.sqlite") as store, progress("overhead") as tick:
            execute([Request(spec(root_seed=1), seeds)], store, InProcess, progress=tick)

    benchmark.pedantic(whole, rounds=1)
    wall = benchmark.stats.stats.max
    with Store(tmp_path / "s.sqlite") as store:
        inside = sum(lane.seconds for lane in store.lanes(run_hash(spec(root_seed=1))))
    report(benchmark, f"harness overhead of a {wall:.0f} s run, per cent", 100 * (wall - inside) / wall, "≤ 1")
    assert wall - inside <= 0.01 * wall


@pytest.mark.benchmark(group="harness")
def test_a_hundred_thousand_lanes_are_listed_at_once(benchmark, tmp_path):
    curves = np.ones((25, 3))
    with Store(tmp_path / "s.sqlite") as store:
        for run in range(25):
            one = spec(root_seed=run)
            lanes = [Lane(seed, Outcome.BUDGET_SPENT, -1, curves) for seed in range(4000)]
            store.save(Cohort(one, 0), Result(run_hash(one), Outcome.BUDGET_SPENT, tuple(lanes)))
        runs = benchmark.pedantic(store.runs, rounds=3)
    assert sum(sum(run["outcomes"].values()) for run in runs) == 100_000
    seconds = benchmark.stats.stats.min
    report(benchmark, "100 000 stored lanes listed, seconds", seconds, "≤ 1")
    assert seconds <= 1
