"""Processes: workers end with their parent, every polite signal means stop, and no limit can be evaded."""

import os
import signal
import sqlite3
import subprocess
import time
from collections import deque
from itertools import repeat
from pathlib import Path

import pytest

from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Outcome, Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.timeouts import came, listening
from dgtd.harness.runs.work import Job
from tests import forked
from tests.harness.runs.lanes import ROOT, spec
from tests.harness.runs.processes import dgtd_command, living, wait_for_rows
from tests.harness.test_cli import COMMAND

POLITE = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
RUN = ("run", "--problem", "baird", "--rule", "gtd2", "--alpha", "0.01", "--beta", "0.05", "--seeds", "640")


def started(store: Path, *words: str) -> subprocess.Popen:
    """A command in a session of its own."""
    return subprocess.Popen(
        dgtd_command(*words, "--store", str(store)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGKILL, *POLITE], ids=lambda each: each.name)
def test_workers_end_with_their_parent(tmp_path, sent):
    store = tmp_path / "s.sqlite"
    process = started(store, *RUN, "--steps", "1000000", "--executor", "pool", "--workers", "2")
    wait_for_rows(store)
    assert len(living(process.pid)) >= 3
    process.send_signal(sent)
    _, errors = process.communicate(timeout=20)
    deadline = time.monotonic() + 2
    while (left := living(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []
    if sent != signal.SIGKILL:
        assert process.returncode == 130
        assert "the same command goes on from there" in errors
        assert "Traceback" not in errors


@pytest.mark.slow
def test_nohup_is_respected(tmp_path):
    store = tmp_path / "s.sqlite"
    code = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from dgtd.harness.cli import main; main()"
    words = [*RUN[:-1], "32", "--steps", "300000", "--executor", "in-process", "--store", str(store)]
    with forked.started(code, *words, cwd=ROOT) as process:
        wait_for_rows(store)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=60).returncode == 0


@pytest.mark.slow
def test_in_this_process_ctrl_c_is_heard_at_once_in_the_middle_of_a_long_run(tmp_path):
    store = tmp_path / "s.sqlite"
    words = [*RUN[:-1], "16", "--steps", "100000000", "--executor", "in-process"]
    with forked.started(COMMAND, *words, "--store", str(store), cwd=ROOT) as process:
        deadline = time.monotonic() + 60
        while not store.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(5)  # compiled and under way
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = process.wait(timeout=60)
    assert time.monotonic() - sent < 4  # 2 on a quiet machine
    assert done.returncode == 130
    assert "the same command goes on from there" in done.stderr
    rows = sqlite3.connect(store).execute("SELECT DISTINCT outcome FROM lanes").fetchall()
    assert rows == [("interrupted",)]


@pytest.fixture
def hears_hangups():
    """As in a terminal, also where the tests run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_deferred_signal_is_remembered_and_the_second_one_raises(hears_hangups):
    with listening(deferred=True) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGHUP)
    with listening():
        assert not came()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


# ---------------------------------------------------------------------- limits that code tries to evade


def swallows():
    """Takes every exception for its own."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def hears_no_alarm():
    """An alarm that is ignored."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(60)


def stays_in_c():
    """A loop in C that keeps the interpreter to itself."""
    deque(repeat(0), maxlen=0)


def harmless():
    """Four."""
    return 4


@pytest.mark.slow
def test_past_its_limit_a_worker_is_ended_and_the_row_says_so(tmp_path):
    hostile = [Job.of(function) for function in (swallows, hears_no_alarm, stays_in_c)]
    start = time.monotonic()
    with Store(tmp_path / "s.sqlite") as store:
        summary = execute([], store, executor_maker("pool", 2), jobs=[*hostile, Job.of(harmless)], timeout=1.0)
        assert not summary.interrupted
        for job in hostile:
            outcome, _, error = store.job(job.hash)
            assert outcome is Outcome.TIMED_OUT
            assert error.startswith("more than 1 s")
        assert error == "more than 1 s, and not to be stopped: its worker was ended"
        assert store.job(Job.of(harmless).hash)[1] == 4
    assert time.monotonic() - start < 50


def test_in_this_process_a_limit_rings_until_it_is_heard(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([], store, InProcess, jobs=[Job.of(swallows_twice)], timeout=0.2)
        assert store.job(Job.of(swallows_twice).hash)[0] is Outcome.TIMED_OUT


def swallows_twice():
    """Gives in to the third."""
    for _ in range(2):
        try:
            _spin()
        except TimeoutError:
            continue
    _spin()


def _spin():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass


def test_what_is_compiled_on_the_way_is_not_counted(tmp_path, monkeypatch):
    from dgtd.algorithms.fast.linear import LinearEngine

    run, calls = LinearEngine.run, []

    def slow_at_first(self, *arguments, **rest):
        if not calls:
            time.sleep(0.5)
        calls.append(1)
        return run(self, *arguments, **rest)

    monkeypatch.setattr(LinearEngine, "run", slow_at_first)
    made = spec(steps=10, alpha=0.0123)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(made, 16)], store, InProcess)
        assert sum(lane.seconds for lane in store.lanes(run_hash(made))) < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("hurry", [False, True])
def test_workers_end_before_their_locks_are_taken_away(hurry):
    """A worker that begins without them would say so in a traceback, after the last word of the command."""
    workers, alive = executor_maker("pool", 2)(), []
    manager = workers._pool._pool_manager.worker_manager
    begun = tuple(manager.workers.values())
    taken_away = manager.close_channels

    def close():
        alive.extend(each.is_alive() for each in begun)
        taken_away()

    manager.close_channels = close
    workers.shutdown(wait=not hurry, cancel_futures=hurry)
    assert alive == [False, False]
    assert not manager.workers
