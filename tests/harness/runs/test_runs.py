"""Runs, store, driver and executors: same numbers everywhere, nothing lost, nothing repeated."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from harness.runs.cohort import Task, run_cohort
from harness.runs.driver import execute, missing
from harness.runs.executors import InProcess, make_executor
from harness.runs.fingerprint import run_hash
from harness.runs.rule_files import reference
from harness.runs.spec import COHORT, FileRef, Learner, Outcome, Place, Probe, Request, RunSpec, StepSchedule, log_times
from harness.runs.store import SCHEMA, Store, StoreError
from tests.harness.test_cli import dgtd

ROOT = Path(__file__).parents[3]


def spec(problem="baird", rule="gtd2", alpha=0.01, beta=0.05, steps=300, checkpoints=25, **rest) -> RunSpec:
    run = {key: rest.pop(key) for key in ("root_seed", "axes") if key in rest}
    place = Place(problem, rest.pop("iid", False))
    ref = rule if isinstance(rule, FileRef) else reference(rule)
    return RunSpec(place, Learner(ref, alpha, beta, **rest), Probe(log_times(steps, checkpoints)), **run)


def rows(store, *specs):
    """Everything that must not depend on who ran it."""
    return [[(x.seed, x.outcome, x.died, x.curves.tobytes()) for x in store.lanes(run_hash(s))] for s in specs]


def run_all(path, requests, make=InProcess, **options):
    with Store(path) as store:
        summary = execute(requests, store, make, **options)
        return summary, rows(store, *(request.spec for request in requests))


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
            calls.append(args[0].cohort)
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
    td, semi = (run_cohort(Task.of(spec(rule=r), 0)) for r in ("td", "greedy_gq(0)"))
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
        "from algorithms.rule import Cotangents, rule\n"
        "@rule(linear=False)\n"
        "def mine(d, u, r):\n    return Cotangents(-r * d * float(str(1)), r * u, r * d - u)\n"
    )
    return reference(f"{path}:mine")


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


def test_a_settled_row_is_never_overwritten(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4)], store, InProcess)
        before = rows(store, spec())
        worse = run_cohort(Task.of(spec(), 0, timeout=1e-6))
        assert worse.lanes[0].outcome is Outcome.TIMED_OUT
        store.save(spec(), worse)
        assert rows(store, spec()) == before


def test_two_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "s.sqlite"
    specs = [spec(alpha=0.001 * (i + 1), steps=50) for i in range(8)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda s: run_all(path, [Request(s, 40)]), specs))
    with Store(path) as store:
        assert len(store.runs()) == 8
        assert all(run["outcomes"] == {"budget spent": 48} for run in store.runs())


OLD_SPEC = {
    "problem": "baird", "rule": {"name": "gtd2", "hash": "x"}, "alpha": 0.01, "beta": 0.05, "steps": 300,
    "target": "value", "atoms": 21, "projection": "cramer", "schedule": "constant", "radius": None, "average": False,
    "extragradient": False, "root_seed": 0, "version": "0.0.9",
}  # fmt: skip


def older_store(path: Path, schema: int = 2) -> Path:
    from harness.runs.store import _MIGRATIONS

    db = sqlite3.connect(path)
    for version in range(1, schema + 1):
        db.executescript(_MIGRATIONS[version])
    db.execute("INSERT INTO runs VALUES ('old', ?, 'then')", (json.dumps(OLD_SPEC),))
    columns = "run, seed, outcome, died, checkpoints, curves, seconds, what"
    db.execute(
        f"INSERT INTO lanes ({columns}) VALUES ('old', 0, 'budget spent', -1, 2, ?, 0.1, '')",
        (np.ones((2, 3)).tobytes(),),
    )
    db.execute(f"PRAGMA user_version={schema}")
    db.commit()
    db.close()
    return path


@pytest.mark.parametrize("schema", [1, 2])
def test_an_older_store_is_read_and_never_reused(tmp_path, schema):
    path = older_store(tmp_path / "old.sqlite", schema)
    with Store(path) as store:
        assert store.older == 1
        assert store.lanes("old")[0].curves.tolist() == [[1, 1, 1], [1, 1, 1]]
        (row,) = store.rows()
        assert (row["problem"], row["rule"], row["version"], row["rmspbe"]) == ("baird", "gtd2", "0.0.9", 1.0)
        assert execute([Request(spec(), 4)], store, InProcess).done == 1
        assert [run["reusable"] for run in store.runs()] == [True, False]
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (SCHEMA,)


def test_commands_say_that_a_store_is_older(tmp_path):
    store = older_store(tmp_path / "old.sqlite")
    says = "has 1 runs of an older version: they are listed and exported, and none is reused"
    for words in (["runs"], ["export"]):
        done = dgtd(*words, "--store", str(store))
        assert done.returncode == 0
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
        assert "gtd2" in done.stdout


def broken_stores(folder: Path):
    text = folder / "text.sqlite"
    text.write_text("this is no database, it is a letter " * 100)
    newer = folder / "newer.sqlite"
    db = sqlite3.connect(newer)
    db.execute("PRAGMA user_version=99")
    db.execute("CREATE TABLE x (y)")
    db.commit()
    db.close()
    other = folder / "other.sqlite"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE recipes (name)")
    db.commit()
    db.close()
    return {
        text: "it is not a dgtd store: name another file",
        newer: "has schema 99, and this version knows",
        other: "is a database of something else",
        Path("/proc/no/s.sqlite"): "can't be opened",
        folder: "can't be opened",
    }


def test_a_store_that_cannot_be_used_says_why_and_stays_as_it_was(tmp_path):
    for path, says in broken_stores(tmp_path).items():
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(StoreError, match=says):
            Store(path)
        assert (path.read_bytes() if path.is_file() else None) == before


def test_a_full_disk_is_said_and_loses_nothing_finished(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4)], store, InProcess)
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages + 1}")
        with pytest.raises(StoreError, match="the disk is full: free some space"):
            execute([Request(spec(steps=5000, checkpoints=1000), 64)], store, InProcess)
        assert len(store.lanes(run_hash(spec()))) == COHORT


def test_a_read_only_store_is_said(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store._db.execute("PRAGMA query_only=1")
        with pytest.raises(StoreError, match="can't be written: check its permissions"):
            execute([Request(spec(), 4)], store, InProcess)


def test_rows_export_to_a_frame(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4), Request(spec(target="cdf", atoms=5), 4)], store, InProcess)
        frame = store.frame()
    assert len(frame) == 2 * COHORT
    assert frame[frame.target == "value"].cramer.isna().all()
    assert frame[frame.target == "cdf"].cramer.notna().all()


# ---------------------------------------------------------------------- executors


@pytest.mark.slow
def test_the_pool_gives_the_rows_of_this_process_also_when_a_worker_is_killed(tmp_path):
    requests = [Request(spec(steps=200_000, rule=r), 64) for r in ("gtd2", "td")]
    expected = run_all(tmp_path / "a.sqlite", requests)[1]
    killed = []

    def kill_once(done, total):
        if done == 2 and not killed:
            victim = next(iter(pools[-1]._processes))
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    pools = []

    def make():
        pools.append(make_executor("pool", 2))
        return pools[-1]

    found = run_all(tmp_path / "b.sqlite", requests, make, progress=kill_once)[1]
    assert killed
    assert len(pools) == 2
    assert found == expected


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
        make_executor(*arguments)


# ---------------------------------------------------------------------- kill -9


def command(store: Path, steps: int = 100_000) -> list[str]:
    words = [
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
    ]
    return [
        sys.executable,
        "-c",
        "from harness.cli import main; main()",
        *words,
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
    whole = subprocess.run(command(peace), capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
    length = time.perf_counter() - start
    rng, hit, finished_before = random.Random(seed), 0, 0
    while hit < kills:
        process = subprocess.Popen(
            command(war), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=ROOT
        )
        fresh, start = not war.exists(), time.perf_counter()
        try:
            process.communicate(timeout=rng.uniform(0.2 * length, length))
            if fresh:  # how long a whole run takes changes with what else the machine is at
                length = time.perf_counter() - start
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            hit += 1
            print(f"kill {hit}", flush=True)
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
    final = subprocess.run(command(war), capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
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
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    for _ in range(600):
        time.sleep(0.1)
        if store.exists() and _has_lanes(store):
            count = "SELECT count(*) FROM lanes WHERE outcome = 'budget spent'"
            if sqlite3.connect(store).execute(count).fetchone()[0] >= COHORT:
                break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in errors
    assert "Traceback" not in errors
    with Store(store) as results:
        (run,) = results.runs()
    assert run["outcomes"]["budget spent"] >= COHORT
    assert run["outcomes"]["interrupted"] >= COHORT
