"""An experiment as data: entrants × places, how step sizes are found, seeds and steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dgtd.algorithms.checks import positive, whole
from dgtd.algorithms.rule import uses
from dgtd.algorithms.rules import PUBLISHED, RULES, find_rule
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.targets import target_class
from dgtd.harness.experiment.search import SWEEP_SEED, Choice, Grid, SweepPoint, kind_at, run_spec
from dgtd.harness.oracle.metrics import Score
from dgtd.harness.places.world import find_place, find_world, is_world
from dgtd.harness.runs.predictors import Words, named, published
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import MOST_SEEDS, FileRef, PredictorSpec, Request, RunSpec, States, StepSchedule
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import trainer_of

MATTERS = 0.02


@dataclass(frozen=True)
class Entrant:
    """A rule on values or on return distributions, or a published agent."""

    rule: FileRef
    target: str
    alias: str = ""

    @property
    def name(self) -> str:
        """Of the rule, whatever its form; the alias tells two rules of one name apart."""
        ours = not self.rule.path and (self.rule.name in RULES or self.rule.name in PUBLISHED)
        return self.alias or (self.rule.name.upper() if ours else self.rule.name)

    @property
    def label(self) -> str:
        """As tables and legends show it."""
        return self.name if published(self.rule) else f"{target_class(self.target).form} {self.name}".strip()

    @property
    def distributional(self) -> bool:
        return bool(target_class(self.target).form)

    @cached_property
    def uses_w(self) -> bool:
        """Whether its rule has auxiliary weights, and so a step size β."""
        row = published(self.rule)
        return uses(find_rule(row.rule) if row else resolve(self.rule))[0]

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is measured of it on a finite problem."""
        return target_class(self.target).metrics


def entrants(rules: tuple[str | FileRef, ...], targets: tuple[str, ...]) -> tuple[Entrant, ...]:
    """Every rule on each target, published agents on their own; a rule that is written in two ways is one."""
    if not targets:
        raise ValueError("targets must name value, cdf or both, got ''")
    for target in targets:
        target_class(target)
    refs = list(dict.fromkeys(named(each) if isinstance(each, str) else each for each in rules))
    names = [ref.name for ref in refs]
    alias = {}
    for i, ref in enumerate(refs):
        twin = f"{ref.name} ({names[: i + 1].count(ref.name)})" if ref.path == "in memory" else f"{ref.path}:{ref.name}"
        alias[ref] = twin if names.count(ref.name) > 1 and ref.path else ""
    made = [Entrant(ref, row.target) for ref in refs if (row := published(ref))]
    return (*made, *(Entrant(ref, kind, alias[ref]) for kind in targets for ref in refs if not published(ref)))


@dataclass(frozen=True)
class Experiment:
    """Who meets where, for how long, and how step sizes are found.

    alpha, beta   step sizes for all; without α the grid is searched on seeds of its own
    kind          of the learners; '': each place's own
    atoms, predictor, grid, sweep_seeds   None: the kind's
    settings      of the kind, for every learner
    states        of a world, where return distributions are kept; none: where every observation is 0
    threshold     a return, for "steps to it"; none: see `Comparison.threshold`
    matters       the share of a score below which a difference is too small to matter
    looks         the numbers of seeds at which it is asked what is decided, and none beyond; none: asked once
    extended      grids that were extended beyond an edge that was chosen, each for its pair alone
    """

    places: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    steps: int = 50_000
    seeds: int = 30
    atoms: int | None = None
    projection: str = "cramer"
    schedule: str = "constant"
    root_seed: int = 0
    alpha: float | None = None
    beta: float | None = None
    grid: Grid | None = None
    sweep_seeds: int | None = None
    predictor: PredictorSpec | None = None
    kind: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    states: States = ()
    threshold: float | None = None
    matters: float = MATTERS
    looks: tuple[int, ...] = ()
    extended: dict[tuple[str, Entrant], Grid] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each, what in ((self.places, "problem"), (self.entrants, "rule")):
            if not each:
                raise ValueError(f"a comparison needs at least one {what}")
        self._check_places()
        self._check_steps()
        if self.seeds < 2:
            raise ValueError(f"seeds must be at least 2 for an interval, got {self.seeds}")
        whole("seeds", self.seeds, 2, MOST_SEEDS)
        defaults = kind_at(self.places[0], self.kind)
        for name in ("sweep_seeds", "atoms"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(defaults, name))
        whole("sweep_seeds", self.sweep_seeds or 0, 1, MOST_SEEDS)
        if self.threshold is not None and not (self.in_worlds and math.isfinite(self.threshold)):
            says = "must be a finite return" if self.in_worlds else "is a return of agents in a world: give a world"
            raise ValueError(f"threshold {says}, got {self.threshold}")
        if self.states and not any(who.distributional for who in self.entrants):
            raise ValueError("states are where laws are kept: a target must be cdf")
        positive("matters", self.matters)
        for pair in self.pairs():  # what can't run is said before anything does
            trainer_of(self.spec(*pair, *(self.points(*pair)[0])))

    def _check_places(self) -> None:
        """Worlds and finite problems have other scores: an experiment is of one kind."""
        acting = self.kind in ("agent", "policy-iteration") or any(published(who.rule) for who in self.entrants)
        for place in self.places:
            (find_world if acting or any(map(is_world, self.places)) else find_place)(place)

    def _check_steps(self) -> None:
        if self.in_worlds:
            if self.alpha is not None and self.grid is not None:
                raise ValueError("alphas are the sweep's, and alpha leaves no sweep: give one or the other")
            return
        if self.alpha is not None and self.beta is None and not any(who.uses_w for who in self.entrants):
            object.__setattr__(self, "beta", self.alpha)
        if (self.alpha is None) != (self.beta is None):
            raise ValueError("alpha and beta must be given together, or neither, for a sweep")
        if self.alpha is not None and self.beta is not None:
            if self.grid is not None:
                says = "alphas and ratios are the sweep's, and alpha and beta leave no sweep: give one or the other"
                raise ValueError(says)
            check_steps(self.alpha, self.beta)

    @property
    def in_worlds(self) -> bool:
        return is_world(self.places[0])

    @property
    def search(self) -> Grid:
        """The grid: what was given, or the kind's. A kind without ratios has one step size of w."""
        if self.grid is not None:
            return self.grid
        defaults = kind_at(self.places[0], self.kind)
        beta = self.beta if self.beta is not None else None if defaults.ratios else defaults.beta
        return Grid(defaults.alphas, defaults.ratios, beta)

    @property
    def searched(self) -> bool:
        """Whether step sizes are searched for; in a world one setting leaves nothing to choose."""
        return self.alpha is None and (not self.in_worlds or len(self.search.points()) > 1)

    def grid_of(self, place: str, who: Entrant) -> Grid:
        """What is tried of one entrant at one place; a rule without w has no β to search for."""
        grid = self.extended.get((place, who), self.search)
        return grid if who.uses_w or grid.beta is not None else replace(grid, ratios=(1.0,))

    def points(self, place: str, who: Entrant) -> list[tuple[float, float]]:
        """Every (α, β) that is tried."""
        if self.alpha is None:
            return self.grid_of(place, who).points()
        defaults = kind_at(self.places[0], self.kind)
        own = self.alpha * defaults.ratios[0] if len(defaults.ratios) == 1 else getattr(defaults, "beta", self.alpha)
        return [(self.alpha, own if self.beta is None else self.beta)]

    def score(self, place: str) -> Score:
        return find_place(place).scores[0]

    def spec(self, place: str, who: Entrant, alpha: float, beta: float, sweep: bool = False) -> RunSpec:
        """The run of one entrant at one place."""
        defaults = kind_at(place, self.kind)
        cohort = None
        if self.in_worlds:  # cohorts are long there
            cohort = self.sweep_seeds if sweep else min(defaults.cohort, self.seeds)
        words = Words(
            who.rule, place, who.target, alpha, beta, self.atoms, self.projection, self.predictor,
            StepSchedule(self.schedule), cohort=cohort, settings=getattr(defaults, "searched", {}) | self.settings,
        )  # fmt: skip
        seed = self.root_seed + SWEEP_SEED * sweep
        purpose = ("sweep" if sweep else "reported") if self.in_worlds else ""
        states = self.states if who.distributional and not sweep else ()
        return run_spec(place, defaults.learner(words, self.kind), self.steps, seed, purpose, states)

    def pairs(self) -> list[tuple[str, Entrant]]:
        return [(place, who) for place in self.places for who in self.entrants]

    @property
    def tests(self) -> int:
        """How many are made: each pair of entrants at each place."""
        return len(self.places) * math.comb(len(self.entrants), 2)

    def sweep_requests(self) -> list[Request]:
        """Nothing if there is nothing to choose."""
        if not self.searched:
            return []
        assert self.sweep_seeds is not None
        return [
            Request(self.spec(*pair, *point, sweep=True), self.sweep_seeds)
            for pair in self.pairs()
            for point in self.points(*pair)
        ]

    def final_requests(self, chosen: Choices) -> list[Request]:
        """The runs that are reported, on fresh seeds."""
        return [Request(self.spec(*pair, *chosen[pair].best), self.seeds) for pair in self.pairs()]

    def choose(self, store: Store) -> Choices:
        if not self.searched:
            return {pair: Choice(self.points(*pair)[0]) for pair in self.pairs()}
        return {pair: self._choice(store, *pair) for pair in self.pairs()}

    def _choice(self, store: Store, place: str, who: Entrant) -> Choice:
        score, points, seconds = self.score(place), [], 0.0
        assert self.sweep_seeds is not None
        for alpha, beta in self.points(place, who):
            lanes = store.settled_lanes(self.spec(place, who, alpha, beta, sweep=True), self.sweep_seeds)
            alive = score.of(lanes)[~lanes.lost]
            mean = float(alive.mean()) if alive.size else score.worst
            points.append(SweepPoint(alpha, beta, mean, int(lanes.lost.sum()), len(lanes.lost)))
            seconds += lanes.seconds
        return Choice.among(points, score.higher, seconds)

    def wider(self, chosen: Choices) -> Experiment:
        """With a grid that goes on beyond each edge that was chosen; itself if none was.

        Each pair's grid is its own: whoever retreats to ever smaller steps changes nobody else's numbers.
        """
        extended = {pair: self.grid_of(*pair).beyond([choice.best]) for pair, choice in chosen.items()}
        same = not self.searched or all(extended[pair] == self.grid_of(*pair) for pair in extended)
        return self if same else replace(self, extended=extended)


Choices = dict[tuple[str, Entrant], Choice]


def steps_to(times: Any, there: Any) -> Any:
    """[lanes]: the first checkpoint at which `there` [lanes, checkpoints] holds; infinity for never."""
    return np.where(there.any(1), np.asarray(times)[there.argmax(1)].astype(float), np.inf)


def steps_to_share(times: Any, curves: Any, share: float) -> Any:
    """[lanes]: the first checkpoint at which a curve [lanes, checkpoints] is at `share` of its start, or infinity.

    A lane that is lost afterwards never arrived.
    """
    with np.errstate(invalid="ignore"):
        there = (curves <= share * curves[:, :1]) & np.isfinite(curves[:, -1:])
    return steps_to(times, there)
