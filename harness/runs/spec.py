"""What to run: a place, a learner and a probe, as frozen data; and its division into cohorts of lanes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from algorithms.checks import Integers, at_least, positive
from algorithms.names import look_up
from algorithms.stepping import Constant, PowerLaw, RobbinsMonro, Schedule
from algorithms.targets import target_class
from harness.plugins import canonical_problem

COHORT = 16  # lanes that run and are stored together; membership is seed // COHORT, so that more seeds repeat nothing
CHECKPOINTS = 25
FAR = 1e6  # a lane whose RMS value passes this multiple of its start has diverged, finite or not


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
    """A rule as data: a built-in name, or a function of a user's file with every file of the user's that it imports.

    files   (module name, path, source) of each; the first is the rule file itself
    """

    name: str
    path: str = ""
    function: str = ""
    files: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class Place:
    """Where to learn: a problem by its canonical name. `iid`: transitions are drawn independently from d."""

    problem: str
    iid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "problem", canonical_problem(self.problem))


SCHEDULES: dict[str, type[Constant] | type[PowerLaw]] = {
    "constant": Constant, "robbins-monro": RobbinsMonro, "power-law": PowerLaw,
}  # fmt: skip


@dataclass(frozen=True)
class StepSchedule:
    """A schedule as data; exponents and offset belong to the power laws."""

    name: str = "constant"
    alpha_exponent: float = 0.75
    beta_exponent: float = 0.55
    offset: float = 1000.0

    def __post_init__(self) -> None:
        for name in ("alpha_exponent", "beta_exponent", "offset"):
            object.__setattr__(self, name, float(getattr(self, name)))
        self.make()

    def make(self) -> Schedule:
        """The schedule."""
        kind = look_up("schedule", self.name, SCHEDULES)
        if issubclass(kind, Constant):
            return kind()
        return kind(self.alpha_exponent, self.beta_exponent, self.offset)


@dataclass(frozen=True)
class Learner:
    """What learns there: a rule on a target, with its step sizes, projection Γ and averages."""

    rule: RuleRef
    alpha: float
    beta: float
    target: str = "value"
    atoms: int = 21
    projection: str = "cramer"
    schedule: StepSchedule = StepSchedule()
    radius: float | None = None
    average: bool = False
    extragradient: bool = False

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            positive(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.radius is not None:
            positive("radius", self.radius)
            object.__setattr__(self, "radius", float(self.radius))
        target_class(self.target)
        if self.target == "value":  # what a value does not have can't tell two runs apart
            defaults = Learner.__dataclass_fields__
            for name in ("atoms", "projection"):
                object.__setattr__(self, name, defaults[name].default)


@dataclass(frozen=True)
class Probe:
    """What is written down, and when: `times` are numbers of steps, from 0 to the end.

    diverged_above    a lane whose value RMS passes this multiple of its start has diverged, finite or not
    converged_below   a lane whose final RMSPBE is below this has converged
    """

    times: tuple[int, ...]
    diverged_above: float = FAR
    converged_below: float = 0.0

    def __post_init__(self) -> None:
        if not self.times or any(later <= earlier for earlier, later in zip((-1, *self.times), self.times)):  # noqa: B905
            raise ValueError(f"times must rise from 0 or more, got {self.times}")

    @property
    def steps(self) -> int:
        """How long a lane runs."""
        return self.times[-1]


def log_times(steps: int, checkpoints: int = CHECKPOINTS) -> tuple[int, ...]:
    """Log-spaced checkpoints from 0 to `steps`."""
    at_least("steps", steps, 1)
    at_least("checkpoints", checkpoints, 1)
    points = np.geomspace(1, steps, checkpoints).round().astype(np.int64)
    return tuple(np.unique(np.concatenate([[0], points, [steps]])).tolist())


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a lane's numbers but its seed. `axes` name the lanes' streams beside problem and seed."""

    place: Place
    learner: Learner
    probe: Probe
    root_seed: int = 0
    axes: tuple[tuple[str, str | int], ...] = field(default=(("purpose", "transitions"),))

    def __post_init__(self) -> None:
        at_least("root_seed", self.root_seed, 0)

    def to_json(self) -> str:
        """As text, for workers and for the store."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> RunSpec:
        """The inverse of `to_json`."""
        values: dict[str, Any] = json.loads(text)
        learner = values["learner"]
        rule = learner["rule"] | {"files": tuple(tuple(file) for file in learner["rule"]["files"])}
        probe = values["probe"] | {"times": tuple(values["probe"]["times"])}
        return RunSpec(
            Place(**values["place"]),
            Learner(**learner | {"rule": RuleRef(**rule), "schedule": StepSchedule(**learner["schedule"])}),
            Probe(**probe),
            values["root_seed"],
            tuple((name, value) for name, value in values["axes"]),
        )

    def times(self) -> Integers:
        """[checkpoints]: numbers of steps."""
        return np.array(self.probe.times, dtype=np.int64)

    def with_learner(self, **changes: Any) -> RunSpec:
        """A copy with another learner."""
        return replace(self, learner=replace(self.learner, **changes))


@dataclass(frozen=True)
class Request:
    """A run, and how many of its seeds are wanted: 0 … seeds − 1."""

    spec: RunSpec
    seeds: int

    def __post_init__(self) -> None:
        at_least("seeds", self.seeds, 1)

    @property
    def cohorts(self) -> range:
        """The cohorts that hold the seeds."""
        return range(-(-self.seeds // COHORT))


def seeds_of(cohort: int) -> range:
    """The seeds of a cohort."""
    return range(cohort * COHORT, (cohort + 1) * COHORT)


def unique(requests: Iterable[Request]) -> list[Request]:
    """Each run once, with the largest number of seeds that is asked for."""
    wanted: dict[RunSpec, int] = {}
    for request in requests:
        wanted[request.spec] = max(request.seeds, wanted.get(request.spec, 0))
    return [Request(spec, seeds) for spec, seeds in wanted.items()]
