"""kill -9 and Ctrl-C: what is finished is kept, and the same command goes on from there."""

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from dgtd.harness.runs.spec import COHORT
from dgtd.harness.runs.store import Store
from tests import forked
from tests.harness.runs.lanes import ROOT
from tests.harness.test_cli import COMMAND, dgtd


def command(store: Path, steps: int = 100_000) -> list[str]:
    return [
        "run",
        "--problem",
        "baird",
        "--rule",
        "gtd2",
        "--alpha",
        "0.01",
        "--beta",
        "0.05",
        "--seeds",
        "192",
        "--executor",
        "in-process",
        "--json",
        "--steps",
        str(steps),
        "--store",
        str(store),
    ]


def check_kills(folder: Path, kills: int, seed: int) -> int:
    """Kill -9 at random moments until `kills` have hit, then finish; the table must be that of a run left in peace."""
    peace, war = folder / "peace.sqlite", folder / "war.sqlite"
    environment = os.environ | {"NUMBA_NUM_THREADS": "1"}
    start = time.perf_counter()
    whole = dgtd(*command(peace), env=environment)
    length = time.perf_counter() - start
    rng, hit, finished_before = random.Random(seed), 0, 0
    while hit < kills:
        fresh, start = not war.exists(), time.perf_counter()
        with forked.started(COMMAND, *command(war), cwd=ROOT, env=environment) as process:
            if process.ended(rng.uniform(0.2 * length, length)):
                if fresh:  # how long a whole run takes changes with what else the machine is at
                    length = time.perf_counter() - start
            else:
                process.send_signal(signal.SIGKILL)
                hit += 1
                print(f"kill {hit}", flush=True)
            process.wait()
        if war.exists():
            count = "SELECT count(*) FROM lanes"
            stored = sqlite3.connect(war).execute(count).fetchone()[0] if _has_lanes(war) else 0
            assert stored % COHORT == 0  # a cohort is there whole or not at all
            assert stored >= finished_before
            finished_before = stored
            if stored == 192 and hit < kills:
                for part in folder.glob("war.sqlite*"):
                    part.unlink(missing_ok=True)
                finished_before = 0
    final = dgtd(*command(war), env=environment)
    assert whole.returncode == final.returncode == 0
    tables = [json.loads(done.stdout) for done in (whole, final)]
    for table in tables:
        table.pop("microseconds_per_step")
    assert tables[0] == tables[1]
    assert everything(peace) == everything(war)
    return hit


def _has_lanes(path: Path) -> bool:
    query = "SELECT count(*) FROM sqlite_master WHERE name = 'lanes'"
    return bool(sqlite3.connect(path).execute(query).fetchone()[0])


def everything(path: Path):
    """Every lane of a store, whoever ran it."""
    with Store(path) as store:
        return [[(x.seed, x.outcome, x.died, x.curves.tobytes()) for x in store.lanes(r["run"])] for r in store.runs()]


@pytest.mark.slow
def test_kill_9_loses_no_finished_cohort_and_resume_repeats_none(tmp_path):
    assert check_kills(tmp_path, kills=4, seed=0) == 4


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_resume(tmp_path):
    store = tmp_path / "s.sqlite"
    words = [*command(store, steps=3_000_000)]
    words[words.index("in-process")] = "pool"
    with forked.started(COMMAND, *words, cwd=ROOT) as process:
        for _ in range(600):
            time.sleep(0.1)
            if store.exists() and _has_lanes(store):
                count = "SELECT count(*) FROM lanes WHERE outcome = 'budget spent'"
                if sqlite3.connect(store).execute(count).fetchone()[0] >= COHORT:
                    break
        process.send_signal(signal.SIGINT)
        done = process.wait(timeout=60)
    assert done.returncode == 130
    assert "the same command goes on from there" in done.stderr
    assert "Traceback" not in done.stderr
    with Store(store) as results:
        (run,) = results.runs()
    assert run["outcomes"]["budget spent"] >= COHORT
    assert run["outcomes"]["interrupted"] >= COHORT
