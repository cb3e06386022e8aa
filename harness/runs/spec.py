"""What to run: a frozen specification with a content hash, and its division into cohorts of lanes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Integers, at_least, positive
from algorithms.names import look_up
from algorithms.stepping import Constant, RobbinsMonro, Schedule

COHORT = 16  # lanes that run and are stored together; membership is seed // COHORT, so that more seeds repeat nothing


class Outcome(StrEnum):
    """How a lane ended. Running out of steps is not success; divergence is data."""

    CONVERGED = "converged"
    BUDGET_SPENT = "budget spent"
    DIVERGED = "diverged"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    INTERRUPTED = "interrupted"

    @property
    def settled(self) -> bool:
        """Whether the lane's numbers are what they will be: the others are run again when asked for."""
        return self in (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED)


@dataclass(frozen=True)
class RuleRef:
    """A rule as data: a built-in name, or the path, source and function of a user's file."""

    name: str
    path: str = ""
    source: str = ""
    function: str = ""
    hash: str = ""


SCHEDULES = {"constant": Constant, "robbins-monro": RobbinsMonro}


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a lane's numbers but its seed.

    diverged_above    a lane whose value RMS passes this multiple of its start has diverged, finite or not
    converged_below   a lane whose final RMSPBE is below this has converged
    """

    problem: str
    rule: RuleRef
    alpha: float
    beta: float
    steps: int
    target: str = "value"
    atoms: int = 21
    projection: str = "cramer"
    schedule: str = "constant"
    radius: float | None = None
    average: bool = False
    extragradient: bool = False
    checkpoints: int = 25
    root_seed: int = 0
    diverged_above: float = 1e6
    converged_below: float = 0.0
    engine: str = "linear"
    version: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        positive("alpha", self.alpha)
        positive("beta", self.beta)
        at_least("steps", self.steps, 1)
        at_least("checkpoints", self.checkpoints, 1)
        at_least("root_seed", self.root_seed, 0)
        if self.radius is not None:
            positive("radius", self.radius)
        if self.target not in ("value", "cdf"):
            raise ValueError(f"target must be 'value' or 'cdf', got {self.target!r}")
        look_up("schedule", self.schedule, SCHEDULES)
        look_up("engine", self.engine, {"linear": None})
        if not self.version:
            from importlib.metadata import version

            object.__setattr__(self, "version", version("dgtd-bench"))
            object.__setattr__(self, "code", code_hash())

    def to_json(self) -> str:
        """Canonical: the same specification is the same text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> RunSpec:
        """The inverse of `to_json`."""
        values: dict[str, Any] = json.loads(text)
        known = {field.name for field in fields(RunSpec)}
        values = {key: value for key, value in values.items() if key in known}
        return RunSpec(**values | {"rule": RuleRef(**values["rule"])})

    @property
    def hash(self) -> str:
        """The content hash under which lanes are stored."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def times(self) -> Integers:
        """Log-spaced checkpoints from 0 to `steps`."""
        points = np.geomspace(1, self.steps, self.checkpoints).round().astype(np.int64)
        return np.unique(np.concatenate([[0], points, [self.steps]]))

    def make_schedule(self) -> Schedule:
        """The schedule that the name stands for."""
        schedule: Schedule = SCHEDULES[self.schedule]()
        return schedule


def cohorts(seeds: int) -> range:
    """The cohorts that hold seeds 0 … seeds − 1."""
    at_least("seeds", seeds, 1)
    return range(-(-seeds // COHORT))


@cache
def code_hash() -> str:
    """A hash of the code that lanes exercise: algorithms, the oracle behind the metrics, and our problems."""
    root = Path(__file__).parents[2]
    names = ("oracle/mdp", "oracle/problem", "oracle/returns", "oracle/metrics", "runs/trial", "runs/cohort")
    here = [root / "harness" / f"{name}.py" for name in names]
    files = sorted([*(root / "algorithms").rglob("*.py"), *(root / "suites" / "problems").rglob("*.py"), *here])
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
