"""Runs, driver and executors: same numbers everywhere, nothing repeated."""

import os
import signal

import numpy as np
import pytest

from dgtd.harness.runs.driver import execute, missing
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import FileRef, Outcome, Request, RunSpec, StepSchedule, log_times
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Cohort, Task, carry_out
from tests.harness.runs.lanes import run_all, spec
from tests.harness.test_cli import dgtd

# ---------------------------------------------------------------------- specifications


def test_the_hash_sees_every_field_and_not_the_seeds():
    base = spec()
    assert run_hash(base) == run_hash(spec()) == run_hash(RunSpec.from_json(base.to_json()))
    changes = [
        {"alpha": 0.02}, {"beta": 0.1}, {"steps": 301}, {"problem": "boyan"}, {"rule": "tdc"}, {"iid": True},
        {"target": "cdf"}, {"target": "cdf", "atoms": 5}, {"root_seed": 1}, {"axes": (("purpose", "other"),)},
        {"schedule": StepSchedule("robbins-monro")}, {"radius": 2.0}, {"average": True}, {"extragradient": True},
    ]  # fmt: skip
    assert len({run_hash(base), *(run_hash(spec(**change)) for change in changes)}) == len(changes) + 1


def test_checkpoints_are_log_spaced_from_zero_to_the_end():
    times = np.array(log_times(10_000, 9))
    assert times[0] == 0
    assert times[-1] == 10_000
    ratios = times[3:] / times[2:-1]
    assert ratios.max() / ratios.min() < 1.1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"target": "cfd"}, "no target 'cfd'; did you mean 'cdf'"),
        ({"problem": "biard"}, "no problem 'biard'; did you mean 'baird'"),
        ({"root_seed": -1}, "root_seed must be at least 0"),
        ({"radius": -1.0}, "radius must be positive"),
    ],
)
def test_an_impossible_run_is_refused(change, says):
    with pytest.raises(ValueError, match=says):
        spec(**change)


# ---------------------------------------------------------------------- the store and the driver


def test_resume_repeats_no_stored_run(tmp_path):
    calls = []

    class Counting(InProcess):
        def submit(self, fn, /, *args, **kwargs):
            calls.append(args[0].work.index)
            return super().submit(fn, *args, **kwargs)

    first, before = run_all(tmp_path / "s.sqlite", [Request(spec(), 40)], Counting)
    again, after = run_all(tmp_path / "s.sqlite", [Request(spec(), 40)], Counting)
    more, longer = run_all(tmp_path / "s.sqlite", [Request(spec(), 60)], Counting)
    assert (first.done, again.done, more.done) == (3, 0, 1)
    assert calls == [0, 1, 2, 3]
    assert before == after
    assert longer[0][: len(before[0])] == before[0]


def test_adding_a_rule_or_a_seed_changes_no_other_run(tmp_path):
    alone = run_all(tmp_path / "a.sqlite", [Request(spec(), 5)])[1][0]
    requests = [Request(spec(rule="td"), 40), Request(spec(), 33), Request(spec(problem="boyan"), 5)]
    together = run_all(tmp_path / "b.sqlite", requests)[1][1]
    assert together[: len(alone)] == alone


def test_every_rule_meets_the_same_transitions():
    """Two rules with the same update of θ agree bit for bit."""
    td, semi = (carry_out(Task.of(Cohort(spec(rule=r), 0))) for r in ("td", "greedy_gq(0)"))
    assert [x.curves.tobytes() for x in td.lanes] == [x.curves.tobytes() for x in semi.lanes]


def test_diverged_lanes_are_rows_with_their_curves(tmp_path):
    td = spec(rule="td", alpha=0.5, steps=20_000)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(td, 4)], store, InProcess)
        lanes = store.lanes(run_hash(td))
    assert {lane.outcome for lane in lanes} == {Outcome.DIVERGED}
    assert all(0 < lane.died < 20_000 for lane in lanes)
    assert np.isfinite(lanes[0].curves[0]).all()
    assert not np.isfinite(lanes[0].curves[-1]).any()


def test_a_finite_lane_far_from_home_has_diverged_too(tmp_path):
    td = spec(rule="td", alpha=2**-8, steps=20_000)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(td, 4)], store, InProcess)
        lanes = store.lanes(run_hash(td))
    assert all(np.isfinite(lane.curves).all() for lane in lanes)
    assert {lane.outcome for lane in lanes} == {Outcome.DIVERGED}


def breaks_in_a_run(folder) -> FileRef:
    """Answers when it is probed, and can't be compiled."""
    path = folder / "breaks.py"
    path.write_text(
        "from dgtd.algorithms.rule import Cotangents, rule\n"
        "@rule(linear=False)\n"
        "def mine(d, u, r):\n    return Cotangents(-r * d * float(str(1)), r * u, r * d - u)\n"
    )
    return reference(f"{path}:mine")


@pytest.mark.slow
def test_failures_and_time_outs_are_rows_and_are_tried_again(tmp_path):
    broken = spec(rule=breaks_in_a_run(tmp_path))
    slow = spec(steps=50_000_000, checkpoints=200)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(broken, 4)], store, InProcess)
        execute([Request(slow, 4)], store, InProcess, timeout=0.3)
        assert {x.outcome for x in store.lanes(run_hash(broken))} == {Outcome.FAILED}
        assert "not arithmetic that numba compiles" in store.lanes(run_hash(broken))[0].error
        assert {x.outcome for x in store.lanes(run_hash(slow))} == {Outcome.TIMED_OUT}
        assert len(missing(store, [Request(broken, 4), Request(slow, 4)])) == 2


# ---------------------------------------------------------------------- executors


@pytest.mark.slow
def test_the_pool_gives_the_rows_of_this_process_also_when_a_worker_is_killed(tmp_path):
    requests = [Request(spec(steps=200_000, rule=r), 64) for r in ("gtd2", "td")]
    expected = run_all(tmp_path / "a.sqlite", requests)[1]
    killed = []

    def kill_once(done, total):
        if done == 2 and not killed:
            victim = pools[-1].submit(os.getpid).result()
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    pools = []

    def make():
        pools.append(executor_maker("pool", 2)())
        return pools[-1]

    found = run_all(tmp_path / "b.sqlite", requests, make, progress=kill_once)[1]
    assert killed
    assert len(pools) <= 2  # another worker takes its place, unless it died with the pool's lock in its hand
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pol",), "no executor 'pol'; did you mean 'pool'?"),
        (("pool", 0), "workers must be at least 1, got 0"),
        (("dask",), "scheduler must be given with --executor dask"),
        (("dask", None, "tcp://127.0.0.1:9"), "does not answer: start one with `dask scheduler`"),
        (("dask", None, "nonsense://x"), "scheduler 'nonsense://x' does not answer"),
    ],
)
def test_an_executor_that_cannot_be_had_says_why(arguments, says):
    with pytest.raises(ValueError, match=says):
        executor_maker(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["in-process", "pool"])
def test_without_a_place_for_compiled_code_commands_work_with_one_warning(tmp_path, executor):
    words = ["run", "--problem", "two_state", "--rule", "gtd2", "--alpha", "0.01", "--beta", "0.05", "--steps", "20"]
    words += ["--seeds", "4", "--executor", executor, "--workers", "1", "--store", str(tmp_path / "s.sqlite")]
    done = dgtd(*words, env=os.environ | {"DGTD_CACHE": "/proc/nowhere"})
    assert done.returncode == 0
    assert done.stderr.count("can't keep compiled code in /proc/nowhere") == 1
    assert "Traceback" not in done.stderr
