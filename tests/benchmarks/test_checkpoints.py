"""What checkpoints cost: one write for thirty lanes with a full replay, as a share of the time between two."""

import time
from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.runs.checkpoints import EVERY, FOLDER
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.work import Cohort, Task
from tests.benchmarks.lines import report

LANES = 30


@pytest.mark.benchmark(group="checkpoints")
def test_a_write_for_thirty_lanes_with_a_full_replay(benchmark, tmp_path):
    spec = run_spec("cartpole-v1", agent_learner("greedy_gq(0.5)", "cartpole-v1", cohort=LANES), 1_000)
    acting = Acting.of(spec)
    play = acting.start(range(LANES))
    play.replay.added = play.replay.capacity
    play.replay.rings.x[:] = np.random.default_rng(0).normal(size=play.replay.rings.x.shape)
    (tmp_path / "s.sqlite").touch()
    keeper = replace(Task.of(Cohort(spec, 0)), checkpoints=str(tmp_path / f"s.sqlite{FOLDER}")).keeper()

    def timed(call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    writes = [timed(lambda: keeper.write(1, play.state())) for _ in range(9)]
    reads = [timed(lambda: play.restore(keeper.load())) for _ in range(3)]
    share = 100 * float(np.median(writes)) / EVERY
    report(benchmark, "checkpoint of 30 lanes, megabytes", keeper.path.stat().st_size / 1e6, "-")
    report(benchmark, "one write, seconds", float(np.median(writes)), "-")
    report(benchmark, "the slowest of nine writes, seconds", max(writes), "-")
    report(benchmark, "one read, seconds", float(np.median(reads)), "-")
    report(benchmark, f"writes in per cent of a run, one every {EVERY:g} s", share, "≤ 1")
    benchmark.pedantic(lambda: keeper.write(1, play.state()), rounds=3)
    assert share <= 1
