"""A contest: rules × problems, with step sizes given or found by a sweep on seeds of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from algorithms.checks import Floats, Integers, positive, whole
from algorithms.rules import RULES
from algorithms.targets import target_class
from harness.plugins import find_problem
from harness.runs.fingerprint import run_hash
from harness.runs.learning import check_learner
from harness.runs.predictors import default_for
from harness.runs.spec import (
    COHORT,
    MOST_SEEDS,
    FileRef,
    Learner,
    Outcome,
    Place,
    PredictorSpec,
    Probe,
    Request,
    RunSpec,
    StepSchedule,
    log_times,
)
from harness.runs.store import Store, StoredLane

SWEEP_SEED = 2_000_003  # added to the root seed: lanes that choose step sizes are not those that are reported
STRIDE = 4.0  # between the values of a grid
CHOICE = "smallest mean area under RMSPBE over the sweep's lanes; a setting with a diverged lane does not count"


@dataclass(frozen=True)
class Contestant:
    """A rule on values, or on return distributions."""

    rule: FileRef
    target: str
    alias: str = ""

    @property
    def name(self) -> str:
        """Of the rule, whatever its form; the alias tells two rules of one name apart."""
        name = self.rule.name.upper() if self.rule.name in RULES and not self.rule.path else self.rule.name
        return self.alias or name

    @property
    def label(self) -> str:
        """As tables and legends show it."""
        return f"{target_class(self.target).form} {self.name}".strip()

    @property
    def distributional(self) -> bool:
        """Whether it predicts laws."""
        return bool(target_class(self.target).form)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured of it."""
        return target_class(self.target).metrics


@dataclass(frozen=True)
class Grid:
    """α × β/α."""

    alphas: tuple[float, ...] = (2.0**-1, 2.0**-3, 2.0**-5, 2.0**-7, 2.0**-9)
    ratios: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0)

    def __post_init__(self) -> None:
        if not self.alphas or not self.ratios:
            raise ValueError("a sweep needs at least one alpha and one ratio")
        for name, values in (("alpha", self.alphas), ("ratio", self.ratios)):
            for value in values:
                positive(name, value)

    def points(self) -> list[tuple[float, float]]:
        """(α, β) of every setting."""
        return [(alpha, ratio * alpha) for alpha in self.alphas for ratio in self.ratios]

    def beyond(self, chosen: Iterable[tuple[float, float]]) -> Grid:
        """One more value on each side where somebody's choice lies on the edge; everybody gets the same grid."""
        found = list(chosen)
        alphas = _beyond(self.alphas, [alpha for alpha, _ in found])
        return Grid(alphas, _beyond(self.ratios, [beta / alpha for alpha, beta in found]))


def _beyond(values: tuple[float, ...], chosen: list[float]) -> tuple[float, ...]:
    low, high = min(values), max(values)
    if low == high:
        return values
    below = (low / STRIDE,) if any(math.isclose(each, low) for each in chosen) else ()
    above = (high * STRIDE,) if any(math.isclose(each, high) for each in chosen) else ()
    return (*values, *above, *below)


@dataclass(frozen=True)
class Contest:
    """Who meets where, for how long, and how step sizes are found (`steps_given`, or the grid)."""

    problems: tuple[str, ...]
    contestants: tuple[Contestant, ...]
    steps: int = 50_000
    seeds: int = 30
    atoms: int = 21
    projection: str = "cramer"
    schedule: str = "constant"
    root_seed: int = 0
    steps_given: tuple[float, float] | None = None
    grid: Grid = Grid()
    sweep_seeds: int = COHORT
    predictor: PredictorSpec | None = None  # the problem's own choice: linear, or its network

    def __post_init__(self) -> None:
        if self.seeds < 2:
            raise ValueError(f"seeds must be at least 2 for an interval, got {self.seeds}")
        whole("seeds", self.seeds, 2, MOST_SEEDS)
        whole("sweep_seeds", self.sweep_seeds, 1, MOST_SEEDS)
        for each, kind in ((self.problems, "problem"), (self.contestants, "rule")):
            if not each:
                raise ValueError(f"a comparison needs at least one {kind}")
        for name in self.problems:
            find_problem(name).target("cdf", self.atoms, self.projection)
            for who in self.contestants:
                check_learner(self.spec(name, who, 0.1, 0.1))

    def spec(self, problem: str, who: Contestant, alpha: float, beta: float, sweep: bool = False) -> RunSpec:
        """The run of one contestant on one problem."""
        schedule = StepSchedule(self.schedule)
        predictor = self.predictor or default_for(find_problem(problem))
        learner = Learner(who.rule, alpha, beta, who.target, self.atoms, self.projection, schedule, predictor=predictor)
        return RunSpec(
            Place(problem), learner, Probe(log_times(self.steps)), root_seed=self.root_seed + SWEEP_SEED * sweep
        )

    def pairs(self) -> list[tuple[str, Contestant]]:
        """Every contestant on every problem."""
        return [(problem, who) for problem in self.problems for who in self.contestants]

    def sweep_requests(self) -> list[Request]:
        """Nothing if the step sizes are given."""
        if self.steps_given is not None:
            return []
        return [
            Request(self.spec(problem, who, alpha, beta, sweep=True), self.sweep_seeds)
            for problem, who in self.pairs()
            for alpha, beta in self.grid.points()
        ]

    def final_requests(self, chosen: Choices) -> list[Request]:
        """The runs that are reported, on fresh seeds."""
        return [Request(self.spec(*pair, *chosen[pair].best), self.seeds) for pair in self.pairs()]


@dataclass(frozen=True)
class SweepPoint:
    """A point of a sweep: mean area under RMSPBE, and how many lanes diverged."""

    alpha: float
    beta: float
    area: float
    diverged: int
    lanes: int

    @property
    def stable(self) -> bool:
        """No lane diverged."""
        return self.diverged == 0


@dataclass(frozen=True)
class Choice:
    """The step sizes to use, and the sweep behind them (empty if they were given)."""

    best: tuple[float, float]
    sweep: tuple[SweepPoint, ...] = ()
    seconds: float = 0.0

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
        if len(ratios) > 1 and beta / alpha in (ratios[0], ratios[-1]):
            out.append("β/α")
        return tuple(out)


Choices = dict[tuple[str, Contestant], Choice]


class NoStableStepError(ValueError):
    """Every setting of a sweep diverged."""


def choose(contest: Contest, store: Store) -> Choices:
    """Step sizes for every pair, by the rule stated in CHOICE; ties go to the smaller α, then the smaller β."""
    if contest.steps_given is not None:
        return {pair: Choice(contest.steps_given) for pair in contest.pairs()}
    found: Choices = {}
    for problem, who in contest.pairs():
        settings, seconds = [], 0.0
        for alpha, beta in contest.grid.points():
            spec = contest.spec(problem, who, alpha, beta, sweep=True)
            lanes = settled_lanes(store, spec, contest.sweep_seeds)
            metric = store.metrics(run_hash(spec)).index("rmspbe")
            curves = np.stack([lane.curves[:, metric] for lane in lanes])
            diverged = sum(lane.outcome is Outcome.DIVERGED for lane in lanes)
            mean = float(areas(spec.times(), curves).mean())
            settings.append(SweepPoint(alpha, beta, mean if not diverged else np.inf, diverged, len(lanes)))
            seconds += sum(lane.seconds for lane in lanes)
        stable = [setting for setting in settings if setting.stable]
        if not stable:
            raise NoStableStepError(no_stable_words(problem, who, settings))
        best = min(stable, key=lambda s: (s.area, s.alpha, s.beta))
        found[problem, who] = Choice((best.alpha, best.beta), tuple(settings), seconds)
    return found


def settled_lanes(store: Store, spec: RunSpec, seeds: int) -> list[StoredLane]:
    """The lanes of a run, or an error that says why no lanes can be compared."""
    lanes = store.lanes(run_hash(spec), seeds)
    for lane in lanes:
        if not lane.outcome.settled:
            name, problem = spec.learner.rule.name, spec.place.problem
            raise ValueError(f"{name} on {problem}: {lane.outcome}: {lane.error}")
    return lanes


def no_stable_words(problem: str, who: Contestant, settings: Iterable[SweepPoint]) -> str:
    """One line: what diverged, and where to look next."""
    tried = sorted(settings, key=lambda s: (s.alpha, s.beta))
    lost = ", ".join(f"α={s.alpha:g} β={s.beta:g}: {s.diverged} of {s.lanes}" for s in tried[:3])
    return (
        f"no stable step sizes for {who.label} on {problem}: each of {len(tried)} settings had lanes that diverged "
        f"({lost}{', …' if len(tried) > 3 else ''}); try smaller --alphas, or leave the rule out"
    )


def steps_to_share(times: Integers, curves: Floats, share: float) -> Floats:
    """[lanes]: the first checkpoint at which a curve [lanes, checkpoints] is at `share` of its start, or infinity.

    A lane that is lost afterwards never arrived.
    """
    with np.errstate(invalid="ignore"):
        there = (curves <= share * curves[:, :1]) & np.isfinite(curves[:, -1:])
    return np.where(there.any(1), times[there.argmax(1)].astype(float), np.inf)


def areas(times: Integers, curves: Floats) -> Floats:
    """Mean height of each curve [lanes, checkpoints] over the steps; infinite where it was not finite."""
    t = np.asarray(times, dtype=float)
    with np.errstate(invalid="ignore"):
        area = np.trapezoid(curves, t, axis=1) / (t[-1] - t[0])
    return np.where(np.isfinite(area), area, np.inf)
