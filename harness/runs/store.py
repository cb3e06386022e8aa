"""Where results live: SQLite, one transaction per finished cohort, every outcome a row."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Floats, Integers
from harness.runs.checkpoints import Checkpoints
from harness.runs.cohort import CohortResult
from harness.runs.database import Database, tell
from harness.runs.job import Job, JobResult
from harness.runs.predictors import shown
from harness.runs.spec import COHORT, FileRef, Outcome, PredictorSpec, RunSpec
from harness.runs.trial import Trial

_OLD_METRICS = {"value": ("rmspbe", "rmsve", "size"), "cdf": ("rmspbe", "rmsve", "size", "rdmspbe", "cramer")}


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

    def __init__(self, path: Path | str, read_only: bool = False, say: Callable[[str], None] = tell) -> None:
        self.path, self.say = Path(path), say
        self._db = Database(path, read_only, say)
        self.checkpoints = None if self._db.memory else Checkpoints.beside(self.path)

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
        each = result.seconds / max(len(result.lanes), 1)
        metrics = json.dumps(result.metrics) if result.metrics else ""
        with self._db.transaction() as db:
            db.execute(
                "INSERT INTO runs (hash, spec, created, metrics, version) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (hash) DO UPDATE SET metrics = excluded.metrics WHERE excluded.metrics != ''",
                (result.run, spec.to_json(), _now(), metrics, version("dgtd-bench")),
            )
            machine = _machine(db, result.machine)
            for lane in result.lanes:
                curves = np.ascontiguousarray(lane.curves, dtype="<f8")
                said = (
                    result.run, lane.seed, str(lane.outcome), lane.died, len(curves), curves.tobytes(),
                    result.error, np.asarray(lane.law, "<f8").tobytes(),
                )  # fmt: skip
                db.execute(
                    f"INSERT INTO lanes ({_LANE}, seconds, machine, checksum) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, seed) DO UPDATE SET "
                    "outcome = excluded.outcome, died = excluded.died, checkpoints = excluded.checkpoints, "
                    "curves = excluded.curves, error = excluded.error, law = excluded.law, "
                    "seconds = excluded.seconds, machine = excluded.machine, checksum = excluded.checksum "
                    f"WHERE lanes.outcome NOT IN ({_SETTLED})",
                    (*said, each, machine, checksum(said)),
                )

    def save_job(self, job: Job, result: JobResult) -> None:
        """One transaction; a settled result is never overwritten."""
        said = (result.hash, job.to_json(), str(result.outcome), result.result, result.error)
        with self._db.transaction() as db:
            db.execute(
                f"INSERT INTO jobs ({_JOB}, seconds, machine, created, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (hash) DO UPDATE SET outcome = excluded.outcome, result = excluded.result, "
                "error = excluded.error, seconds = excluded.seconds, machine = excluded.machine, "
                "created = excluded.created, checksum = excluded.checksum "
                f"WHERE jobs.outcome NOT IN ({_SETTLED})",
                (*said, result.seconds, _machine(db, result.machine), _now(), checksum(said)),
            )

    # ------------------------------------------------------------------ what is whole

    def damaged(self, run: str | None = None) -> tuple[list[tuple[str, int]], list[str]]:
        """Rows that do not say what was written: lanes (run, seed) and jobs; of one run, or of all."""
        where, values = ("WHERE run = ?", (run,)) if run else ("", ())
        lanes = [
            (row[0], row[1]) for *row, mark in self._db.query(f"SELECT {_LANE}, checksum FROM lanes {where}", values)
            if _differs(row, mark)
        ]  # fmt: skip
        if run:
            return lanes, []
        jobs = [row[0] for *row, mark in self._db.query(f"SELECT {_JOB}, checksum FROM jobs") if _differs(row, mark)]
        return lanes, jobs

    def _drop(self, lanes: Sequence[tuple[str, int]] = (), jobs: Sequence[str] = ()) -> None:
        """Damaged rows are no results: they are run again."""
        with self._db.transaction() as db:
            db.executemany("DELETE FROM lanes WHERE run = ? AND seed = ?", lanes)
            db.executemany("DELETE FROM jobs WHERE hash = ?", [(job,) for job in jobs])
        self.say(f"store {str(self.path)!r}: {len(lanes) + len(jobs)} damaged rows are dropped and run again")

    def backup(self, path: Path) -> None:
        """A copy that is whole, also while others write."""
        self._db.backup(path)

    def damage(self) -> list[str]:
        """Everything that is wrong with the file, in words."""
        found = self._db.damage()
        if found:
            return found
        lanes, jobs = self.damaged()
        return [f"lane {seed} of run {run} is damaged" for run, seed in lanes] + [f"job {j} is damaged" for j in jobs]

    # ------------------------------------------------------------------ reading

    def settled(self, run: str, size: int = COHORT) -> set[int]:
        """Cohorts, of `size` lanes, whose every lane is settled and whole: what a resume leaves out."""
        if bad := self.damaged(run)[0]:
            self._drop(lanes=bad)
        query = f"SELECT seed / ?, count(*) FROM lanes WHERE run = ? AND outcome IN ({_SETTLED}) GROUP BY 1"
        rows = self._db.query(query, (size, run))
        return {cohort for cohort, count in rows if count == size}

    def lanes(self, run: str, seeds: int | None = None) -> list[StoredLane]:
        """The lanes of a run, seeds 0 … seeds − 1, without damaged ones."""
        rows = self._db.query(
            f"SELECT {_LANE}, checksum, seconds FROM lanes WHERE run = ? AND seed < ? ORDER BY seed",
            (run, 2**62 if seeds is None else seeds),
        )
        found = []
        for *said, mark, seconds in rows:
            if _differs(said, mark):
                self.say(f"store {str(self.path)!r}: lane {said[1]} of run {run} is damaged and left out")
                continue
            _, seed, outcome, died, count, blob, error, law = said
            curves, last = _array(blob, count), np.frombuffer(law, dtype="<f8")
            found.append(StoredLane(seed, Outcome(outcome), died, curves, seconds, error, last))
        return found

    def seconds_per_step(self, problem: str, target: str, predictor: str) -> float | None:
        """Of one lane, over all stored runs of this kind; None if there is none."""
        query = (
            "SELECT sum(lanes.seconds), sum(json_extract(spec, '$.probe.times[#-1]')) "
            "FROM lanes JOIN runs ON run = hash "
            "WHERE json_extract(spec, '$.place.problem') = ? AND json_extract(spec, '$.learner.target') = ? "
            f"AND json_extract(spec, '$.learner.predictor.kind') = ? AND outcome IN ({_SETTLED})"
        )
        ((seconds, steps),) = self._db.query(query, (problem, target, predictor))
        return seconds / steps if steps else None

    def has_job(self, hash_: str) -> bool:
        """Whether a job's result is stored and whole."""
        rows = self._db.query(f"SELECT {_JOB}, checksum FROM jobs WHERE hash = ?", (hash_,))
        if any(_differs(row, mark) for *row, mark in rows):
            self._drop(jobs=[hash_])
            return False
        return any(Outcome(row[2]).settled for row in rows)

    def job(self, hash_: str) -> tuple[Outcome, Any, str]:
        """(outcome, result, error) of a job that was run."""
        rows = self._db.query("SELECT outcome, result, error FROM jobs WHERE hash = ?", (hash_,))
        if not rows:
            raise KeyError(hash_)
        ((outcome, result, error),) = rows
        return Outcome(outcome), json.loads(result) if result else None, error

    def seconds(self, hash_: str, seeds: int | None = None) -> float:
        """What a job took, or the lanes of a run, seeds 0 … seeds − 1."""
        query = (
            "SELECT (SELECT coalesce(sum(seconds), 0) FROM jobs WHERE hash = ?) "
            "+ (SELECT coalesce(sum(seconds), 0) FROM lanes WHERE run = ? AND seed < ?)"
        )
        ((found,),) = self._db.query(query, (hash_, hash_, 2**62 if seeds is None else seeds))
        return float(found)

    def trial(self, run: str, times: Integers, seeds: int) -> Trial:
        """The settled lanes of a run, seeds 0 … seeds − 1, as they were simulated."""
        lanes = self.lanes(run, seeds)
        curves = np.stack([lane.curves for lane in lanes], axis=1)
        died, law = np.array([lane.died for lane in lanes]), np.stack([lane.law for lane in lanes])
        return Trial(times, curves, died, self.metrics(run), law)

    def metrics(self, run: str) -> tuple[str, ...]:
        """What the columns of a run's curves are."""
        rows = self._db.query("SELECT metrics, spec FROM runs WHERE hash = ?", (run,))
        return _metrics(*rows[0]) if rows else ()

    def runs(self) -> list[dict[str, Any]]:
        """Every run with its settings, and how many lanes ended how. `reusable` is False for older versions' runs."""
        counts: dict[str, dict[str, int]] = {}
        for run, outcome, count in self._db.query("SELECT run, outcome, count(*) FROM lanes GROUP BY run, outcome"):
            counts.setdefault(run, {})[outcome] = count
        rows = self._db.query("SELECT hash, spec, created, version FROM runs ORDER BY created, hash")
        return [
            {"run": run, "created": created, "outcomes": counts.get(run, {}), "reusable": bool(version_)}
            | _settings(json.loads(spec), version_)
            for run, spec, created, version_ in rows
        ]

    @property
    def older(self) -> int:
        """Runs that an older version of the schema wrote: listed and exported, never reused."""
        ((count,),) = self._db.query("SELECT count(*) FROM runs WHERE version = ''")
        return int(count)

    def counts(self) -> dict[str, Any]:
        """How much there is: runs, lanes and jobs by outcome, machines."""
        out: dict[str, Any] = {}
        for table in ("runs", "machines"):
            ((out[table],),) = self._db.query(f"SELECT count(*) FROM {table}")
        for table in ("lanes", "jobs"):
            out[table] = dict(self._db.query(f"SELECT outcome, count(*) FROM {table} GROUP BY outcome"))
        return out | {"older runs": self.older}

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

    def tidy(self, keep: Callable[[dict[str, Any]], bool] = lambda run: True) -> Iterator[dict[str, Any]]:
        """One row per lane, checkpoint and metric, of the runs to keep; older versions' runs name no checkpoints."""
        times = {run: json.loads(spec).get("probe", {}).get("times") for run, spec in self.specs().items()}
        for run in self.runs():
            if times[run["run"]] is None or not keep(run):
                continue
            shared = settings_of(run)
            names = self.metrics(run["run"])
            for lane in self.lanes(run["run"]):
                for step, values in zip(times[run["run"]], lane.curves, strict=False):
                    for metric, value in zip(names, values, strict=True):
                        yield shared | {"seed": lane.seed, "step": step, "metric": metric, "value": float(value)}

    def specs(self) -> dict[str, str]:
        """run → its specification, as JSON."""
        return dict(self._db.query("SELECT hash, spec FROM runs"))


def settings_of(run: dict[str, Any]) -> dict[str, Any]:
    """The columns of a tidy row that its run has."""
    return {key: run[key] for key in _TIDY if key in run}


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


_TIDY = (
    "run", "problem", "rule", "predictor", "target", "atoms", "projection", "alpha", "beta", "schedule", "root_seed",
)  # fmt: skip
# What a row says, and its checksum is of: how long it took and where is not part of a result.
_LANE = "run, seed, outcome, died, checkpoints, curves, error, law"
_JOB = "hash, job, outcome, result, error"
_SETTLED = ", ".join(f"'{outcome}'" for outcome in Outcome if outcome.settled)


def _array(blob: bytes, checkpoints: int) -> Floats:
    flat = np.frombuffer(blob, dtype="<f8")
    return flat.reshape(checkpoints, -1) if checkpoints else np.zeros((0, 0))


def checksum(row: Iterable[Any]) -> str:
    """Of a row's columns, in order."""
    made = hashlib.blake2b(digest_size=8)
    for part in row:
        data = part if isinstance(part, bytes) else str(part).encode()
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


def _differs(row: Iterable[Any], mark: str) -> bool:
    """Whether a bit has flipped since it was written; rows of older versions carry no mark."""
    return bool(mark) and checksum(row) != mark


def _machine(db: sqlite3.Connection, facts: str) -> int:
    db.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (facts,))
    row: tuple[int] = db.execute("SELECT id FROM machines WHERE facts = ?", (facts,)).fetchone()
    return row[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
