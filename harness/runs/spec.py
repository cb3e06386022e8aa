"""What to run: a place, a learner and a probe, as frozen data; and its division into cohorts of lanes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from dgtd.algorithms.checks import Integers, positive, whole
from dgtd.algorithms.names import look_up
from dgtd.algorithms.stepping import Constant, PowerLaw, RobbinsMonro, Schedule
from dgtd.algorithms.targets import PROJECTIONS, target_class
from dgtd.harness.places.world import is_world
from dgtd.harness.plugins import canonical_problem, is_file
from dgtd.harness.runs.acting_spec import Control, Iteration

COHORT = 16  # lanes that run and are stored together, unless a learner says otherwise
CHECKPOINTS = 25
MOST_SEEDS = 1_000_000  # lanes of one run
MOST_STEPS = 100_000_000  # the factors of a schedule are an array: a gigabyte of them
MOST_WEIGHTS = 10_000_000  # weights of a network, of which every lane has its own
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
class FileRef:
    """A rule or a network as data: a name, or a function of a user's file with every file of theirs that it imports.

    files   (module name, path, source) of each; the first is the rule file itself
    """

    name: str
    path: str = ""
    function: str = ""
    files: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class PlaceSpec:
    """Where to learn: a problem by its canonical name, or a world. `iid`: transitions are drawn one by one from d."""

    problem: str
    iid: bool = False

    def __post_init__(self) -> None:
        try:
            if not self.is_world:
                object.__setattr__(self, "problem", canonical_problem(self.problem))
        except ValueError:
            if not is_file(self.problem):  # a stored run is listed where its file is not; whoever runs it is told
                raise

    @property
    def is_world(self) -> bool:
        """Whether lanes act there, rather than sample a table."""
        return is_world(self.problem)


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
        kind = look_up("schedule", self.name, SCHEDULES)
        if issubclass(kind, Constant):
            return kind()
        return kind(self.alpha_exponent, self.beta_exponent, self.offset)


@dataclass(frozen=True)
class PredictorSpec:
    """What maps a state to a prediction, as data; `dgtd.harness.runs.predictors` reads it from text.

    kind     linear, table (a row of pinned logits per state), mlp, own (the problem's network), module (a user's file)
    inputs   what a network sees: states (one-hot), the problem's features, or most-states, most-features (all but the
             last column)
    engine   of an mlp or a table: small (compiled), torch, or '' for the faster one at its size
    single   weights of an mlp are float32: half the time of a step where the network is large
    """

    kind: str = "linear"
    hidden: tuple[int, ...] = ()
    activation: str = "tanh"
    pinned: bool = False
    inputs: str = "states"
    file: FileRef | None = None
    engine: str = ""
    single: bool = False

    def __post_init__(self) -> None:
        if self.single and self.engine == "torch":
            raise ValueError("float32 is for the compiled engine, got engine 'torch'")
        for units in self.hidden:
            whole("units of a layer", units, 1, MOST_WEIGHTS)
        weights = sum(first * second for first, second in pairwise(self.hidden))
        if weights > MOST_WEIGHTS:
            raise ValueError(f"layers {self.hidden} must have at most {MOST_WEIGHTS} weights, got {weights}")


@dataclass(frozen=True)
class Learner:
    """What learns there: a rule, a predictor and a target, with step sizes, projection Γ and averages.

    start    where a linear predictor starts: at the problem's θ₀, or at zeros
    spread   what a network's first weights, uniform in ±1/√in, are multiplied with
    cohort   lanes that run and are stored together: a wide one is cheaper for small networks
    control  of a learner that acts in a world, or its `iteration`: one of the two
    kind     the trainer that runs it, by its entry point's name; '' leaves that to the other fields
    """

    rule: FileRef
    alpha: float
    beta: float
    target: str = "value"
    atoms: int = 21
    projection: str = "cramer"
    schedule: StepSchedule = StepSchedule()
    radius: float | None = None
    average: bool = False
    extragradient: bool = False
    predictor: PredictorSpec = PredictorSpec()
    start: str = "problem"
    spread: float = 1.0
    cohort: int = COHORT
    control: Control | None = None
    iteration: Iteration | None = None
    kind: str = ""

    @property
    def trainer(self) -> str:
        """By the entry point's name."""
        if self.kind or self.control or self.iteration:
            return self.kind or ("agent" if self.control else "policy-iteration")
        return TRAINERS[self.predictor.kind]

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "spread"):
            positive(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        whole("cohort", self.cohort, 1)
        look_up("start", self.start, dict.fromkeys(("problem", "zeros")))
        if self.predictor.kind != "linear" and (self.average or self.extragradient):
            raise ValueError("averages and Mirror-Prox are for linear predictors, got a network")
        if self.radius is not None:
            positive("radius", self.radius)
            object.__setattr__(self, "radius", float(self.radius))
        target_class(self.target)
        look_up("projection", self.projection, PROJECTIONS)
        if self.target == "value":  # what a value does not have can't tell two runs apart
            defaults = Learner.__dataclass_fields__
            for name in ("atoms", "projection"):
                object.__setattr__(self, name, defaults[name].default)


TRAINERS = {"linear": "linear", "mlp": "network", "table": "network", "own": "module", "module": "module"}
States = tuple[tuple[float, ...], ...]  # observations of a world


@dataclass(frozen=True)
class Probe:
    """What is written down, and when: `times` are numbers of steps, from 0 to the end.

    metrics           names, or none for those of the target
    states            of a world, where the last laws are kept; none: where every observation is 0
    diverged_above    a lane whose value RMS passes this multiple of its start has diverged, finite or not
    converged_below   a lane whose final RMSPBE is below this has converged
    """

    times: tuple[int, ...]
    metrics: tuple[str, ...] = ()
    diverged_above: float = FAR
    converged_below: float = 0.0
    states: States = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", tuple(tuple(map(float, state)) for state in self.states))
        if not all(math.isfinite(part) for state in self.states for part in state):
            raise ValueError(f"states must be finite numbers, got {self.states}")
        if not self.times or any(later <= earlier for earlier, later in zip((-1, *self.times), self.times)):  # noqa: B905
            raise ValueError(f"times must rise from 0 or more, got {self.times}")
        whole("steps", self.times[-1], 0, MOST_STEPS)

    @property
    def steps(self) -> int:
        return self.times[-1]


def log_times(steps: int, checkpoints: int = CHECKPOINTS) -> tuple[int, ...]:
    """Log-spaced checkpoints from 0 to `steps`."""
    whole("steps", steps, 1, MOST_STEPS)
    whole("checkpoints", checkpoints, 1)
    points = np.geomspace(1, steps, checkpoints).round().astype(np.int64)
    return tuple(np.unique(np.concatenate([[0], points, [steps]])).tolist())


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a lane's numbers but its seed. `axes` name the lanes' streams beside problem and seed."""

    place: PlaceSpec
    learner: Learner
    probe: Probe
    root_seed: int = 0
    axes: tuple[tuple[str, str | int], ...] = field(default=(("purpose", "transitions"),))

    def __post_init__(self) -> None:
        whole("root_seed", self.root_seed, 0)
        if self.probe.states and not self.place.is_world:
            raise ValueError(f"states are those of a world, and {self.place.problem!r} is none")

    def to_json(self) -> str:
        """As text, for workers and for the store."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> RunSpec:
        return msgspec.json.decode(text, type=RunSpec)

    def times(self) -> Integers:
        """[checkpoints]: numbers of steps."""
        return np.array(self.probe.times, dtype=np.int64)

    def with_learner(self, **changes: Any) -> RunSpec:
        return replace(self, learner=replace(self.learner, **changes))


@dataclass(frozen=True)
class Request:
    """A run, and how many of its seeds are wanted: 0 … seeds − 1."""

    spec: RunSpec
    seeds: int

    def __post_init__(self) -> None:
        whole("seeds", self.seeds, 1, MOST_SEEDS)

    @property
    def cohorts(self) -> range:
        return range(-(-self.seeds // self.spec.learner.cohort))


def seeds_of(spec: RunSpec, cohort: int) -> range:
    """The seeds of a cohort: membership is seed // size, so that more seeds repeat nothing."""
    size = spec.learner.cohort
    return range(cohort * size, (cohort + 1) * size)


def unique(requests: Iterable[Request]) -> list[Request]:
    """Each run once, with the largest number of seeds that is asked for."""
    wanted: dict[RunSpec, int] = {}
    for request in requests:
        wanted[request.spec] = max(request.seeds, wanted.get(request.spec, 0))
    return [Request(spec, seeds) for spec, seeds in wanted.items()]
