"""Where results live: SQLite, one transaction per finished cohort, every outcome a row."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from dgtd.harness.places.world import find_place
from dgtd.harness.plugins import is_file
from dgtd.harness.runs.checkpoints import Checkpoints
from dgtd.harness.runs.database import Database, tell
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lane, Lanes
from dgtd.harness.runs.predictors import shown
from dgtd.harness.runs.spec import COHORT, Outcome, RunSpec
from dgtd.harness.runs.work import Cohort, Job, Result, Work


class LaneError(ValueError):
    """A lane or a job that has no numbers, and why."""

    def __init__(self, who: str, outcome: Outcome, error: str) -> None:
        super().__init__(f"{who}: {outcome}: {error}" if who else f"{outcome}: {error}")
        self.outcome = outcome


class Store(Database):
    """A file of results. Within a run only the parent writes; several runs may share a file."""

    def __init__(self, path: Path | str, read_only: bool = False, say: Callable[[str], None] = tell) -> None:
        super().__init__(path, read_only, say)
        self.checkpoints = None if self.memory else Checkpoints.beside(self.path)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------ writing

    def save(self, work: Work, result: Result) -> None:
        """One transaction; a settled row is never overwritten, an unsettled one is."""
        with self.transaction() as db:
            machine = _machine(db, result.machine)
            if isinstance(work, Cohort):
                self._save_lanes(db, work, result, machine)
            else:
                said = (result.hash, work.to_json(), str(result.outcome), result.value, result.error)
                _upsert(db, "jobs", _JOB, said, (result.seconds, machine, _now(), checksum(said)))
        # A checkpoint is of no use any more, unless the cohort was stopped on its way.
        if self.checkpoints is not None and isinstance(work, Cohort) and result.outcome not in _STOPPED:
            self.checkpoints.remove(result.hash, work.seeds)

    def _save_lanes(self, db: sqlite3.Connection, work: Cohort, result: Result, machine: int) -> None:
        metrics = json.dumps(result.metrics) if result.metrics else ""
        db.execute(
            "INSERT INTO runs (hash, spec, created, metrics, version) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (hash) DO UPDATE SET metrics = excluded.metrics WHERE excluded.metrics != ''",
            (result.hash, work.to_json(), _now(), metrics, version("dgtd-bench")),
        )
        for lane in result.lanes:
            curves = np.ascontiguousarray(lane.curves, dtype="<f8")
            said = (
                result.hash, lane.seed, str(lane.outcome), lane.died, len(curves), curves.tobytes(),
                lane.error, np.asarray(lane.law, "<f8").tobytes(),
            )  # fmt: skip
            _upsert(db, "lanes", _LANE, said, (lane.seconds, machine, _now(), checksum(said)))

    # ------------------------------------------------------------------ what is whole

    def damaged(self, run: str | None = None) -> tuple[list[tuple[str, int]], list[str]]:
        """Rows that do not say what was written: lanes (run, seed) and jobs; of one run, or of all."""
        where, values = ("WHERE run = ?", (run,)) if run else ("", ())
        lanes = [
            (row[0], row[1]) for *row, mark in self.query(f"SELECT {_LANE}, checksum FROM lanes {where}", values)
            if _differs(row, mark)
        ]  # fmt: skip
        if run:
            return lanes, []
        jobs = [row[0] for *row, mark in self.query(f"SELECT {_JOB}, checksum FROM jobs") if _differs(row, mark)]
        return lanes, jobs

    def _drop(self, lanes: Sequence[tuple[str, int]] = (), jobs: Sequence[str] = ()) -> None:
        """Damaged rows are no results: they are run again."""
        with self.transaction() as db:
            db.executemany("DELETE FROM lanes WHERE run = ? AND seed = ?", lanes)
            db.executemany("DELETE FROM jobs WHERE hash = ?", [(job,) for job in jobs])
        self.say(f"store {str(self.path)!r}: {len(lanes) + len(jobs)} damaged rows are dropped and run again")

    def damage(self) -> list[str]:
        """Everything that is wrong with the file, in words."""
        if found := super().damage():
            return found
        lanes, jobs = self.damaged()
        return [f"lane {seed} of run {run} is damaged" for run, seed in lanes] + [f"job {j} is damaged" for j in jobs]

    # ------------------------------------------------------------------ reading

    def settled(self, run: str, size: int = COHORT) -> set[int]:
        """Cohorts, of `size` lanes, whose every lane is settled and whole: what a resume leaves out."""
        if bad := self.damaged(run)[0]:
            self._drop(lanes=bad)
        query = f"SELECT seed / ?, count(*) FROM lanes WHERE run = ? AND outcome IN ({_SETTLED}) GROUP BY 1"
        rows = self.query(query, (size, run))
        return {cohort for cohort, count in rows if count == size}

    def lanes(self, run: str, seeds: int | None = None) -> list[Lane]:
        """The lanes of a run, seeds 0 … seeds − 1, without damaged ones."""
        rows = self.query(
            f"SELECT {_LANE}, checksum, seconds FROM lanes WHERE run = ? AND seed < ? ORDER BY seed",
            (run, 2**62 if seeds is None else int(seeds)),  # sqlite knows no numbers of numpy
        )
        found = []
        for *said, mark, seconds in rows:
            if _differs(said, mark):
                self.say(f"store {str(self.path)!r}: lane {said[1]} of run {run} is damaged and left out")
                continue
            _, seed, outcome, died, count, blob, error, law = said
            curves = np.frombuffer(blob, dtype="<f8").reshape(count, -1) if count else np.zeros((0, 0))
            last = np.frombuffer(law, dtype="<f8")
            found.append(Lane(seed, Outcome(outcome), died, curves, last, seconds, error))
        return found

    def seconds_per_step(self, problem: str, target: str, predictor: str) -> float | None:
        """Of one lane, over all stored runs of this kind; None if there is none."""
        query = (
            "SELECT sum(lanes.seconds), sum(json_extract(spec, '$.probe.times[#-1]')) "
            "FROM lanes JOIN runs ON run = hash "
            "WHERE json_extract(spec, '$.place.problem') = ? AND json_extract(spec, '$.learner.target') = ? "
            f"AND json_extract(spec, '$.learner.predictor.kind') = ? AND outcome IN ({_SETTLED})"
        )
        ((seconds, steps),) = self.query(query, (problem, target, predictor))
        return seconds / steps if steps else None

    def has_job(self, hash_: str) -> bool:
        """Whether a job's result is stored and whole."""
        rows = self.query(f"SELECT {_JOB}, checksum FROM jobs WHERE hash = ?", (hash_,))
        if any(_differs(row, mark) for *row, mark in rows):
            self._drop(jobs=[hash_])
            return False
        return any(Outcome(row[2]).settled for row in rows)

    def result(self, job: Job) -> Any:
        """What a job returned; KeyError if it was not run, LaneError if it has no result."""
        outcome, value, error = self.job(job.hash)
        if not outcome.settled:
            raise LaneError("", outcome, error)
        return value

    def parameters_of(self, function: str) -> list[dict[str, Any]]:
        """Of every stored job that calls a function."""
        query = "SELECT json_extract(job, '$.parameters') FROM jobs WHERE json_extract(job, '$.function') = ?"
        return [json.loads(text) for (text,) in self.query(query, (function,))]

    def job(self, hash_: str) -> tuple[Outcome, Any, str]:
        """(outcome, result, error) of a job that was run."""
        rows = self.query("SELECT outcome, result, error FROM jobs WHERE hash = ?", (hash_,))
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
        ((found,),) = self.query(query, (hash_, hash_, 2**62 if seeds is None else seeds))
        return float(found)

    def settled_lanes(self, spec: RunSpec, seeds: int) -> Lanes:
        """Seeds 0 … seeds − 1 of a run; KeyError if some are not there, LaneError if some have no numbers."""
        run = run_hash(spec)
        rows = self.lanes(run, seeds)
        if len(rows) < seeds:
            raise KeyError(run)
        for row in rows:
            if not row.outcome.settled:
                raise LaneError(f"{spec.learner.rule.name} on {spec.place.problem}", row.outcome, row.error)
        return Lanes.of_rows(rows, spec.times(), self.metrics(run))

    def metrics(self, run: str) -> tuple[str, ...]:
        """What the columns of a run's curves are."""
        rows = self.query("SELECT metrics FROM runs WHERE hash = ?", (run,))
        return tuple(json.loads(rows[0][0])) if rows and rows[0][0] else ()

    def runs(self) -> list[dict[str, Any]]:
        """Every run with its settings, and how many lanes ended how."""
        counts: dict[str, dict[str, int]] = {}
        for run, outcome, count in self.query("SELECT run, outcome, count(*) FROM lanes GROUP BY run, outcome"):
            counts.setdefault(run, {})[outcome] = count
        rows = self.query("SELECT hash, spec, created, version FROM runs ORDER BY created, hash")
        return [
            {"run": run, "created": created, "outcomes": counts.get(run, {})}
            | _settings(RunSpec.from_json(spec))
            | {"version": version_}
            for run, spec, created, version_ in rows
        ]

    def counts(self) -> dict[str, Any]:
        """How much there is: runs, lanes and jobs by outcome, machines."""
        out: dict[str, Any] = {}
        for table in ("runs", "machines"):
            ((out[table],),) = self.query(f"SELECT count(*) FROM {table}")
        for table in ("lanes", "jobs"):
            out[table] = dict(self.query(f"SELECT outcome, count(*) FROM {table} GROUP BY outcome"))
        return out

    def frame(self) -> Any:
        """Every lane's final metrics as a pandas frame, one row per lane."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row per lane: its run's settings, its outcome and its final metrics."""
        runs = self.runs()
        names = {run["run"]: self.metrics(run["run"]) for run in runs}
        columns = dict.fromkeys(name for each in names.values() for name in each)
        scored = {run: self._scores(run, spec) for run, spec in self.specs().items()}
        out = []
        for run in runs:
            shared = {key: value for key, value in run.items() if key != "outcomes"}
            for lane in self.lanes(run["run"]):
                final = dict(zip(names[run["run"]], lane.curves[-1], strict=True)) if lane.curves.size else {}
                score = scored.get(run["run"], {}).get(lane.seed, float("nan"))
                out.append(
                    shared
                    | {"seed": lane.seed, "outcome": str(lane.outcome), "died": lane.died, "error": lane.error}
                    | {"score": score}
                    | {name: float(final.get(name, np.nan)) for name in columns}
                )
        return out

    def _scores(self, run: str, text: str) -> dict[int, float]:
        """Seed → the score that its place tests, ±∞ for a lane that diverged; nothing where it was not measured."""
        spec, names = RunSpec.from_json(text), self.metrics(run)
        try:
            score = find_place(spec.place.problem).scores[0]
        except ValueError:
            if not is_file(spec.place.problem):
                raise
            return {}
        rows = [lane for lane in self.lanes(run) if lane.curves.size and lane.outcome.settled]
        if not rows or score.metric not in names or len(spec.probe.times) < 2:
            return {}
        found = score.of(Lanes.of_rows(rows, spec.times(), names))
        return dict(zip((row.seed for row in rows), found.tolist(), strict=True))

    def tidy(self, keep: Callable[[dict[str, Any]], bool] = lambda run: True) -> Iterator[dict[str, Any]]:
        """One row per lane, checkpoint and metric, of the runs to keep."""
        times = {run: json.loads(spec)["probe"]["times"] for run, spec in self.specs().items()}
        for run in self.runs():
            if not keep(run):
                continue
            shared = settings_of(run)
            names = self.metrics(run["run"])
            for lane in self.lanes(run["run"]):
                for step, values in zip(times[run["run"]], lane.curves, strict=False):
                    for metric, value in zip(names, values, strict=True):
                        yield shared | {"seed": lane.seed, "step": step, "metric": metric, "value": float(value)}

    def specs(self) -> dict[str, str]:
        """run → its specification, as JSON."""
        return dict(self.query("SELECT hash, spec FROM runs"))


def settings_of(run: dict[str, Any]) -> dict[str, Any]:
    """The columns of a tidy row that its run has."""
    return {key: run[key] for key in _TIDY if key in run}


def _settings(spec: RunSpec) -> dict[str, Any]:
    """A specification as one flat row."""
    learner = spec.learner
    names = ("target", "atoms", "projection", "alpha", "beta", "radius", "average", "extragradient")
    return {
        "problem": spec.place.problem, "predictor": shown(learner.predictor), "schedule": learner.schedule.name,
        "steps": spec.probe.steps, **{name: getattr(learner, name) for name in names},
        "rule": learner.rule.name, "root_seed": spec.root_seed,
    }  # fmt: skip


_TIDY = (
    "run", "problem", "rule", "predictor", "target", "atoms", "projection", "alpha", "beta", "schedule", "root_seed",
)  # fmt: skip
# What a row says, and its checksum is of: how long it took and where is not part of a result.
_LANE = "run, seed, outcome, died, checkpoints, curves, error, law"
_JOB = "hash, job, outcome, result, error"
_STOPPED = (Outcome.INTERRUPTED, Outcome.TIMED_OUT)
_SETTLED = ", ".join(f"'{outcome}'" for outcome in Outcome if outcome.settled)


def checksum(row: Iterable[Any]) -> str:
    """Of a row's columns, in order."""
    made = hashlib.blake2b(digest_size=8)
    for part in row:
        data = part if isinstance(part, bytes) else str(part).encode()
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


def _differs(row: Iterable[Any], mark: str) -> bool:
    """Whether a bit has flipped since it was written."""
    return checksum(row) != mark


def _upsert(db: sqlite3.Connection, table: str, columns: str, said: tuple[Any, ...], rest: tuple[Any, ...]) -> None:
    """A row; one that is there and settled stays as it is. The first columns that make its key are not changed."""
    keys = {"lanes": ("run", "seed"), "jobs": ("hash",)}[table]
    names = [*columns.split(", "), "seconds", "machine", "created", "checksum"]
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    db.execute(
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes} WHERE {table}.outcome NOT IN ({_SETTLED})",
        (*said, *rest),
    )


def _machine(db: sqlite3.Connection, facts: str) -> int:
    db.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (facts,))
    row: tuple[int] = db.execute("SELECT id FROM machines WHERE facts = ?", (facts,)).fetchone()
    return row[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
