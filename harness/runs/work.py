"""Work: a cohort of a run's lanes, or a job. One task is sent to a worker, one result comes back and is stored.

A job is evidence that is no run: a named function with JSON parameters, whose result is stored like a run's lanes.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from dgtd.algorithms.digest import digest
from dgtd.algorithms.rule import Rule
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.checkpoints import EVERY, Keeper, name_of
from dgtd.harness.runs.fingerprint import machine_facts, of_code, parts_of, run_hash
from dgtd.harness.runs.lanes import Lane
from dgtd.harness.runs.rule_files import reference_of, resolve
from dgtd.harness.runs.spec import FileRef, Outcome, RunSpec, seeds_of
from dgtd.harness.runs.timeouts import GRACE, came, ended_beyond, time_limit, watched
from dgtd.harness.runs.trainers.trainer import prepared, train, trainer_of


@dataclass(frozen=True)
class Task:
    """What a worker is sent: work as text, which a worker with other code can still read, and what it is taken to be.

    cohort        which of a run's cohorts; −1 for a job
    twice         run it twice, and see whether both agree
    checkpoints   the folder that a long cohort is kept in, or ''; `every`: seconds between two checkpoints
    """

    text: str
    hash: str
    parts: dict[str, str]
    cohort: int = -1
    timeout: float | None = None
    twice: bool = False
    checkpoints: str = ""
    every: float = EVERY

    @staticmethod
    def of(work: Work, timeout: float | None = None) -> Task:
        """With this process's fingerprint of the work."""
        index, twice = (work.index, work.twice) if isinstance(work, Cohort) else (-1, False)
        return Task(work.to_json(), work.hash, work.parts, index, timeout, twice)

    @property
    def work(self) -> Work:
        if self.cohort < 0:
            return msgspec.json.decode(self.text, type=Job)
        return Cohort(RunSpec.from_json(self.text), self.cohort, self.twice)

    def keeper(self, seeds: range) -> Keeper | None:
        """Of the cohort's checkpoint, if there is a folder for it."""
        if not self.checkpoints:
            return None
        label = {"run": self.hash, "seeds": [seeds.start, seeds.stop], "code": self.parts["code"]}
        path = Path(self.checkpoints) / name_of(self.hash, seeds)
        return Keeper(path, label | {"machine": machine_facts()}, self.every)


@dataclass(frozen=True)
class Result:
    """What became of work: lanes with the names of their curves, or what a job returned, as JSON; or an error.

    machine    where it was done
    refused    this worker's code, problem or rule is not the sender's: the numbers would be another run's
    unsteady   the work was done twice, and gave two results: the rule is not a function of its arguments
    """

    hash: str
    outcome: Outcome
    lanes: tuple[Lane, ...] = ()
    metrics: tuple[str, ...] = ()
    value: str = ""
    seconds: float = 0.0
    error: str = ""
    machine: str = ""
    refused: bool = False
    unsteady: bool = False


@dataclass(frozen=True)
class Cohort:
    """A cohort of a run: lanes that run and are stored together; `twice`: run it twice, and see whether both agree."""

    spec: RunSpec
    index: int
    twice: bool = False
    alone: ClassVar[bool] = False  # nothing else may run beside it

    @property
    def hash(self) -> str:
        """Under which its result is stored: the run's."""
        return run_hash(self.spec)

    @property
    def parts(self) -> dict[str, str]:
        """What the result depends on, part by part: where two differ, this says why."""
        return parts_of(self.spec)

    @property
    def seeds(self) -> range:
        return seeds_of(self.spec, self.index)

    def to_json(self) -> str:
        return self.spec.to_json()


OURS = ("dgtd.algorithms", "dgtd.harness")


def package_of(module: str) -> str:
    """Whose sources decide what a module does: a user's package, or one of our rooms (`dgtd` itself is links)."""
    words = module.split(".")
    return ".".join(words[: 2 if words[0] == "dgtd" else 1])


@dataclass(frozen=True)
class Job:
    """function   'module:name'; it takes the parameters, and the rule if there is one, and returns what JSON can hold
    package    whose sources decide the result, beside ours: that of a suite, where it does not say so itself
    alone      it measures time, so nothing else may run beside it
    """

    function: str
    parameters: str
    rule: FileRef | None = None
    package: str = ""
    alone: bool = False

    @staticmethod
    def of(
        function: Callable[..., Any], rule: Rule | FileRef | None = None, alone: bool = False, **parameters: Any
    ) -> Job:
        """A call of a module's function."""
        name, text = f"{function.__module__}:{function.__qualname__}", json.dumps(parameters, sort_keys=True)
        ref = reference_of(rule) if isinstance(rule, Rule) else rule
        return Job(name, text, ref, package_of(function.__module__), alone)

    @staticmethod
    def seeded(function: Callable[..., Any], *of: Any, **parameters: Any) -> Callable[[Any], list[Job]]:
        """What a claim needs that rests on one call: the job, by the seed of a setting."""
        return lambda setting: [Job.of(function, *of, seed=setting.seed, **parameters)]

    @property
    def hash(self) -> str:
        """Of the call, the rule and the code; `code` of this process."""
        return digest(self.parts)

    @property
    def parts(self) -> dict[str, str]:
        rule = (
            "" if self.rule is None else digest(resolve(self.rule).source_hash, [file[2] for file in self.rule.files])
        )
        packages = dict.fromkeys((*OURS, self.package or OURS[0]))
        parameters = json.loads(self.parameters)
        return {
            "call": digest(self.function, parameters),
            "problem": find_problem(parameters["problem"]).identity if "problem" in parameters else "",
            "rule": rule,
            "code": of_code(tuple(packages)),
        }

    @property
    def culprit(self) -> str:
        """What to blame if its worker dies."""
        return f"rule {self.rule.name}" if self.rule else f"{self.function.split(':')[1]}({self.parameters})"

    def run(self) -> Any:
        module, _, name = self.function.partition(":")
        function = getattr(importlib.import_module(module), name)
        rule = {} if self.rule is None else {"rule": resolve(self.rule)}
        return function(**json.loads(self.parameters), **rule)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


Work = Cohort | Job


def _lanes(work: Cohort, task: Task, look: Callable[[], None]) -> Result:
    """Run the lanes, from their checkpoint if there is one; `look` is called several times a second, and may raise."""
    spec, seeds, keeper = work.spec, work.seeds, task.keeper(work.seeds)
    lanes = train(prepared(spec), seeds, look, keeper)
    rows = lanes.rows(seeds, spec.probe)
    if work.twice and not _same(rows, train(trainer_of(spec), seeds, look).rows(seeds, spec.probe)):
        words = f"rule {spec.learner.rule.name!r} is not a function of its arguments: one cohort, run twice"
        error = f"{words} on {spec.place.problem}, gave two results"
        return Result(task.hash, Outcome.FAILED, error=error, unsteady=True)
    facts = machine_facts()
    return Result(task.hash, Outcome.BUDGET_SPENT, tuple(rows), lanes.names, seconds=lanes.seconds, machine=facts)


def _job(work: Job, task: Task) -> Result:
    start = time.process_time()
    value = json.dumps(work.run())
    seconds = time.process_time() - start
    return Result(task.hash, Outcome.CONVERGED, value=value, seconds=seconds, machine=machine_facts())


def failed(work: Work, outcome: Outcome, error: str, seconds: float = 0.0, hash: str = "") -> Result:
    """A result that says why there is none; of a cohort, with a row per lane that says so."""
    seeds = work.seeds if isinstance(work, Cohort) else range(0)
    rows = [Lane(seed, outcome, -1, np.zeros((0, 0)), seconds=seconds / len(seeds), error=error) for seed in seeds]
    return Result(hash or work.hash, outcome, tuple(rows), seconds=seconds, error=error, machine=machine_facts())


def carry_out(task: Task) -> Result:
    """What a worker does. Never raises for what happens inside: a failure or a time-out is an outcome."""
    start, work = time.perf_counter(), task.work
    try:
        hard = None if task.timeout is None else task.timeout + GRACE
        with ended_beyond(hard), time_limit(task.timeout, "run"):
            if work.hash != task.hash:
                return Result(task.hash, Outcome.FAILED, error=refusal(work.parts, task.parts), refused=True)
            if isinstance(work, Job):
                return _job(work, task)
            return _lanes(work, task, watched(None if task.timeout is None else start + task.timeout, came))
    except TimeoutError:
        outcome, error_text = Outcome.TIMED_OUT, f"more than {task.timeout:g} s"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a worker must outlive any rule that it is given
        outcome, error_text = Outcome.FAILED, f"{type(error).__name__}: {error}"
        traceback.clear_frames(error.__traceback__)
    # The hash is the sender's: what fails may be the file that this process would read for its own.
    return failed(work, outcome, error_text, time.perf_counter() - start, task.hash)


def refusal(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Who has what other than the sender."""
    other = " and ".join(name for name, value in ours.items() if theirs.get(name) != value)
    return f"worker {os.getpid()} on {socket.gethostname()} has another {other} than this process"


def _same(first: list[Lane], second: list[Lane]) -> bool:
    return all(
        (a.outcome, a.died, a.curves.tobytes(), a.law.tobytes())
        == (b.outcome, b.died, b.curves.tobytes(), b.law.tobytes())
        for a, b in zip(first, second, strict=True)
    )
