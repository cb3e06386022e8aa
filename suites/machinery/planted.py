"""Runs whose lanes are given: what is stored, resumed and compared then is known, and nothing is simulated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.runs.cohort import CohortResult, Lane, Task
from harness.runs.executors import DiedError, InProcess
from harness.runs.fingerprint import run_hash
from harness.runs.spec import FileRef, Learner, Outcome, Place, Probe, RunSpec
from harness.runs.store import Store

SIZE = 2  # lanes of a cohort
METRICS = ("rmspbe", "size")
FINE, LOST, FAILED = Outcome.BUDGET_SPENT, Outcome.DIVERGED, Outcome.FAILED


def run_of(rule: str = "gtd2", problem: str = "boyan", alpha: float = 0.1, root_seed: int = 0) -> RunSpec:
    """A short run in cohorts of two lanes."""
    learner = Learner(FileRef(rule), alpha, alpha, cohort=SIZE)
    return RunSpec(Place(problem), learner, Probe((0, 1, 10)), root_seed)


def lanes_of(seeds: Iterable[int], outcome: Outcome = FINE, height: float = 1.0) -> list[Lane]:
    """Lanes whose curves say which seed they are of."""
    return [Lane(seed, outcome, -1, np.full((3, len(METRICS)), height + seed)) for seed in seeds]


def save(store: Store, run: RunSpec, lanes: list[Lane]) -> None:
    """As a worker's result is saved."""
    store.save(run, CohortResult(run_hash(run), 0, lanes, 0.0, METRICS))


def rows_of(store: Store, run: RunSpec) -> list[tuple[int, Outcome, bytes]]:
    """What is stored of a run."""
    return [(lane.seed, lane.outcome, lane.curves.tobytes()) for lane in store.lanes(run_hash(run))]


@dataclass
class PlantedWorkers(InProcess):
    """An executor that simulates nothing: it answers with planted lanes, and counts what it was asked for.

    failing   cohorts whose lanes fail
    deadly    runs whose worker dies
    """

    failing: Collection[int] = ()
    deadly: Collection[str] = ()
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The finished future."""
        task: Task = args[0]
        self.asked[task.run, task.cohort] += 1
        future: Future[Any] = Future()
        if task.run in self.deadly:
            future.set_exception(DiedError("exit code -9"))
        else:
            lanes = lanes_of(task.seeds, FAILED if task.cohort in self.failing else FINE)
            future.set_result(CohortResult(task.run, task.cohort, lanes, 0.0, METRICS))
        return future


def plant(store: Store, run: RunSpec, metrics: tuple[str, ...], curves: Floats, lost: Collection[int] = ()) -> None:
    """Lanes with these curves [lanes, checkpoints, metrics]; those that are lost have diverged, however finite."""
    lanes = [Lane(seed, LOST if seed in lost else FINE, -1, curve) for seed, curve in enumerate(curves)]
    store.save(run, CohortResult(run_hash(run), 0, lanes, 1.0, metrics))
