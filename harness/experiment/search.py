"""What a learner is at a place, and how its step sizes are found: a grid on seeds of its own, and one stated choice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from dgtd.algorithms.checks import positive, whole
from dgtd.harness.places.world import find_place
from dgtd.harness.runs.predictors import Words
from dgtd.harness.runs.spec import FileRef, Learner, PlaceSpec, PredictorSpec, Probe, RunSpec, States, StepSchedule
from dgtd.harness.runs.trainers.policy_iteration import HIDDEN, Iterating
from dgtd.harness.runs.trainers.trainer import trainer_class

SWEEP_SEED = 2_000_003  # added to the root seed: lanes that choose step sizes are not those that are reported
CHOICE = "best mean {label} over the sweep's lanes that did not diverge, of the settings with the fewest that did"


@dataclass(frozen=True)
class Grid:
    """α × β/α; without ratios α alone, and w has one step size, `beta`."""

    alphas: tuple[float, ...] = (2.0**-1, 2.0**-3, 2.0**-5, 2.0**-7, 2.0**-9)
    ratios: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0)
    beta: float | None = None

    def __post_init__(self) -> None:
        if not self.alphas or (not self.ratios and self.beta is None):
            raise ValueError("a sweep needs at least one alpha and one ratio")
        for name, values in (("alpha", self.alphas), ("ratio", self.ratios)):
            for value in values:
                positive(name, value)

    def points(self) -> list[tuple[float, float]]:
        """(α, β) of every setting."""
        if self.beta is not None:
            return [(alpha, self.beta) for alpha in self.alphas]
        return [(alpha, ratio * alpha) for alpha in self.alphas for ratio in self.ratios]

    def beyond(self, chosen: Iterable[tuple[float, float]]) -> Grid:
        """One more value on each side where a choice lies on the edge."""
        found = list(chosen)
        alphas = _beyond(self.alphas, [alpha for alpha, _ in found])
        ratios = self.ratios if self.beta is not None else _beyond(self.ratios, [beta / alpha for alpha, beta in found])
        return Grid(alphas, ratios, self.beta)


def _beyond(values: tuple[float, ...], chosen: list[float]) -> tuple[float, ...]:
    """At the distance of the two values at that end."""
    order = sorted(values)
    if len(order) < 2:
        return values
    low, high = order[0], order[-1]
    below = (_tidy(low * low / order[1]),) if np.isclose(chosen, low, rtol=1e-9, atol=0).any() else ()
    above = (_tidy(high * high / order[-2]),) if np.isclose(chosen, high, rtol=1e-9, atol=0).any() else ()
    return (*values, *above, *below)


def _tidy(value: float) -> float:
    return float(f"{value:.15g}")


@dataclass(frozen=True)
class SweepPoint:
    """A point of a sweep: the mean score of the lanes that did not diverge, and how many did."""

    alpha: float
    beta: float
    mean: float
    diverged: int
    lanes: int

    @property
    def stable(self) -> bool:
        return self.diverged == 0

    @property
    def area(self) -> float:
        """The mean score where no lane diverged; infinity elsewhere."""
        return self.mean if self.stable else np.inf


@dataclass(frozen=True)
class Choice:
    """The step sizes to use, and the sweep behind them (empty if they were given)."""

    best: tuple[float, float]
    sweep: tuple[SweepPoint, ...] = ()
    seconds: float = 0.0

    @staticmethod
    def among(points: list[SweepPoint], higher: bool, seconds: float = 0.0) -> Choice:
        """By the rule stated in CHOICE; ties go to the smaller α, then the smaller β."""
        sign = -1.0 if higher else 1.0
        best = min(points, key=lambda each: (each.diverged, sign * each.mean, each.alpha, each.beta))
        return Choice((best.alpha, best.beta), tuple(points), seconds)

    @property
    def mean(self) -> float:
        """The mean score of the sweep's lanes at the chosen setting; NaN without a sweep."""
        return next((point.mean for point in self.sweep if (point.alpha, point.beta) == self.best), float("nan"))

    @property
    def stable(self) -> bool:
        """Whether there was a setting without a diverged lane, or nothing to choose."""
        return not self.sweep or any(point.stable for point in self.sweep)

    @property
    def retreated(self) -> bool:
        """Whether the smallest α that was tried is the best, or none was stable."""
        return not self.stable or (len(self.sweep) > 1 and self.best[0] == min(point.alpha for point in self.sweep))

    @property
    def on_edge(self) -> tuple[str, ...]:
        """Which of α and β/α is the smallest or largest of the grid: a better one may lie beyond."""
        if len(self.sweep) < 2:
            return ()
        alpha, beta = self.best
        alphas = sorted({point.alpha for point in self.sweep})
        ratios = sorted({point.beta / point.alpha for point in self.sweep})
        out = []
        if len(alphas) > 1 and alpha in (alphas[0], alphas[-1]):
            out.append("α")
        one_beta = len({point.beta for point in self.sweep}) == 1
        if len(ratios) > 1 and not one_beta and beta / alpha in (ratios[0], ratios[-1]):
            out.append("β/α")
        return tuple(out)


def kind_at(place: str, kind: str = "") -> Any:
    """The class of a kind of learner: the place's own, unless one is named."""
    return trainer_class(kind or find_place(place).learner)


def kind_of(name: str | None) -> str:
    """A kind of learner as a user names it; '' where nothing was said. ValueError if there is none of that name."""
    if name is None:
        return ""
    trainer_class(name)
    return name


def learner(kind: str, rule: str | FileRef, place: str, **said: Any) -> Learner:
    """A learner of a kind, with its defaults for whatever was not said."""
    made: Learner = kind_at(place, kind).learner(Words.of(rule, place, **said), kind)
    return made


def agent_learner(rule: str, world: str, target: str = "cdf", *said: Any, **more: Any) -> Learner:
    """An agent; `said` are α, β and the number of atoms."""
    return learner("agent", rule, world, target=target, **_named(said), **more)


def iterating_learner(rule: str, world: str, target: str = "value", *said: Any, **more: Any) -> Learner:
    """Policy iteration; `said` are α, β and the number of atoms."""
    return learner("policy-iteration", rule, world, target=target, **_named(said), **more)


def _named(said: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("alpha", "beta", "atoms"), said, strict=False))


def run_spec(place: str, made: Learner, steps: int, seed: int = 0, purpose: str = "", states: States = ()) -> RunSpec:
    """A run from its first step on, with the checkpoints of its kind; return distributions are kept at these states.

    purpose   names the lanes' streams; '' for those that every learner on a finite problem shares
    """
    times = trainer_class(made.trainer).times(steps)
    axes = (("purpose", purpose or ("lanes" if find_place(place).acts else "transitions")),)
    return RunSpec(PlaceSpec(place), made, Probe(times, states=states), seed, axes)


ALPHAS = (0.003, 1.0)  # even in logarithms
RATIOS = (0.1, 10.0)  # β/α, likewise
DECAYING = StepSchedule("robbins-monro", offset=5_000)
RADIUS = 10.0  # of Γ: θ starts at 3.5 (values) and 5.5 (laws), and reaches 5 to 10 where it learns, 20 to 150 where not
_DIMENSIONS = 5  # of seven, the 16 first points tie the sixth to the first, and the seventh to the second


@dataclass(frozen=True)
class Point:
    """One setting. What a value does not have, a projection and a pinned logit, it does not see."""

    alpha: float
    beta: float
    replayed: bool
    decaying: bool
    activation: str
    projection: str
    pinned: bool
    bounded: bool = False  # by Γ

    def shown(self, target: str) -> str:
        words = ["replay" if self.replayed else "online", "decaying" if self.decaying else "constant", self.activation]
        if target == "cdf":
            words += [self.projection, *(["pinned"] if self.pinned else [])]
        words += ["Γ"] if self.bounded else []
        return f"α {self.alpha:.3g}, β {self.beta:.3g}, {', '.join(words)}"


def points(count: int) -> list[Point]:
    """The first `count` points, a power of two: choices and halves of the rates are balanced in pairs."""
    whole("count", count, 2)
    if count & (count - 1):
        raise ValueError(f"count must be a power of two, got {count}")
    sobol = qmc.Sobol(_DIMENSIONS, scramble=False).random(count) + 0.5 / count  # in the middle of the cells
    made = []
    for alpha, ratio, first, second, third in sobol.tolist():
        replayed, nearest = divmod(int(4 * first), 2)  # two choices in one dimension
        decaying, pinned = divmod(int(4 * second), 2)
        relu, bounded = divmod(int(4 * third), 2)
        size = _between(ALPHAS, alpha)
        made.append(
            Point(size, size * _between(RATIOS, ratio), bool(replayed), bool(decaying), "relu" if relu else "tanh",
                  "nearest" if nearest else "cramer", bool(pinned), bool(bounded))
        )  # fmt: skip
    return made


def _between(ends: tuple[float, float], share: float) -> float:
    return float(ends[0] * (ends[1] / ends[0]) ** share)


def learner_at(point: Point, rule: str, target: str, world: str, **rest: Any) -> Learner:
    """A rule at a point, with the paper's networks."""
    law = {"projection": point.projection} if target == "cdf" else {}
    network = PredictorSpec("mlp", HIDDEN[target], point.activation, point.pinned and target == "cdf")
    schedule = DECAYING if point.decaying else StepSchedule()
    replay = Iterating.searched if point.replayed else {}
    ball = {"radius": RADIUS} if point.bounded else {}
    return iterating_learner(
        rule, world, target, point.alpha, point.beta, predictor=network, schedule=schedule, **law | replay | ball | rest
    )
