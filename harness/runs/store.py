"""Where results live: SQLite, one transaction per finished cohort, every outcome a row."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Floats, Integers
from harness.runs.cohort import CohortResult
from harness.runs.job import Job, JobResult
from harness.runs.predictors import shown
from harness.runs.spec import COHORT, FileRef, Outcome, PredictorSpec, RunSpec
from harness.runs.trial import Trial

SCHEMA = 3

_MIGRATIONS = {
    1: """
        CREATE TABLE runs (hash TEXT PRIMARY KEY, spec TEXT NOT NULL, created TEXT NOT NULL);
        CREATE TABLE lanes (
            run TEXT NOT NULL REFERENCES runs(hash), seed INTEGER NOT NULL, outcome TEXT NOT NULL,
            died INTEGER NOT NULL, checkpoints INTEGER NOT NULL, curves BLOB NOT NULL, seconds REAL NOT NULL,
            what TEXT NOT NULL,
            PRIMARY KEY (run, seed)
        ) WITHOUT ROWID;
    """,
    2: """
        CREATE TABLE machines (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
        ALTER TABLE lanes ADD COLUMN machine INTEGER REFERENCES machines(id);
        CREATE INDEX lanes_by_outcome ON lanes (run, outcome);
    """,
    # A run names its metrics and its code; those of older versions have none, and are never reused.
    3: """
        ALTER TABLE lanes RENAME COLUMN what TO error;
        ALTER TABLE lanes ADD COLUMN law BLOB NOT NULL DEFAULT x'';
        ALTER TABLE runs ADD COLUMN metrics TEXT NOT NULL DEFAULT '';
        ALTER TABLE runs ADD COLUMN version TEXT NOT NULL DEFAULT '';
        CREATE TABLE jobs (
            hash TEXT PRIMARY KEY, job TEXT NOT NULL, outcome TEXT NOT NULL, result TEXT NOT NULL,
            seconds REAL NOT NULL, error TEXT NOT NULL, machine INTEGER REFERENCES machines(id), created TEXT NOT NULL
        ) WITHOUT ROWID;
    """,
}
_OLD_METRICS = {"value": ("rmspbe", "rmsve", "size"), "cdf": ("rmspbe", "rmsve", "size", "rdmspbe", "cramer")}


class StoreError(ValueError):
    """A store that can't be used, in words."""


@dataclass(frozen=True)
class StoredLane:
    """A row: curves [checkpoints, metrics]."""

    seed: int
    outcome: Outcome
    died: int
    curves: Floats
    seconds: float
    error: str
    law: Floats


class Store:
    """A file of results. Within a run only the parent writes; several runs may share a file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with self._words():
            if str(path) != ":memory:":
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60.0, isolation_level=None)
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found > SCHEMA:
            self._db.close()
            raise StoreError(
                f"store {str(path)!r} has schema {found}, and this version knows {SCHEMA}: "
                "update dgtd, or name another store"
            )
        with self._words():
            if found < SCHEMA:
                self._migrate()

    def _migrate(self) -> None:
        if not self._is_ours():
            raise StoreError(f"store {str(self.path)!r} is a database of something else: name another store")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            # Read again under the lock: another process may have migrated since.
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            for version in range(found + 1, SCHEMA + 1):
                for statement in _MIGRATIONS[version].split(";"):
                    if statement.strip():
                        self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={SCHEMA}")
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._db.in_transaction:  # a full disk ends the transaction by itself
            self._db.execute("ROLLBACK")

    def _is_ours(self) -> bool:
        """Empty, or with a version of our schema."""
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return not tables or bool(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _words(self) -> Iterator[None]:
        """sqlite's errors, and the file system's, as one line that says what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            advice = {
                "file is not a database": "it is not a dgtd store: name another file",
                "attempt to write a readonly database": "it can't be written: check its permissions",
                "database or disk is full": "the disk is full: free some space and run the same command again",
                "unable to open database file": "it can't be opened: check the folder and its permissions",
            }.get(text, text)
            raise StoreError(f"store {str(self.path)!r}: {advice}") from error
        except OSError as error:
            raise StoreError(f"store {str(self.path)!r} can't be opened: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ writing

    def save(self, spec: RunSpec, result: CohortResult) -> None:
        """One transaction; a settled row is never overwritten, an unsettled one is."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        each = result.seconds / max(len(result.lanes), 1)
        metrics = json.dumps(result.metrics) if result.metrics else ""
        with self._words():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute(
                    "INSERT INTO runs (hash, spec, created, metrics, version) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (hash) DO UPDATE SET metrics = excluded.metrics WHERE excluded.metrics != ''",
                    (result.run, spec.to_json(), now, metrics, version("dgtd-bench")),
                )
                machine = self._machine(result.machine)
                for lane in result.lanes:
                    curves = np.ascontiguousarray(lane.curves, dtype="<f8")
                    row = (
                        result.run, lane.seed, str(lane.outcome), lane.died, len(curves), curves.tobytes(),
                        each, result.error, machine, np.asarray(lane.law, "<f8").tobytes(),
                    )  # fmt: skip
                    self._db.execute(
                        "INSERT INTO lanes "
                        "(run, seed, outcome, died, checkpoints, curves, seconds, error, machine, law) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, seed) DO UPDATE SET "
                        "outcome = excluded.outcome, died = excluded.died, checkpoints = excluded.checkpoints, "
                        "curves = excluded.curves, seconds = excluded.seconds, error = excluded.error, "
                        f"machine = excluded.machine, law = excluded.law WHERE lanes.outcome NOT IN ({_SETTLED})",
                        row,
                    )
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def save_job(self, job: Job, result: JobResult) -> None:
        """One transaction; a settled result is never overwritten."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._words():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                row = (
                    result.hash, job.to_json(), str(result.outcome), result.result, result.seconds, result.error,
                    self._machine(result.machine), now,
                )  # fmt: skip
                self._db.execute(
                    "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET "
                    "outcome = excluded.outcome, result = excluded.result, seconds = excluded.seconds, "
                    "error = excluded.error, machine = excluded.machine, created = excluded.created "
                    f"WHERE jobs.outcome NOT IN ({_SETTLED})",
                    row,
                )
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _machine(self, facts: str) -> int:
        self._db.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (facts,))
        row: tuple[int] = self._db.execute("SELECT id FROM machines WHERE facts = ?", (facts,)).fetchone()
        return row[0]

    # ------------------------------------------------------------------ reading

    def settled(self, run: str, size: int = COHORT) -> set[int]:
        """Cohorts, of `size` lanes, whose every lane is settled: what a resume leaves out."""
        rows = self._db.execute(
            f"SELECT seed / ?, count(*) FROM lanes WHERE run = ? AND outcome IN ({_SETTLED}) GROUP BY 1", (size, run)
        )
        return {cohort for cohort, count in rows if count == size}

    def lanes(self, run: str, seeds: int | None = None) -> list[StoredLane]:
        """The lanes of a run, seeds 0 … seeds − 1."""
        rows = self._db.execute(
            "SELECT seed, outcome, died, checkpoints, curves, seconds, error, law FROM lanes "
            "WHERE run = ? AND seed < ? ORDER BY seed",
            (run, 2**62 if seeds is None else seeds),
        )
        return [
            StoredLane(
                seed, Outcome(outcome), died, _array(blob, count), seconds, error, np.frombuffer(law, dtype="<f8")
            )
            for seed, outcome, died, count, blob, seconds, error, law in rows
        ]

    def seconds_per_step(self, problem: str, target: str, predictor: str) -> float | None:
        """Of one lane, over all stored runs of this kind; None if there is none."""
        query = (
            "SELECT sum(lanes.seconds), sum(json_extract(spec, '$.probe.times[#-1]')) "
            "FROM lanes JOIN runs ON run = hash "
            "WHERE json_extract(spec, '$.place.problem') = ? AND json_extract(spec, '$.learner.target') = ? "
            f"AND json_extract(spec, '$.learner.predictor.kind') = ? AND outcome IN ({_SETTLED})"
        )
        seconds, steps = self._db.execute(query, (problem, target, predictor)).fetchone()
        return seconds / steps if steps else None

    def has_job(self, hash_: str) -> bool:
        """Whether a job's result is stored."""
        query = f"SELECT count(*) FROM jobs WHERE hash = ? AND outcome IN ({_SETTLED})"
        return bool(self._db.execute(query, (hash_,)).fetchone()[0])

    def job(self, hash_: str) -> tuple[Outcome, Any, str]:
        """(outcome, result, error) of a job that was run."""
        row = self._db.execute("SELECT outcome, result, error FROM jobs WHERE hash = ?", (hash_,)).fetchone()
        if row is None:
            raise KeyError(hash_)
        return Outcome(row[0]), json.loads(row[1]) if row[1] else None, row[2]

    def trial(self, run: str, times: Integers, seeds: int) -> Trial:
        """The settled lanes of a run, seeds 0 … seeds − 1, as they were simulated."""
        lanes = self.lanes(run, seeds)
        curves = np.stack([lane.curves for lane in lanes], axis=1)
        died, law = np.array([lane.died for lane in lanes]), np.stack([lane.law for lane in lanes])
        return Trial(times, curves, died, self.metrics(run), law)

    def metrics(self, run: str) -> tuple[str, ...]:
        """What the columns of a run's curves are."""
        row = self._db.execute("SELECT metrics, spec FROM runs WHERE hash = ?", (run,)).fetchone()
        return _metrics(*row) if row else ()

    def runs(self) -> list[dict[str, Any]]:
        """Every run with its settings, and how many lanes ended how. `reusable` is False for older versions' runs."""
        counts: dict[str, dict[str, int]] = {}
        for run, outcome, count in self._db.execute("SELECT run, outcome, count(*) FROM lanes GROUP BY run, outcome"):
            counts.setdefault(run, {})[outcome] = count
        rows = self._db.execute("SELECT hash, spec, created, version FROM runs ORDER BY created, hash")
        return [
            {"run": run, "created": created, "outcomes": counts.get(run, {}), "reusable": bool(version_)}
            | _settings(json.loads(spec), version_)
            for run, spec, created, version_ in rows
        ]

    @property
    def older(self) -> int:
        """Runs that an older version of the schema wrote: listed and exported, never reused."""
        count: int = self._db.execute("SELECT count(*) FROM runs WHERE version = ''").fetchone()[0]
        return count

    def frame(self) -> Any:
        """Every lane's final metrics as a pandas frame, one row per lane."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row per lane: its run's settings, its outcome and its final metrics."""
        runs = self.runs()
        names = {run["run"]: self.metrics(run["run"]) for run in runs}
        columns = dict.fromkeys(name for each in names.values() for name in each)
        out = []
        for run in runs:
            shared = {key: value for key, value in run.items() if key not in ("outcomes", "reusable")}
            for lane in self.lanes(run["run"]):
                final = dict(zip(names[run["run"]], lane.curves[-1], strict=True)) if lane.curves.size else {}
                out.append(
                    shared
                    | {"seed": lane.seed, "outcome": str(lane.outcome), "died": lane.died, "error": lane.error}
                    | {name: float(final.get(name, np.nan)) for name in columns}
                )
        return out


def _metrics(names: str, spec: str) -> tuple[str, ...]:
    return tuple(json.loads(names)) if names else _OLD_METRICS.get(json.loads(spec).get("target", ""), ())


def _predictor(values: dict[str, Any]) -> str:
    file = values["file"] and FileRef(**values["file"])
    return shown(PredictorSpec(**values | {"hidden": tuple(values["hidden"]), "file": file}))


def _settings(spec: dict[str, Any], version_: str) -> dict[str, Any]:
    """A specification as one flat row, the same columns whichever version wrote it."""
    if "learner" in spec:
        learner, probe = spec["learner"], spec["probe"]
        here = {"problem": spec["place"]["problem"], "steps": probe["times"][-1]}
        named = {"schedule": learner["schedule"]["name"], "predictor": _predictor(learner["predictor"])}
        flat = learner | here | named
    else:
        flat, version_ = spec, spec.get("version", "")
    columns = (
        "problem", "predictor", "target", "atoms", "projection", "alpha", "beta", "schedule", "radius", "average",
        "extragradient", "steps",
    )  # fmt: skip
    found = {"predictor": "linear"} | {name: flat[name] for name in columns if name in flat}
    return found | {"rule": flat["rule"]["name"], "root_seed": spec.get("root_seed", 0), "version": version_}


_SETTLED = ", ".join(f"'{outcome}'" for outcome in Outcome if outcome.settled)


def _array(blob: bytes, checkpoints: int) -> Floats:
    flat = np.frombuffer(blob, dtype="<f8")
    return flat.reshape(checkpoints, -1) if checkpoints else np.zeros((0, 0))
