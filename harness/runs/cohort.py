"""Run one cohort of lanes: what a worker does. A specification comes in as text, plain arrays go out."""

from __future__ import annotations

import os
import socket
import time
import traceback
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats
from algorithms.engines.linear import LinearEngine, LinearState
from algorithms.streams import lane_streams
from harness.oracle.metrics import Metrics
from harness.plugins import find_problem
from harness.runs.fingerprint import machine_facts, parts_of, run_hash
from harness.runs.rule_files import resolve
from harness.runs.spec import Outcome, RunSpec, seeds_of
from harness.runs.timeouts import time_limit
from harness.runs.trial import simulate


@dataclass(frozen=True)
class Task:
    """What a worker is sent: a cohort of a run, and what the sender takes the run to be."""

    spec: str
    run: str
    parts: dict[str, str]
    cohort: int
    timeout: float | None = None

    @staticmethod
    def of(spec: RunSpec, cohort: int, timeout: float | None = None) -> Task:
        """The task of a cohort, with this process's fingerprint of the run."""
        return Task(spec.to_json(), run_hash(spec), parts_of(spec), cohort, timeout)


@dataclass(frozen=True)
class Lane:
    """One lane's row: curves [checkpoints, metrics] of float64."""

    seed: int
    outcome: Outcome
    died: int
    curves: Floats


@dataclass(frozen=True)
class CohortResult:
    """The lanes of a cohort, or an error that all of them share. `machine`: where they were run.

    refused   this worker's code, problem or rule is not the sender's: the numbers would be another run's
    """

    run: str
    cohort: int
    lanes: list[Lane]
    seconds: float
    metrics: tuple[str, ...] = ()
    error: str = ""
    machine: str = ""
    refused: bool = False


def run_cohort(task: Task) -> CohortResult:
    """Never raises for what happens inside: a failure or a time-out is an outcome of every lane of the cohort."""
    start = time.perf_counter()
    try:
        with time_limit(task.timeout, "run"):
            spec = RunSpec.from_json(task.spec)
            if run_hash(spec) != task.run:
                return _refusal(spec, task)
            metrics, lanes = _run(spec, task.cohort, None if task.timeout is None else start + task.timeout)
        seconds = time.perf_counter() - start
        return CohortResult(task.run, task.cohort, lanes, seconds, metrics, machine=machine_facts())
    except TimeoutError:
        outcome, error_text = Outcome.TIMED_OUT, f"more than {task.timeout:g} s"
    except (Exception, SystemExit) as error:  # a worker must outlive any rule that it is given
        outcome, error_text = Outcome.FAILED, f"{type(error).__name__}: {error}"
        traceback.clear_frames(error.__traceback__)
    return failed_cohort(task.run, task.cohort, outcome, error_text, time.perf_counter() - start)


def _refusal(spec: RunSpec, task: Task) -> CohortResult:
    ours = parts_of(spec)
    other = " and ".join(name for name, value in ours.items() if task.parts.get(name) != value)
    error = f"worker {os.getpid()} on {socket.gethostname()} has another {other} than this process"
    return CohortResult(task.run, task.cohort, [], 0.0, error=error, refused=True)


def failed_cohort(run: str, cohort: int, outcome: Outcome, error: str, seconds: float = 0.0) -> CohortResult:
    """A row per lane that says why there are no numbers."""
    lanes = [Lane(seed, outcome, -1, np.zeros((0, 0))) for seed in seeds_of(cohort)]
    return CohortResult(run, cohort, lanes, seconds, error=error, machine=machine_facts())


@dataclass(frozen=True)
class Prepared:
    """What the cohorts of a run share."""

    spec: RunSpec
    engine: LinearEngine
    metrics: Metrics
    theta: Floats

    def streams(self, cohort: int) -> NDArray[np.uint64]:
        """One stream per lane, the same for every rule: lanes of two rules are pairs."""
        axes = dict(self.spec.axes)
        return lane_streams(self.spec.root_seed, seeds_of(cohort), problem=self.spec.place.problem, **axes)

    def start(self, cohort: int) -> tuple[LinearEngine, LinearState]:
        """The engine, and the cohort's lanes where they start."""
        return self.engine, self.engine.start(self.theta, self.streams(cohort))

    def final_theta(self, cohort: int = 0) -> Floats:
        """[lanes, n, k]: run the cohort again and keep its last parameters, which the store does not."""
        learner = self.spec.learner
        engine, state = self.start(cohort)
        engine.run(
            state, self.spec.probe.steps, learner.alpha, learner.beta, schedule=learner.schedule.make(),
            radius=np.inf if learner.radius is None else learner.radius, average=learner.average,
            extragradient=learner.extragradient,
        )  # fmt: skip
        return state.theta_mean if learner.average else state.theta


def _run(spec: RunSpec, cohort: int, deadline: float | None) -> tuple[tuple[str, ...], list[Lane]]:
    run, learner, probe = prepared(spec), spec.learner, spec.probe

    def tick() -> None:  # compiled code hears no alarm, so the clock is read between checkpoints too
        if deadline is not None and time.perf_counter() > deadline:
            raise TimeoutError

    trial = simulate(
        run.engine,
        run.metrics,
        run.theta,
        run.streams(cohort),
        spec.times(),
        learner.alpha,
        learner.beta,
        schedule=learner.schedule.make(),
        radius=np.inf if learner.radius is None else learner.radius,
        average=learner.average,
        extragradient=learner.extragradient,
        tick=tick,
    )
    diverged = trial.diverged(probe.diverged_above)
    reached = trial.of("rmspbe")[-1] < probe.converged_below
    outcomes = np.where(diverged, Outcome.DIVERGED, np.where(reached, Outcome.CONVERGED, Outcome.BUDGET_SPENT))
    lanes = [
        Lane(seed, Outcome(outcomes[i]), int(trial.died[i]), trial.curves[:, i].copy())
        for i, seed in enumerate(seeds_of(cohort))
    ]
    return trial.names, lanes


@lru_cache(maxsize=32)
def prepared(spec: RunSpec) -> Prepared:
    """The engine, the metrics and the start of a run."""
    problem = find_problem(spec.place.problem)
    if problem.network is not None:
        raise ValueError(f"problem {problem.name!r} has a nonlinear predictor: the linear engine can't run it")
    mdp = problem.mdp.with_(weights=problem.mdp.d) if spec.place.iid else problem.mdp
    target = problem.target(spec.learner.target, spec.learner.atoms, spec.learner.projection)
    engine = LinearEngine(resolve(spec.learner.rule), mdp.table, mdp.features, target)
    return Prepared(spec, engine, Metrics(mdp, target), problem.theta_initial(target))
