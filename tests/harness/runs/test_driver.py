"""The driver: no cohort is lost, whatever a worker or an executor does."""

import os
import sys
from collections import Counter
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from dgtd.harness.runs import driver
from dgtd.harness.runs.driver import SPARE, execute
from dgtd.harness.runs.executors import DiedError, InProcess, executor_maker
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Outcome, Request
from dgtd.harness.runs.store import Store
from tests.harness.runs.lanes import spec


def test_a_submission_that_fails_loses_no_cohort(tmp_path):
    """The pool breaks while cohorts are being handed over; 640 lanes were asked for, and 640 come."""
    made = []

    class Fragile(InProcess):
        def __init__(self):
            made.append(self)
            self.taken = 0

        def submit(self, fn, /, *args):
            self.taken += 1
            if len(made) == 1 and self.taken == 3:
                raise BrokenProcessPool("a worker died between two submissions")
            return super().submit(fn, *args)

    with Store(tmp_path / "s.sqlite") as store:
        summary = execute([Request(spec(steps=10), 640)], store, Fragile)
        assert (summary.done, summary.interrupted, len(made)) == (40, False, 2)
        assert len(store.lanes(run_hash(spec(steps=10)))) == 640


@pytest.mark.slow
def test_a_rule_that_ends_its_worker_is_a_failed_row_and_the_other_runs_go_on(tmp_path):
    path = tmp_path / "deadly.py"
    path.write_text(
        "import os\nfrom dgtd.algorithms.rule import Cotangents, rule\n"
        f"if os.getpid() != {os.getpid()}:\n    os._exit(3)\n"
        "@rule\ndef deadly(d, u, r):\n    return Cotangents(-r * d, r * u, r * d - u)\n"
    )
    bad, good = spec(rule=reference(f"{path}:deadly"), alpha=0.02), spec(steps=2000)
    with Store(tmp_path / "s.sqlite") as store:
        summary = execute([Request(bad, 64), Request(good, 64)], store, executor_maker("pool", 2))
        assert not summary.interrupted
        lost = store.lanes(run_hash(bad))
        assert len(lost) == 64
        assert {lane.outcome for lane in lost} == {Outcome.FAILED}
        assert {lane.error for lane in lost} == {"rule deadly ended its worker process"}
        assert {lane.outcome for lane in store.lanes(run_hash(good))} == {Outcome.BUDGET_SPENT}


def test_a_worker_that_dies_twice_at_one_cohort_has_failed_at_it(tmp_path):
    """Once may be somebody else's doing; what belongs to the same run fails with it, and the rest goes on."""
    bad, good, tried = spec(steps=10, alpha=0.02), spec(steps=10), []

    class Deadly(InProcess):
        def submit(self, fn, /, task):
            if task.hash != run_hash(bad):
                return super().submit(fn, task)
            tried.append(task.work)
            future = Future()
            future.set_exception(DiedError("exit code -9"))
            return future

    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(bad, 48), Request(good, 48)], store, Deadly)
        assert {lane.outcome for lane in store.lanes(run_hash(bad))} == {Outcome.FAILED}
        assert len(store.lanes(run_hash(bad))) == len(store.lanes(run_hash(good))) == 48
        assert {lane.outcome for lane in store.lanes(run_hash(good))} == {Outcome.BUDGET_SPENT}
    assert max(Counter(tried).values()) == 2


def test_a_driver_that_tries_a_third_time_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "DEATHS", 3)
    with pytest.raises(AssertionError):
        test_a_worker_that_dies_twice_at_one_cohort_has_failed_at_it(tmp_path)


class Wide(InProcess):
    """Forty workers that never finish before they are asked."""

    count = 40

    def __init__(self):
        self.waiting, self.most = [], 0

    def submit(self, fn, /, *args):
        future = Future()
        self.waiting.append((future, fn, args))
        self.most = max(self.most, len(self.waiting))
        return future

    def finish(self):
        for future, fn, args in self.waiting:
            future.set_result(fn(*args))
        self.waiting.clear()


def test_as_many_cohorts_are_under_way_as_there_are_workers_and_a_few(tmp_path, monkeypatch):
    wide = Wide()
    monkeypatch.setattr(driver, "capacity", lambda executor: executor.count)

    def wait_for(running, **_):
        wide.finish()
        return original(running, timeout=1.0)

    original = driver.wait
    monkeypatch.setattr(driver, "wait", wait_for)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(steps=10), 16 * 60)], store, lambda: wide)
    assert wide.most == 40 + SPARE


def test_sys_exit_in_a_worker_is_a_failed_row(tmp_path, monkeypatch):
    """A rule may not end the process that runs it, nor the command."""
    monkeypatch.setattr("dgtd.harness.runs.work.train", lambda *_: sys.exit(0))
    with Store(tmp_path / "s.sqlite") as store:
        assert not execute([Request(spec(), 4)], store, InProcess).interrupted
        (lane, *_) = store.lanes(run_hash(spec()))
    assert (lane.outcome, lane.error) == (Outcome.FAILED, "SystemExit: 0")
