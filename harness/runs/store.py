"""Where results live: SQLite, one transaction per finished cohort, every outcome a row."""

from __future__ import annotations

import json
import platform
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.runs.cohort import CohortResult
from harness.runs.spec import COHORT, Outcome, RunSpec

SCHEMA = 2

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
}


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
    what: str


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
        """Let go of the file."""
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
        with self._words():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?)", (spec.hash, spec.to_json(), now))
                machine = self._machine()
                for lane in result.lanes:
                    curves = np.ascontiguousarray(lane.curves, dtype="<f8")
                    row = (
                        spec.hash, lane.seed, str(lane.outcome), lane.died, len(curves), curves.tobytes(),
                        each, result.problem, machine,
                    )  # fmt: skip
                    self._db.execute(
                        "INSERT INTO lanes (run, seed, outcome, died, checkpoints, curves, seconds, what, machine) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, seed) DO UPDATE SET "
                        "outcome = excluded.outcome, died = excluded.died, checkpoints = excluded.checkpoints, "
                        "curves = excluded.curves, seconds = excluded.seconds, what = excluded.what, "
                        f"machine = excluded.machine WHERE lanes.outcome NOT IN ({_SETTLED})",
                        row,
                    )
                self._db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def _machine(self) -> int:
        facts = machine_facts()
        self._db.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (facts,))
        row: tuple[int] = self._db.execute("SELECT id FROM machines WHERE facts = ?", (facts,)).fetchone()
        return row[0]

    # ------------------------------------------------------------------ reading

    def settled(self, run: str) -> set[int]:
        """Cohorts of a run whose every lane is settled: what a resume leaves out."""
        rows = self._db.execute(
            f"SELECT seed / {COHORT}, count(*) FROM lanes WHERE run = ? AND outcome IN ({_SETTLED}) GROUP BY 1", (run,)
        )
        return {cohort for cohort, count in rows if count == COHORT}

    def lanes(self, run: str, seeds: int | None = None) -> list[StoredLane]:
        """The lanes of a run, seeds 0 … seeds − 1."""
        rows = self._db.execute(
            "SELECT seed, outcome, died, checkpoints, curves, seconds, what FROM lanes "
            "WHERE run = ? AND seed < ? ORDER BY seed",
            (run, 2**62 if seeds is None else seeds),
        )
        return [
            StoredLane(seed, Outcome(outcome), died, _array(blob, count), seconds, what)
            for seed, outcome, died, count, blob, seconds, what in rows
        ]

    def runs(self) -> list[dict[str, Any]]:
        """Every run with its specification and how many lanes ended how."""
        counts: dict[str, dict[str, int]] = {}
        for run, outcome, count in self._db.execute("SELECT run, outcome, count(*) FROM lanes GROUP BY run, outcome"):
            counts.setdefault(run, {})[outcome] = count
        rows = self._db.execute("SELECT hash, spec, created FROM runs ORDER BY created, hash")
        return [
            {"run": run, "created": created, "outcomes": counts.get(run, {}), "spec": json.loads(spec)}
            for run, spec, created in rows
        ]

    def frame(self) -> Any:
        """Every lane's final metrics as a pandas frame, one row a lane."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row a lane: its run's specification, its outcome and its final metrics."""
        from harness.oracle.metrics import CDF_METRICS, VALUE_METRICS

        out = []
        for run in self.runs():
            spec = run["spec"]
            names = CDF_METRICS if spec["target"] == "cdf" else VALUE_METRICS
            shared = {"run": run["run"], "created": run["created"], **spec, "rule": spec["rule"]["name"]}
            for lane in self.lanes(run["run"]):
                final = dict(zip(names, lane.curves[-1], strict=True)) if lane.curves.size else {}
                row = {key: float(final.get(key, np.nan)) for key in CDF_METRICS}
                out.append(
                    shared
                    | {"seed": lane.seed, "outcome": str(lane.outcome), "died": lane.died, "what": lane.what}
                    | row
                )
        return out


_SETTLED = ", ".join(f"'{outcome}'" for outcome in Outcome if outcome.settled)


def _array(blob: bytes, checkpoints: int) -> Floats:
    flat = np.frombuffer(blob, dtype="<f8")
    return flat.reshape(checkpoints, -1) if checkpoints else np.zeros((0, 0))


@cache
def machine_facts() -> str:
    """Where and with what a lane was run."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("numpy", "numba", "torch", "scipy", "dgtd-bench")}
    facts = {"machine": platform.machine(), "system": platform.platform(), "python": sys.version.split()[0], **packages}
    return json.dumps(facts, sort_keys=True)
