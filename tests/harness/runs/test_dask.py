"""Dask on loopback, in processes of its own: the same rows and the same ledger, and every fault is one message."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from dgtd.harness.judging.ledger import Workshop, collect, judge, setting_for
from dgtd.harness.runs.driver import RefusedError, execute
from dgtd.harness.runs.executors import InProcess, LostError, executor_maker
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.spec import Outcome, Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job
from tests.harness.runs.lanes import ROOT, run_all, spec
from tests.harness.runs.test_predictors import spec_of
from tests.harness.runs.test_processes import harmless, stays_in_c, swallows_twice
from tests.harness.test_cli import dgtd


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Cluster:
    """A scheduler and workers; `processes[0]` is the scheduler."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.address, self.processes = folder, f"tcp://127.0.0.1:{free_port()}", []
        self._start("distributed.cli.dask_scheduler", "--port", self.address.split(":")[-1])

    def _start(self, module: str, *words: str, code: Path = ROOT) -> None:
        threads = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "PYTHONPATH": str(code)}
        threads["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "0"  # Dask would let a task end four workers
        command = [sys.executable, "-W", "ignore", "-m", module, *words, "--host", "127.0.0.1", "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        self.processes.append(subprocess.Popen(command, env=os.environ | threads, **quiet))

    def worker(self, code: Path = ROOT) -> None:
        self._start("distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", code=code)

    def executor(self, workers: int):
        for _ in range(60):
            try:
                made = executor_maker("dask", scheduler=self.address)()
                made._client.wait_for_workers(workers, timeout=60)
                return made
            except ValueError:
                time.sleep(0.5)
        raise AssertionError("no cluster")


@contextmanager
def cluster(folder: Path, workers: int = 0):
    made = Cluster(folder)
    try:
        for _ in range(workers):
            made.worker()
        yield made
    finally:
        for process in reversed(made.processes):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_rows_and_ledger_are_those_of_this_process_also_when_a_worker_is_killed(tmp_path):
    requests = [Request(spec(steps=200_000, rule=r), 64) for r in ("gtd2", "td")]
    expected = run_all(tmp_path / "a.sqlite", requests)[1]
    claims = [
        c for c in collect("all", None, "ci") if c.id.startswith(("stability/two_state/value", "gradients/target"))
    ]
    setting = setting_for(None, "ci", 0)
    here = judge(claims, setting)
    with cluster(tmp_path, workers=2) as dask:
        executor = dask.executor(2)

        def kill_once(done, total):
            if done == 2:
                dask.processes[1].kill()

        assert run_all(tmp_path / "b.sqlite", requests, lambda: executor, progress=kill_once)[1] == expected
        network = spec_of("mlp(4)", steps=40)
        with Store(tmp_path / "c.sqlite") as store:
            again = dask.executor(1)
            there = judge(claims, setting, workshop=Workshop(store, lambda: again))
            execute([Request(network, 16)], store, lambda: dask.executor(1))
            lanes = store.lanes(run_hash(network))
    assert [e.as_dict() for e in there] == [e.as_dict() for e in here]
    with Store(":memory:") as store:
        execute([Request(network, 16)], store, InProcess)
        for one, other in zip(lanes, store.lanes(run_hash(network)), strict=True):
            np.testing.assert_allclose(one.curves, other.curves, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_a_limit_holds_in_the_threads_of_a_worker_and_one_that_hears_nothing_ends_it(tmp_path):
    evasive, deaf = Job.of(swallows_twice), Job.of(stays_in_c)
    with cluster(tmp_path, workers=4) as dask, Store(tmp_path / "s.sqlite") as store:
        executor = dask.executor(4)
        summary = execute([], store, lambda: executor, jobs=[evasive, deaf, Job.of(harmless)], timeout=1.0)
        assert not summary.interrupted
        assert store.job(Job.of(harmless).hash)[1] == 4
        assert store.job(evasive.hash)[0] is Outcome.TIMED_OUT
        assert store.job(deaf.hash)[0] is Outcome.FAILED
        assert store.job(deaf.hash)[2] == "stays_in_c({}) ended its worker process"


@pytest.mark.slow
def test_a_worker_with_changed_code_is_refused_by_name(tmp_path):
    ignore = shutil.ignore_patterns("__pycache__")
    for room in ("dgtd", "algorithms", "harness", "suites"):
        shutil.copytree(ROOT / room, tmp_path / "other" / room, ignore=ignore, symlinks=True)
    changed = tmp_path / "other" / "harness" / "oracle" / "metrics.py"
    changed.write_text(changed.read_text() + "\n# changed\n")
    with cluster(tmp_path) as dask, Store(tmp_path / "s.sqlite") as store:
        dask.worker(tmp_path / "other")
        executor = dask.executor(1)
        with pytest.raises(RefusedError, match=r"worker \d+ on .* has another code than this process"):
            execute([Request(spec(), 4)], store, lambda: executor)
        assert store.runs() == []


@pytest.mark.slow
def test_a_scheduler_without_workers_says_so_within_ten_seconds(tmp_path):
    with cluster(tmp_path) as dask:
        time.sleep(4)
        start = time.monotonic()
        with pytest.raises(ValueError, match="has no workers: start some with `dask worker"):
            executor_maker("dask", scheduler=dask.address)
        assert time.monotonic() - start < 10


@pytest.mark.slow
def test_a_peer_that_never_answers_is_one_line_within_ten_seconds(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        start = time.monotonic()
        words = ["suite", "gradients", "--executor", "dask", "--scheduler", address, "--store", "s.sqlite"]
        done = dgtd(*words, cwd=tmp_path)
    assert time.monotonic() - start < 25  # starting Python included; 8 on a quiet machine
    assert done.returncode == 2
    assert "does not answer" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_a_scheduler_that_dies_is_said_and_what_is_finished_is_kept(tmp_path):
    long = Request(spec(steps=3_000_000), 16 * 12)
    with cluster(tmp_path, workers=1) as dask, Store(tmp_path / "s.sqlite") as store:
        executor = dask.executor(1)
        died = []

        def kill(done, total):
            if done == 2 and not died:
                died.append(time.monotonic())
                dask.processes[0].kill()

        with pytest.raises(LostError, match="what is finished is kept"):
            execute([long], store, lambda: executor, progress=kill)
        assert time.monotonic() - died[0] < 25
        kept = len(store.settled(run_hash(long.spec)))
        assert kept >= 2
        short = Request(long.spec, 16 * kept)
        assert execute([short], store, InProcess).done == 0  # nothing is run again


def test_nothing_that_dask_or_tornado_says_of_a_lost_scheduler_is_printed():
    """Dask's own settings give `tornado.application` a level, so the level of `tornado` does not reach it."""
    code = (
        "import logging, distributed; from dgtd.harness.runs.executors import _hush; _hush(); "
        "print([n for n in ('tornado.application', 'distributed.client', 'distributed.core', 'asyncio') "
        "if logging.getLogger(n).isEnabledFor(logging.ERROR)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
