"""Run one cohort of lanes: what a worker does. A specification comes in as text, plain arrays go out."""

from __future__ import annotations

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
from harness.runs.rule_files import resolve
from harness.runs.spec import COHORT, Outcome, RunSpec
from harness.runs.timeouts import time_limit
from harness.runs.trial import simulate


@dataclass(frozen=True)
class Lane:
    """One lane's row: curves [checkpoints, metrics] of float64."""

    seed: int
    outcome: Outcome
    died: int
    curves: Floats


@dataclass(frozen=True)
class CohortResult:
    """The lanes of a cohort, or what went wrong with all of them."""

    run: str
    cohort: int
    lanes: list[Lane]
    seconds: float
    problem: str = ""


def run_cohort(spec_text: str, cohort: int, timeout: float | None = None) -> CohortResult:
    """Never raises for what happens inside: a failure or a time-out is an outcome of every lane of the cohort."""
    spec, start = RunSpec.from_json(spec_text), time.perf_counter()
    try:
        with time_limit(timeout, "run"):
            lanes = _run(spec, cohort, None if timeout is None else start + timeout)
        return CohortResult(spec.hash, cohort, lanes, time.perf_counter() - start)
    except TimeoutError:
        outcome, what = Outcome.TIMED_OUT, f"more than {timeout:g} s"
    except Exception as error:  # a worker must outlive any rule that it is given
        outcome, what = Outcome.FAILED, f"{type(error).__name__}: {error}"
        traceback.clear_frames(error.__traceback__)
    return failed_cohort(spec, cohort, outcome, time.perf_counter() - start, what)


def failed_cohort(spec: RunSpec, cohort: int, outcome: Outcome, seconds: float, what: str) -> CohortResult:
    """A row per lane that says why there are no numbers."""
    empty = np.zeros((0, 0))
    lanes = [Lane(seed, outcome, -1, empty) for seed in range(cohort * COHORT, (cohort + 1) * COHORT)]
    return CohortResult(spec.hash, cohort, lanes, seconds, what)


@dataclass(frozen=True)
class Prepared:
    """What the cohorts of a run share."""

    spec: RunSpec
    engine: LinearEngine
    metrics: Metrics
    theta: Floats

    def streams(self, cohort: int) -> NDArray[np.uint64]:
        """One stream a lane, the same for every rule: lanes of two rules are pairs."""
        seeds = range(cohort * COHORT, (cohort + 1) * COHORT)
        return lane_streams(self.spec.root_seed, seeds, problem=self.spec.problem, purpose="transitions")

    def start(self, cohort: int) -> tuple[LinearEngine, LinearState]:
        """The engine, and the cohort's lanes where they start."""
        return self.engine, self.engine.start(self.theta, self.streams(cohort))

    def final_theta(self, cohort: int = 0) -> Floats:
        """[lanes, n, k]: run the cohort again and keep its last parameters, which the store does not."""
        spec = self.spec
        engine, state = self.start(cohort)
        engine.run(
            state, spec.steps, spec.alpha, spec.beta, schedule=spec.make_schedule(),
            radius=np.inf if spec.radius is None else spec.radius, average=spec.average,
            extragradient=spec.extragradient,
        )  # fmt: skip
        return state.theta_mean if spec.average else state.theta


def _run(spec: RunSpec, cohort: int, deadline: float | None) -> list[Lane]:
    run = prepared(spec)

    def tick() -> None:  # compiled code hears no alarm, so the clock is read between checkpoints too
        if deadline is not None and time.perf_counter() > deadline:
            raise TimeoutError

    trial = simulate(
        run.engine,
        run.metrics,
        run.theta,
        run.streams(cohort),
        spec.times(),
        spec.alpha,
        spec.beta,
        schedule=spec.make_schedule(),
        radius=np.inf if spec.radius is None else spec.radius,
        average=spec.average,
        extragradient=spec.extragradient,
        tick=tick,
    )
    diverged = trial.diverged(spec.diverged_above)
    reached = trial.of("rmspbe")[-1] < spec.converged_below
    outcomes = np.where(diverged, Outcome.DIVERGED, np.where(reached, Outcome.CONVERGED, Outcome.BUDGET_SPENT))
    return [
        Lane(cohort * COHORT + i, Outcome(outcomes[i]), int(trial.died[i]), trial.curves[:, i].copy())
        for i in range(COHORT)
    ]


@lru_cache(maxsize=32)
def prepared(spec: RunSpec) -> Prepared:
    """The engine, the metrics and the start of a run."""
    problem = find_problem(spec.problem)
    if problem.network is not None:
        raise ValueError(f"problem {spec.problem!r} has a nonlinear predictor: the linear engine can't run it")
    target = problem.target(spec.target, spec.atoms, spec.projection)
    engine = LinearEngine(resolve(spec.rule), problem.mdp.table, problem.mdp.features, target)
    return Prepared(spec, engine, Metrics(problem.mdp, target), problem.theta_initial(target))
