"""Run one cohort of lanes: what a worker does. A specification comes in as text, plain arrays go out."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from algorithms.checks import Floats
from harness.interrupts import came
from harness.runs.checkpoints import EVERY, Keeper, name_of
from harness.runs.fingerprint import machine_facts, parts_of, run_hash
from harness.runs.learning import Learning
from harness.runs.spec import Outcome, RunSpec, seeds_of
from harness.runs.timeouts import GRACE, ended_beyond, time_limit, watched
from harness.runs.trial import simulate, warm_up

if TYPE_CHECKING:
    from harness.runs.acting import Acting
    from harness.runs.iterating import Iterating

    Runnable = Learning | Acting | Iterating


@dataclass(frozen=True)
class Task:
    """What a worker is sent: a cohort of a run, and what the sender takes the run to be.

    checkpoints, every   the folder that a long cohort is kept in, or '', and seconds between two checkpoints
    """

    spec: str
    run: str
    parts: dict[str, str]
    cohort: int
    size: int
    timeout: float | None = None
    twice: bool = False
    checkpoints: str = ""
    every: float = EVERY

    @staticmethod
    def of(spec: RunSpec, cohort: int, timeout: float | None = None, twice: bool = False) -> Task:
        """The task of a cohort, with this process's fingerprint of the run."""
        return Task(spec.to_json(), run_hash(spec), parts_of(spec), cohort, spec.learner.cohort, timeout, twice)

    @property
    def seeds(self) -> range:
        """Those of the cohort."""
        return range(self.cohort * self.size, (self.cohort + 1) * self.size)

    def keeper(self) -> Keeper | None:
        """Of the cohort's checkpoint, if there is a folder for it."""
        if not self.checkpoints:
            return None
        label = {"run": self.run, "seeds": [self.seeds.start, self.seeds.stop], "code": self.parts["code"]}
        path = Path(self.checkpoints) / name_of(self.run, self.seeds)
        return Keeper(path, label | {"machine": machine_facts()}, self.every)


@dataclass(frozen=True)
class Lane:
    """One lane's row: curves [checkpoints, metrics] and the last law [n], of float64."""

    seed: int
    outcome: Outcome
    died: int
    curves: Floats
    law: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class CohortResult:
    """The lanes of a cohort, or an error that all of them share. `machine`: where they were run.

    refused   this worker's code, problem or rule is not the sender's: the numbers would be another run's
    unsteady  the cohort was run twice, and gave two results: the rule is not a function of its arguments
    """

    run: str
    cohort: int
    lanes: list[Lane]
    seconds: float
    metrics: tuple[str, ...] = ()
    error: str = ""
    machine: str = ""
    refused: bool = False
    unsteady: bool = False


def run_cohort(task: Task) -> CohortResult:
    """Never raises for what happens inside: a failure or a time-out is an outcome of every lane of the cohort."""
    start = time.perf_counter()
    try:
        hard = None if task.timeout is None else task.timeout + GRACE
        with ended_beyond(hard), time_limit(task.timeout, "run"):
            spec = RunSpec.from_json(task.spec)
            if run_hash(spec) != task.run:
                error_text = refusal(parts_of(spec), task.parts)
                return CohortResult(task.run, task.cohort, [], 0.0, error=error_text, refused=True)
            look = watched(None if task.timeout is None else start + task.timeout, came)
            learning = prepared(spec)
            ready, keeper = time.perf_counter(), task.keeper()
            metrics, lanes = lanes_of_cohort(learning, task.cohort, look, keeper)
            seconds = time.perf_counter() - ready + (0.0 if keeper is None else keeper.before)
            if task.twice and not _same(lanes, lanes_of_cohort(made_of(spec), task.cohort, look)[1]):
                error_text = (
                    f"rule {spec.learner.rule.name!r} is not a function of its arguments: one cohort, run twice"
                )
                error_text += f" on {spec.place.problem}, gave two results"
                return CohortResult(task.run, task.cohort, [], seconds, error=error_text, unsteady=True)
        return CohortResult(task.run, task.cohort, lanes, seconds, metrics, machine=machine_facts())
    except TimeoutError:
        outcome, error_text = Outcome.TIMED_OUT, f"more than {task.timeout:g} s"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a worker must outlive any rule that it is given
        outcome, error_text = Outcome.FAILED, f"{type(error).__name__}: {error}"
        traceback.clear_frames(error.__traceback__)
    return failed_cohort(task.run, task.cohort, task.seeds, outcome, error_text, time.perf_counter() - start)


def refusal(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Who has what other than the sender."""
    other = " and ".join(name for name, value in ours.items() if theirs.get(name) != value)
    return f"worker {os.getpid()} on {socket.gethostname()} has another {other} than this process"


def failed_cohort(
    run: str, cohort: int, seeds: range, outcome: Outcome, error: str, seconds: float = 0.0
) -> CohortResult:
    """A row per lane that says why there are no numbers."""
    lanes = [Lane(seed, outcome, -1, np.zeros((0, 0))) for seed in seeds]
    return CohortResult(run, cohort, lanes, seconds, error=error, machine=machine_facts())


def _same(first: list[Lane], second: list[Lane]) -> bool:
    """To the last bit."""
    return all(
        (a.outcome, a.died, a.curves.tobytes(), a.law.tobytes())
        == (b.outcome, b.died, b.curves.tobytes(), b.law.tobytes())
        for a, b in zip(first, second, strict=True)
    )


def lanes_of_cohort(
    learning: Runnable, cohort: int, look: Callable[[], None], keeper: Keeper | None = None
) -> tuple[tuple[str, ...], list[Lane]]:
    """Run the lanes of a cohort: the names of their curves, and what became of each."""
    seeds, probe = seeds_of(learning.spec, cohort), learning.spec.probe
    if isinstance(learning, Learning):
        trial = simulate(learning, seeds, look)
    else:
        trial = learning.simulate(seeds, look, keeper)
    diverged = trial.diverged(probe.diverged_above)
    reached = np.zeros(len(seeds), dtype=bool)
    if "rmspbe" in trial.names:
        reached = trial.of("rmspbe")[-1] < probe.converged_below
    outcomes = np.where(diverged, Outcome.DIVERGED, np.where(reached, Outcome.CONVERGED, Outcome.BUDGET_SPENT))
    lanes = [
        Lane(seed, Outcome(outcomes[i]), int(trial.died[i]), trial.curves[:, i].copy(), trial.law[i].copy())
        for i, seed in enumerate(seeds)
    ]
    return trial.names, lanes


def made_of(spec: RunSpec) -> Runnable:
    """From data to something that runs."""
    if spec.learner.iteration is not None:
        from harness.runs.iterating import Iterating

        return Iterating.of(spec)
    if spec.place.is_world:
        from harness.runs.acting import Acting

        return Acting.of(spec)
    return Learning.of(spec)


@lru_cache(maxsize=32)
def prepared(spec: RunSpec) -> Runnable:
    """What the cohorts of a run share, with everything compiled."""
    made = made_of(spec)
    if isinstance(made, Learning):
        warm_up(made, range(1))
    return made
