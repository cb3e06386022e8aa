"""What every trainer on a finite problem shares: where lanes start, and what is measured of their predictions."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.names import look_up
from dgtd.algorithms.replay import State, refill
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget, Target
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.metrics import Metrics
from dgtd.harness.oracle.objectives import Objective, Predictor
from dgtd.harness.oracle.problem import ATOMS, Problem
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.predictors import Words, default_for, published
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import COHORT, TRAINERS, Learner, RunSpec, log_times

ALONG = ("J", "gradient", "w_gap")  # what needs θ and w, not predictions alone
SPECTRUM = ("rank", "condition")  # of E Σφφᵀ: Theorem 2 asks for rank d


class Defaults:
    """What a learner on a finite problem is, where a user says nothing."""

    alphas: ClassVar[tuple[float, ...]] = (2.0**-1, 2.0**-3, 2.0**-5, 2.0**-7, 2.0**-9)  # if a search chooses
    ratios: ClassVar[tuple[float, ...]] = (0.25, 1.0, 4.0, 16.0)  # β/α
    atoms: ClassVar[int] = ATOMS
    sweep_seeds: ClassVar[int] = COHORT
    times = staticmethod(log_times)

    @staticmethod
    def learner(words: Words, kind: str = "") -> Learner:
        """Linear in the features, or the problem's own network where it has one."""
        if published(words.rule) is not None or words.settings:
            given = ", ".join(words.settings) or repr(words.rule.name)
            raise ValueError(f"{given} is for learners in a world, and {words.place!r} is none")
        predictor = words.predictor or default_for(find_problem(words.place))
        for name in ("alpha", "beta"):
            if getattr(words, name) is None:
                raise ValueError(f"Missing option '--{name}'.")
        other = "" if kind in ("", *TRAINERS.values()) else kind
        return words.learner(atoms=ATOMS, predictor=predictor, cohort=COHORT, kind=other)


@dataclass(frozen=True, eq=False)
class OnTable(Defaults, ABC):
    """A learner on a table of transitions. `F` below is [lanes, states, n]."""

    spec: RunSpec
    problem: Problem
    mdp: FiniteMDP
    target: Target
    rule: Rule

    @classmethod
    def of(cls, spec: RunSpec) -> Self:
        problem, learner = find_problem(spec.place.problem), spec.learner
        mdp = problem.mdp.with_(weights=problem.mdp.d) if spec.place.iid else problem.mdp
        linear = learner.predictor.kind == "linear"
        target = problem.target(learner.target, learner.atoms, learner.projection, linear)
        made = cls(spec, problem, mdp, target, resolve(learner.rule))
        for name in spec.probe.metrics:
            look_up("metric", name, dict.fromkeys((*target.metrics, *ALONG, *SPECTRUM, "err", "values")))
        made.check()
        return made

    # ------------------------------------------------------------------ what a kind of predictor brings

    @cached_property
    @abstractmethod
    def engine(self) -> Any:
        """The loop, with `start` and `run`."""

    @abstractmethod
    def first(self, seeds: range) -> Any:
        """θ₀ of every lane. A network's comes from the lane's own stream, and is the same for every rule."""

    @abstractmethod
    def predictions(self, theta: Any) -> Floats:
        """F of every lane and state."""

    @abstractmethod
    def flat(self, weights: Any) -> Floats:
        """[lanes, d], as the objective lays θ out."""

    @abstractmethod
    def predictor(self) -> Predictor:
        """For exact objectives."""

    def check(self) -> None:
        """ValueError if the predictor does not fit."""

    def weights(self, state: Any) -> tuple[Any, Any]:
        """(θ, w) that are measured."""
        return state.theta, state.w

    @property
    def options(self) -> dict[str, Any]:
        """Of every call of the loop."""
        learner = self.spec.learner
        return {"schedule": learner.schedule.make(), "radius": np.inf if learner.radius is None else learner.radius}

    def moving(self, state: Any) -> State:
        """θ, w and whatever else of the state changes in place, beside the sampler."""
        return {"theta": state.theta, "w": state.w}

    # ------------------------------------------------------------------ running

    def streams(self, seeds: range) -> NDArray[np.uint64]:
        """One stream per lane, the same for every rule: lanes of two rules are pairs."""
        return lane_streams(self.spec.root_seed, seeds, problem=self.spec.place.problem, **dict(self.spec.axes))

    def generators(self, seeds: range) -> list[np.random.Generator]:
        """What first weights are drawn from."""
        axes: dict[str, Any] = dict(self.spec.axes) | {"problem": self.spec.place.problem, "stream": "weights"}
        return generators(self.spec.root_seed, seeds, **axes)

    def start(self, seeds: range) -> Any:
        return self.engine.start(self.first(seeds), self.streams(seeds))

    def advance(self, state: Any, steps: int) -> None:
        self.engine.run(state, steps, self.spec.learner.alpha, self.spec.learner.beta, **self.options)

    def arrays(self, state: Any) -> State:
        sampler = {"streams": state.sampler.streams, "states": state.sampler.state}
        return self.moving(state) | sampler | {"died": state.died}

    def restore(self, state: Any, saved: State) -> None:
        refill(self.arrays(state), saved)

    # ------------------------------------------------------------------ measuring

    @cached_property
    def names(self) -> tuple[str, ...]:
        asked = self.spec.probe.metrics or self.target.metrics
        values = tuple(f"value {s + 1}" for s in range(self.mdp.states))
        return tuple(column for name in asked for column in (values if name == "values" else (name,)))

    def measure(self, state: Any) -> Floats:
        return self.measured(*self.weights(state))

    def measured(self, theta: Any, w: Any) -> Floats:
        asked, found = self.spec.probe.metrics or self.target.metrics, {}
        if set(asked) & set(ALONG):
            found = self._objective.along(self.flat(theta), self.flat(w))
        if set(asked) & set(SPECTRUM):
            found |= self._objective.spectrum(self.flat(theta))
        if "err" in asked:
            found["err"] = self._saddle.error_of(theta, w)
        with np.errstate(all="ignore"):
            F = self.predictions(theta)
            values = self.target.mean(F)
        if simple := tuple(name for name in asked if name in self.target.metrics):
            found |= dict(zip(simple, np.moveaxis(self._metrics(F, simple), -1, 0), strict=True))
        return np.concatenate([values if name == "values" else found[name][:, None] for name in asked], axis=1)

    def laws(self, state: Any) -> Floats:
        """[lanes, n]: F of the last prediction at the most visited state."""
        theta, _ = self.weights(state)
        if not isinstance(self.target, CdfTarget):
            return np.zeros((len(state.died), 0))
        with np.errstate(all="ignore"):
            return self.target.laws(self.predictions(theta)[:, int(np.argmax(self.mdp.d))]).copy()

    @cached_property
    def _metrics(self) -> Metrics:
        return Metrics(self.mdp, self.target)

    @cached_property
    def _objective(self) -> Objective:
        return Objective(self.mdp, self.target, self.predictor())

    @cached_property
    def _saddle(self) -> Saddle:
        if self.spec.learner.predictor.kind != "linear":
            raise ValueError("metric 'err' is of linear predictors, got a network")
        if self.spec.learner.radius is None:
            raise ValueError("metric 'err' needs a radius: it is a maximum over balls")
        return Saddle(self.mdp, self.target, radius=self.spec.learner.radius)

    def rank(self, seed: int = 0) -> tuple[int, int]:
        """The rank of E Σφφᵀ where lane `seed` starts, and d: Theorem 2 asks for equality."""
        theta = self.flat(self.first(range(seed, seed + 1)))
        return self._objective.rank(theta[0]), theta.shape[1]
