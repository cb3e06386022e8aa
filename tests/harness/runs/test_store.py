"""The store: nothing overwritten, nothing lost, older and broken files said."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dgtd.harness.runs.database import OURS, SCHEMA, StoreError
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lane
from dgtd.harness.runs.spec import COHORT, Outcome, Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import train, trainer_of
from dgtd.harness.runs.work import Cohort, Job, Result, Task, carry_out
from tests.harness.runs.lanes import ROOT, rows, run_all, spec
from tests.harness.test_cli import dgtd


def test_a_settled_row_is_never_overwritten(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4)], store, InProcess)
        before = rows(store, spec())
        worse = carry_out(Task.of(Cohort(spec(), 0), timeout=1e-6))
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


class Interrupted(sqlite3.Connection):
    """Before one of its statements somebody else creates the store."""

    left, path = 0, Path()

    def execute(self, *given):
        Interrupted.left -= 1
        if Interrupted.left == 0:
            Store(Interrupted.path).close()
        return super().execute(*given)


@pytest.mark.parametrize("statements", range(1, 5))
def test_a_store_that_another_process_creates_while_it_is_opened_is_a_store(tmp_path, monkeypatch, statements):
    path = tmp_path / "s.sqlite"
    path.touch()
    connect = sqlite3.connect
    monkeypatch.setattr(Interrupted, "left", statements)
    monkeypatch.setattr(Interrupted, "path", path)
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Interrupted))
    with Store(path) as store:
        assert store.runs() == []
    assert Interrupted.left < 0


def older_store(path: Path, schema: int = 4) -> Path:
    """As a version before this one left it: other tables, and at first no mark of ours."""
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE runs (hash TEXT); CREATE TABLE lanes (run TEXT);")
    db.execute(f"PRAGMA user_version={schema}")
    if schema > 3:
        db.execute(f"PRAGMA application_id={OURS}")
    db.commit()
    db.close()
    return path


@pytest.mark.parametrize("schema", [2, 4])
def test_an_older_store_is_refused_in_one_line_and_not_changed(tmp_path, schema):
    path = older_store(tmp_path / "old.sqlite", schema)
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=f"has schema {schema}, and this version knows {SCHEMA}: name another"):
            Store(path, read_only)
    for words in (["runs"], ["export"]):
        done = dgtd(*words, "--store", str(path))
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    assert path.read_bytes() == before


def broken_stores(folder: Path):
    text = folder / "text.sqlite"
    text.write_text("this is no database, it is a letter " * 100)
    newer = folder / "newer.sqlite"
    db = sqlite3.connect(newer)
    db.execute(f"PRAGMA application_id={OURS}")
    db.execute("PRAGMA user_version=99")
    db.execute("CREATE TABLE x (y)")
    db.commit()
    db.close()
    others = [folder / f"other-{version}.sqlite" for version in range(5)]  # numbers that an old store of ours may have
    for version, other in enumerate(others):
        with closing(sqlite3.connect(other)) as db, db:
            db.execute("CREATE TABLE recipes (name)")
            db.execute(f"PRAGMA user_version={version}")
    return {
        **dict.fromkeys(others, "is a database of something else"),
        text: "it is not a dgtd store: name another file",
        newer: "has schema 99, and this version knows",
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
        ((pages,),) = store.query("PRAGMA page_count")
        store.query(f"PRAGMA max_page_count={pages + 1}")
        with pytest.raises(StoreError, match="the disk is full: free some space"):
            execute([Request(spec(steps=5000, checkpoints=1000), 64)], store, InProcess)
        assert len(store.lanes(run_hash(spec()))) == COHORT


def test_a_read_only_store_is_said(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        store.query("PRAGMA query_only=1")
        with pytest.raises(StoreError, match="can't be written: check its permissions"):
            execute([Request(spec(), 4)], store, InProcess)


@pytest.mark.slow
def test_rows_export_to_a_frame(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4), Request(spec(target="cdf", atoms=5), 4)], store, InProcess)
        frame = store.frame()
    assert len(frame) == 2 * COHORT
    assert frame[frame.target == "value"].cramer.isna().all()
    assert frame[frame.target == "cdf"].cramer.notna().all()


@pytest.mark.parametrize("seeds", [1, 15, 16, 17, 32])
def test_exactly_the_lanes_that_are_asked_for_are_read_each_under_its_own_seed(tmp_path, seeds):
    """Of two cohorts: what the trainer measures of a seed that runs alone is what is stored under it."""
    what = spec("random_walk", steps=200)
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(what, 32)], store, InProcess)
        rows, lanes = store.lanes(run_hash(what), seeds), store.settled_lanes(what, seeds)
        assert len(store.lanes(run_hash(what))) == 32
    assert [row.seed for row in rows] == list(range(seeds))
    assert lanes.curves.shape[1] == len(lanes.died) == len(lanes.outcomes) == seeds
    alone = train(trainer_of(what), range(seeds - 1, seeds))
    np.testing.assert_allclose(rows[-1].curves, alone.curves[:, 0], rtol=1e-12)
    np.testing.assert_allclose(lanes.curves[:, -1], alone.curves[:, 0], rtol=1e-12)
    assert len(np.unique(lanes.curves[-1, :, 0].round(9))) == seeds


def test_a_cohort_is_settled_when_every_lane_of_it_is(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(steps=10), 32)], store, InProcess)
        run = run_hash(spec(steps=10))
        assert store.settled(run) == {0, 1}
        store.query("UPDATE lanes SET outcome = 'interrupted', checksum = '' WHERE seed = 20")
        assert store.settled(run) == {0}


# ---------------------------------------------------------------------- damage, locks, media


def flip(path: Path, table: str, column: str, where: str) -> None:
    """One bit of one cell."""
    db = sqlite3.connect(path)
    (cell,) = db.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
    data = bytearray(cell if isinstance(cell, bytes) else cell.encode())
    data[len(data) // 2] ^= 1
    changed = bytes(data) if isinstance(cell, bytes) else data.decode()
    db.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (changed,))
    db.commit()
    db.close()


def forty_two():
    """A job."""
    return {"answer": "forty-two"}


def test_flipped_bits_are_found_and_run_again(tmp_path):
    path, job = tmp_path / "s.sqlite", Job.of(forty_two)
    with Store(path) as store:
        execute([Request(spec(), 32)], store, InProcess, jobs=[job])
        before = rows(store, spec())
    flip(path, "lanes", "curves", "seed = 19")
    flip(path, "jobs", "result", "1")
    said = []
    with Store(path, say=said.append) as store:
        assert len(store.damage()) == 2
        assert execute([Request(spec(), 32)], store, InProcess, jobs=[job]).done == 2
        assert rows(store, spec()) == before
        assert store.job(job.hash)[1] == forty_two()
        assert store.damage() == []
    assert [words.split(": ")[1] for words in said] == ["1 damaged rows are dropped and run again"] * 2


def test_a_damaged_lane_is_left_out_of_what_is_read(tmp_path):
    path = tmp_path / "s.sqlite"
    run_all(path, [Request(spec(), 4)])
    flip(path, "lanes", "curves", "seed = 3")
    done = dgtd("export", "--store", str(path))
    assert done.returncode == 0
    assert done.stdout.count("\n") == COHORT
    assert "lane 3 of run" in done.stderr
    check = dgtd("store", "check", "--store", str(path))
    assert check.returncode == 1
    assert "lane 3 of run" in check.stdout


def test_a_torn_file_is_one_clear_line(tmp_path):
    path = tmp_path / "s.sqlite"
    run_all(path, [Request(spec(steps=5000, checkpoints=500), 64)])
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    for words in (["runs"], ["export"], ["store", "info"]):
        done = dgtd(*words, "--store", str(path))
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "it is damaged (database disk image is malformed): `dgtd store check` says what" in done.stderr


def test_a_store_that_is_deleted_in_the_middle_is_noticed(tmp_path):
    path = tmp_path / "s.sqlite"

    def delete(done, total):
        if done == 1:
            path.unlink()

    with Store(path) as store, pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
        execute([Request(spec(steps=10), 64)], store, InProcess, progress=delete)


@pytest.mark.slow
def test_a_locked_store_is_said_at_once_and_waited_for(tmp_path):
    path, said = tmp_path / "s.sqlite", []
    Store(path).close()
    other = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(2.0, lambda: other.execute("COMMIT"))
    release.start()
    with Store(path, say=said.append) as store:
        execute([Request(spec(steps=10), 16)], store, InProcess)
        assert len(store.lanes(run_hash(spec(steps=10)))) == COHORT
    release.join()
    assert said == [f"store {str(path)!r} is locked by another process: waiting"]


def test_a_lock_that_never_ends_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("dgtd.harness.runs.database.PATIENCE", 0.1)
    path = tmp_path / "s.sqlite"
    Store(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store(path, say=lambda words: None) as store, pytest.raises(StoreError, match="locked by another process for"):
        execute([Request(spec(steps=10), 16)], store, InProcess)


def test_a_backup_is_whole_while_others_write_and_replaces_nothing(tmp_path):
    path, copy = tmp_path / "s.sqlite", tmp_path / "copy.sqlite"
    run_all(path, [Request(spec(), 16)])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM lanes")
    assert dgtd("store", "backup", str(copy), "--store", str(path)).returncode == 0
    writer.execute("ROLLBACK")
    with Store(path) as one, Store(copy) as other:
        assert rows(one, spec()) == rows(other, spec())
        assert other.damage() == []
    again = dgtd("store", "backup", str(copy), "--store", str(path))
    assert again.returncode == 2
    assert "exists: name another file for the copy" in again.stderr


def test_info_says_what_is_there(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        execute([Request(spec(), 16)], store, InProcess, jobs=[Job.of(forty_two)])
    found = json.loads(dgtd("store", "info", "--store", str(path), "--json").stdout)
    assert (found["runs"], found["lanes"], found["jobs"]) == (1, {"budget spent": 16}, {"converged": 1})
    assert "16 budget spent" in dgtd("store", "info", "--store", str(path)).stdout
    assert dgtd("store", "check", "--store", str(path)).returncode == 0


NOBODY = """
import os, sys
from dgtd.harness.runs.store import Store
if os.getuid() == 0:  # root may write anywhere
    os.setgid(65534)
    os.setuid(65534)
with Store(sys.argv[1], read_only=True) as store:
    print(len(store.runs()), store.rows()[0]["rule"])
"""


def test_read_only_media_can_be_read():
    """As a user who may write nothing there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        run_all(path, [Request(spec(), 4)])
        Path(folder).chmod(0o555)
        before = path.read_bytes()
        done = subprocess.run([sys.executable, "-c", NOBODY, str(path)], capture_output=True, text=True, cwd=ROOT)
        assert done.stdout == "1 gtd2\n", done.stderr
        assert path.read_bytes() == before
        Path(folder).chmod(0o755)


def test_runs_with_other_metrics_are_exported_as_one_table(tmp_path):
    """A run that measures less has fewer columns, and comes first."""
    path = tmp_path / "s.sqlite"
    few = replace(spec(), probe=replace(spec().probe, metrics=("rmsve",)))
    run_all(path, [Request(few, 2)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE runs SET created = '1970'")
        db.commit()
    run_all(path, [Request(spec(), 2)])
    for words in (("--out", "x.csv"), ("--format", "parquet", "--out", "x.parquet"), ()):
        done = dgtd("export", "--store", str(path), *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    table = list(csv.DictReader((tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["rmspbe"] == "nan" for row in table] == [True] * 16 + [False] * 16
    assert done.stdout.splitlines()[0] == ",".join(table[0])


def test_a_csv_cell_is_never_a_formula(tmp_path):
    path = tmp_path / "s.sqlite"
    wrong = {"=": "=1+1", "+": "+cmd", "-": "-2+3", "@": "@SUM(A1)", "tab": "\t=1"}
    what = spec()
    columns = len(trainer_of(what).names)
    with Store(path) as store:
        rows = [
            Lane(seed, Outcome.BUDGET_SPENT, -1, -np.ones((len(what.probe.times), columns)), error=text)
            for seed, text in enumerate(wrong.values())
        ]
        names = trainer_of(what).names
        store.save(Cohort(what, 0), Result(run_hash(what), Outcome.BUDGET_SPENT, tuple(rows), names))
    done = dgtd("export", "--store", str(path), cwd=tmp_path)
    table = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert [row["error"] for row in table] == [f"'{text}" for text in wrong.values()]
    assert [float(row["rmspbe"]) for row in table] == [-1.0] * len(wrong)  # a negative number is a number
