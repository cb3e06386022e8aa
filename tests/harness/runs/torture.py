"""`make torture`: signals to whoever takes part in a run, at random moments, and kill -9 of the whole ledger.

Nothing finished is lost, nothing is run twice, the final table is that of a run left in peace, to the last bit, and no
process outlives its parent by more than two seconds.
"""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from dgtd.harness.runs.spec import COHORT
from tests.harness.runs.lanes import ROOT
from tests.harness.runs.processes import children, dgtd_command, living, settled_rows
from tests.harness.runs.test_dask import Cluster
from tests.harness.runs.test_kills import everything

SEEDS = 640
RUN = ["run", "--problem", "baird", "--rule", "gtd2", "--alpha", "0.01", "--beta", "0.05", "--steps", "100000"]
KILL, TERM, HUP, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT
TURNS = [
    *[("parent", each) for each in (KILL, TERM, HUP, INT)], ("worker", KILL), ("worker", TERM), ("parent", KILL),
    ("dask worker", KILL), ("dask worker", TERM), ("scheduler", KILL),
]  # fmt: skip


class Torture:
    """One store, one run after another, and what has been seen."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)
        self.war, self.hits, self.orphans = folder / "war.sqlite", Counter(), 0
        self.kept: dict[tuple[str, int], float] = {}
        self.dask: Cluster | None = None

    def turn(self, who: str, sent: signal.Signals) -> None:
        """Start the run, or go on with it, and hit somebody on the way."""
        self._begin_anew_if_complete()
        before = settled_rows(self.war) // COHORT if self.war.exists() else 0
        cluster = self._cluster() if who in ("dask worker", "scheduler") else None
        where = ["--executor", "dask", "--scheduler", cluster.address] if cluster else ["--workers", "2"]
        process = subprocess.Popen(
            dgtd_command(*RUN, "--seeds", str(SEEDS), *where, "--store", str(self.war)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
        )  # fmt: skip
        if self._hit(process, who, sent):
            self.hits[who, sent.name] += 1
        out, errors = process.communicate(timeout=300)
        assert "Traceback" not in errors, errors
        if who == "parent" and sent != KILL:
            # 0: it had just finished; the signal's own number: it had not begun to listen, nor to work
            idle = (settled_rows(self.war) if self.war.exists() else 0) == before * COHORT
            assert process.returncode in (130, 0, *([-sent] if idle else [])), (process.returncode, errors)
        elif who in ("worker", "dask worker"):
            assert process.returncode == 0, errors
            found = re.search(r"(\d+) of (\d+) cohorts were stored already", out)
            assert found is not None, out
            assert int(found[1]) == before, f"{before} cohorts were stored, {found[1]} were not repeated"
        elif who == "scheduler":
            assert process.returncode in (0, 2), errors
        self._count_orphans(process.pid)
        self._check_kept()

    def finish(self) -> None:
        """In peace, and compared with a run that never was disturbed."""
        for path in (self.war, self.folder / "peace.sqlite"):
            command = dgtd_command(*RUN, "--seeds", str(SEEDS), "--workers", "2", "--store", str(path))
            subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        self._check_kept()
        assert everything(self.war) == everything(self.folder / "peace.sqlite")
        if self.dask is not None:
            self._end_cluster()

    def _hit(self, process: subprocess.Popen, who: str, sent: signal.Signals) -> bool:
        time.sleep(self.rng.uniform(1.0, 6.0))
        if process.poll() is not None:
            return False
        if who == "parent":
            victims = [process.pid]
        elif who == "worker":
            victims = [pid for pid, words in children(process.pid).items() if "spawn_main" in words]
        else:
            assert self.dask is not None
            victims = [each.pid for each in self.dask.processes[:1] + self.dask.processes[1:]]
            victims = victims[:1] if who == "scheduler" else victims[1:]
        if not victims:
            return False
        os.kill(self.rng.choice(victims), sent)
        if who == "dask worker":
            assert self.dask is not None
            self.dask.worker()
        return True

    def _cluster(self) -> Cluster:
        """Two living workers and a scheduler."""
        if self.dask is not None and self.dask.processes[0].poll() is not None:
            self._end_cluster()
        if self.dask is None:
            self.dask = Cluster(self.folder)
        alive = [each for each in self.dask.processes[1:] if each.poll() is None]
        self.dask.processes[1:] = alive
        for _ in range(2 - len(alive)):
            self.dask.worker()
        self.dask.executor(2).shutdown(wait=False)
        return self.dask

    def _end_cluster(self) -> None:
        assert self.dask is not None
        for process in self.dask.processes:
            process.kill()
            process.wait()
        self.dask = None

    def _count_orphans(self, session: int) -> None:
        deadline = time.monotonic() + 2
        while (left := living(session)) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.orphans += len(left)

    def _check_kept(self) -> None:
        """A finished lane stays what it was: how long it took tells one run of it from another."""
        query = "SELECT run, seed, seconds FROM lanes WHERE outcome = 'budget spent'"
        try:
            with sqlite3.connect(self.war) as database:
                now = {(run, seed): seconds for run, seed, seconds in database.execute(query)}
        except sqlite3.OperationalError:
            now = {}
        lost = [lane for lane in self.kept if lane not in now]
        repeated = [lane for lane in self.kept if now.get(lane, self.kept[lane]) != self.kept[lane]]
        assert not lost, f"{len(lost)} finished lanes are lost"
        assert not repeated, f"{len(repeated)} finished lanes were run again"
        assert len(now) % COHORT == 0  # a cohort is there whole or not at all
        self.kept = now

    def _begin_anew_if_complete(self) -> None:
        if len(self.kept) == SEEDS:
            remove_store(self.war)
            self.kept = {}


def remove_store(path: Path) -> None:
    """The file, its log, and the checkpoints beside it."""
    for part in path.parent.glob(f"{path.name}*"):
        shutil.rmtree(part) if part.is_dir() else part.unlink()


def suite(store: Path) -> list[str]:
    return dgtd_command("suite", "all", "--profile", "ci", "--json", "--store", str(store))


def check_ledger_kills(folder: Path, kills: int, seed: int) -> int:
    """Kill the suite's process group until `kills` have hit, then let it finish: the ledger is the undisturbed one.

    Runs follow one on another in one store, and a store that is complete begins anew, so that kills hit all of it.
    """
    peace, war = folder / "peace.sqlite", folder / "war.sqlite"
    run = {"capture_output": True, "text": True, "cwd": ROOT}
    start = time.perf_counter()
    whole = json.loads(subprocess.run(suite(peace), check=True, **run).stdout)
    length, rng, hit = time.perf_counter() - start, random.Random(seed), 0
    while hit < kills:
        process = subprocess.Popen(
            suite(war), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, start_new_session=True
        )
        try:
            process.wait(timeout=rng.uniform(2.0, 0.3 * length))
            remove_store(war)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
            hit += 1
            print(f"ledger kill {hit}", flush=True)
    final = json.loads(subprocess.run(suite(war), check=True, **run).stdout)
    assert final == whole
    return hit


def main(kills: int, of_ledger: int) -> None:
    """Both, with a line each."""
    with tempfile.TemporaryDirectory() as folder:
        torture, place = Torture(Path(folder), seed=1), 0
        while sum(torture.hits.values()) < kills:
            torture.turn(*TURNS[place % len(TURNS)])
            place += 1
            print(f"{sum(torture.hits.values())} kills, {torture.orphans} orphans", flush=True)
        torture.finish()
        for (who, name), count in sorted(torture.hits.items()):
            print(f"{count:4} × {name} to the {who}")
        words = "no finished cohort lost, none repeated, the final table equal bit for bit"
        print(f"{sum(torture.hits.values())} kills: {words}, {torture.orphans} orphans after 2 s", flush=True)
        assert torture.orphans == 0
    if of_ledger:
        with tempfile.TemporaryDirectory() as folder:
            hit = check_ledger_kills(Path(folder), of_ledger, seed=1)
        print(f"{hit} kills of the suite: the final ledger is the undisturbed one")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    main(*(given + [200, 20][len(given) :]))
