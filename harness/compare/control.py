"""A contest of agents in worlds: equal sweeps on seeds of their own, then fresh, paired lanes, judged by returns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from algorithms.checks import positive, whole
from algorithms.names import look_up
from algorithms.rules import PUBLISHED
from algorithms.targets import target_class
from harness.compare import agents, policy_iteration
from harness.compare.agents import run_spec
from harness.compare.comparison import ALPHA, undecidable
from harness.compare.contest import SWEEP_SEED
from harness.compare.earnings import Earnings, Entrant, Sweep, earned
from harness.compare.space import REPLAY
from harness.judging.statistics import Paired, holm, median_interval, paired, variance_ratio
from harness.runs.cohort import made_of
from harness.runs.rule_files import reference
from harness.runs.spec import MOST_SEEDS, Learner, PredictorSpec, Request, RunSpec, States, StepSchedule
from harness.runs.store import Store

RATES = {"agent": (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3), policy_iteration.NAME: (0.01, 0.03, 0.1, 0.3)}
ROUNDS = 2  # times that the default rates are extended where a choice lies on their edge
CHOICE = "largest mean return over the last fifth of the sweep's lanes, of the rates with the fewest diverged lanes"


def entrants(names: tuple[str, ...], targets: tuple[str, ...]) -> tuple[Entrant, ...]:
    """Published agents once, rules on every target; a rule that is written in two ways is one."""
    for target in targets:
        target_class(target)
    found: dict[Any, Entrant] = {}
    for name in names:
        known = PUBLISHED.get(name)
        for target in targets if known is None else (known.target,):
            found.setdefault((name if known else reference(name, PUBLISHED), target), Entrant(name, target))
    return tuple(found.values())


@dataclass(frozen=True)
class ControlContest:
    """Learners × worlds.

    kind     agent: α is the rate of Adam. policy-iteration: α is a step size of SGD, transitions are replayed
    rates    the sweep's α; none: the kind's; one leaves nothing to choose
    beta     none: the agents' own, and in policy iteration as large as α
    atoms, predictor   none: the kind's
    threshold          a return, for "steps to it"; none: see `ControlComparison.threshold`
    settings           of the kind's `Control` or `Iteration`, for every learner
    states             where laws are kept; none: where every observation is 0
    schedule           of policy iteration's steps
    """

    worlds: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    steps: int
    seeds: int
    kind: str = "agent"
    rates: tuple[float, ...] = ()
    beta: float | None = None
    sweep_seeds: int = 5
    atoms: int | None = None
    projection: str = "cramer"
    predictor: PredictorSpec | None = None
    root_seed: int = 0
    threshold: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    states: States = ()
    schedule: StepSchedule = policy_iteration.CONSTANT

    def __post_init__(self) -> None:
        look_up("learner", self.kind, RATES)
        if not self.rates:
            object.__setattr__(self, "rates", RATES[self.kind])
        whole("seeds", self.seeds, 2, MOST_SEEDS)
        whole("sweep_seeds", self.sweep_seeds, 1, MOST_SEEDS)
        for rate in self.rates:
            positive("alpha", rate)
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise ValueError(f"threshold must be a finite return, got {self.threshold}")
        if not (self.worlds and self.entrants):
            raise ValueError("a comparison needs a world and an agent at least")
        if self.kind == "agent" and self.schedule != policy_iteration.CONSTANT:
            raise ValueError(f"agents have optimisers and no schedule, got {self.schedule.name!r}")
        if self.states and all(who.target == "value" for who in self.entrants):
            raise ValueError("states are where laws are kept: a target must be cdf")
        for world in self.worlds:
            for who in self.entrants:
                made_of(self.spec(world, who, self.rates[0]))  # what can't run is said before anything does

    @property
    def tests(self) -> int:
        """Each pair of agents in each world."""
        return len(self.worlds) * math.comb(len(self.entrants), 2)

    def beyond(self, chosen: Iterable[Sweep]) -> ControlContest:
        """With one more rate beyond each edge that was chosen, the same for every agent; itself if none was."""
        rates, best = sorted(self.rates), {each.best for each in chosen}
        more = [rates[0] ** 2 / rates[1]] if rates[0] in best else []
        more += [rates[-1] ** 2 / rates[-2]] if rates[-1] in best else []
        return replace(self, rates=tuple(sorted([*rates, *(float(f"{rate:.12g}") for rate in more)]))) if more else self

    def learner(self, world: str, who: Entrant, rate: float, cohort: int) -> Learner:
        """A learner with one rate; what is not given is its kind's."""
        given = {"beta": self.beta, "atoms": self.atoms, "predictor": self.predictor}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        options |= {"projection": self.projection, "cohort": cohort} | self.settings
        if self.kind == policy_iteration.NAME:
            own: dict[str, Any] = {"beta": rate, "schedule": self.schedule} | REPLAY
            return policy_iteration.learner(who.name, world, who.target, rate, **own | options)
        return agents.learner(who.name, world, who.target, rate, **options)

    def spec(self, world: str, who: Entrant, rate: float, sweep: bool = False) -> RunSpec:
        """A run of the sweep, or of the lanes that are reported."""
        made = self.learner(world, who, rate, self.sweep_seeds if sweep else min(10, self.seeds))
        seed = self.root_seed + (SWEEP_SEED if sweep else 0)
        states = () if sweep or who.target == "value" else self.states
        return run_spec(world, made, self.steps, seed, "sweep" if sweep else "reported", states)

    def sweep_requests(self) -> list[Request]:
        """Nothing if there is nothing to choose."""
        if len(self.rates) == 1:
            return []
        return [
            Request(self.spec(world, who, rate, sweep=True), self.sweep_seeds)
            for world in self.worlds
            for who in self.entrants
            for rate in self.rates
        ]

    def final_requests(self, chosen: dict[tuple[str, Entrant], Sweep]) -> list[Request]:
        """The chosen rates on fresh seeds."""
        return [Request(self.spec(world, who, found.best), self.seeds) for (world, who), found in chosen.items()]


def choose(contest: ControlContest, store: Store) -> dict[tuple[str, Entrant], Sweep]:
    """The best rate of every agent in every world."""
    out = {}
    for world in contest.worlds:
        for who in contest.entrants:
            means: dict[float, float] = {}
            lost: dict[float, int] = {}
            for rate in contest.rates if len(contest.rates) > 1 else ():
                lanes = earned(store, contest.spec(world, who, rate, sweep=True), contest.sweep_seeds)
                alive = lanes.final[np.isfinite(lanes.final)]
                means[rate], lost[rate] = float(alive.mean()) if alive.size else -np.inf, lanes.diverged
            best = max(means, key=lambda rate: (-lost[rate], means[rate]), default=contest.rates[0])
            out[world, who] = Sweep(best, means, lost)
    return out


@dataclass(frozen=True)
class Match:
    """A against B in a world, by the final return on the same seeds; `p` is Holm's. Differences are A − B."""

    world: str
    a: str
    b: str
    difference: float
    better: Any  # Interval of P(A earns more than B)
    p: float
    winner: str | None
    variance: Any  # VarianceRatio of A's final returns to B's, or None if lanes are too few


@dataclass(frozen=True)
class ControlComparison:
    """Everything a report shows."""

    contest: ControlContest
    entries: list[Earnings]
    matches: list[Match]

    def at(self, world: str) -> list[Earnings]:
        """The entries of a world."""
        return [entry for entry in self.entries if entry.world == world]

    def threshold(self, world: str) -> float:
        """The return that is asked for: half-way from where agents begin to what the best of them earns at last.

        NaN if none of them earns more at last.
        """
        if self.contest.threshold is not None:
            return self.contest.threshold
        here = self.at(world)
        curves = [one[np.isfinite(one)] for entry in here for one in entry.lanes.returns[:, entry.times > 0]]
        first = float(np.mean([one[0] for one in curves if one.size] or [np.nan]))
        best = max(float(np.median(entry.final)) for entry in here)
        return (first + best) / 2 if best > first else float("nan")


def weigh(contest: ControlContest, store: Store, chosen: dict[tuple[str, Entrant], Sweep]) -> ControlComparison:
    """Read the lanes back and compare them."""
    entries = []
    for (world, who), sweep in chosen.items():
        spec = contest.spec(world, who, sweep.best)
        lanes = earned(store, spec, contest.seeds)
        cost = 1e6 * lanes.seconds / (len(lanes.final) * contest.steps)
        entries.append(Earnings(world, who, sweep, spec.times(), lanes, cost))
    pairs = [
        (world, a, b)
        for world in contest.worlds
        for a, b in combinations([entry for entry in entries if entry.world == world], 2)
    ]
    results: list[Paired] = [paired(-a.final, -b.final, ALPHA) for _, a, b in pairs]  # more is better
    adjusted = holm([result.p for result in results]) if results else np.zeros(0)
    return ControlComparison(
        contest,
        entries,
        [_match(*pair, result, float(p)) for pair, result, p in zip(pairs, results, adjusted, strict=True)],
    )


def _match(world: str, a: Earnings, b: Earnings, result: Paired, p: float) -> Match:
    winner = None
    if p < ALPHA and result.direction:
        winner = a.who.label if result.direction < 0 else b.who.label
    fine = np.isfinite(a.final).all() and np.isfinite(b.final).all() and len(a.final) >= 4
    spread = variance_ratio(a.final, b.final, ALPHA) if fine else None
    return Match(world, a.who.label, b.who.label, -result.median_difference, result.better, p, winner, spread)


def words(found: ControlComparison) -> list[str]:
    """The answer, world by world: who earns more, by how much, and what these seeds can't tell."""
    lines = [f"{words}." for words in [undecidable(found.contest.seeds, found.contest.tests)] if words]
    for world in found.contest.worlds:
        ranked = sorted(found.at(world), key=lambda entry: -np.median(entry.final))
        told = ", ".join(f"{entry.who.label} {_amount(np.median(entry.final), '.0f')}" for entry in ranked)
        lines.append(f"{world}, median return over the last fifth of {found.contest.steps:,} steps: {told}.")
        for match in (each for each in found.matches if each.world == world):
            share = f"{match.better.estimate:.2f} [{match.better.low:.2f}, {match.better.high:.2f}]"
            share = f"P({match.a} earns more) {share}"
            if match.winner is not None:
                other = match.b if match.winner == match.a else match.a
                size = f"median difference {_amount(abs(match.difference))}"
                lines.append(f"{match.winner} earns more than {other}: {size}, {share}, p = {match.p:.2g}.")
            else:
                lines.append(
                    f"{match.a} and {match.b} are not told apart by {found.contest.seeds} seeds: median difference "
                    f"{_amount(match.difference)}, {share}, p = {match.p:.2g}."
                )
        for entry in found.at(world):
            if entry.lanes.diverged:
                lines.append(f"{entry.lanes.diverged} of {len(entry.final)} lanes of {entry.who.label} diverged.")
            if entry.sweep.on_edge:
                lines.append(f"The rate of {entry.who.label}, {entry.sweep.best:g}, lies on the edge of its grid.")
    return lines


def _amount(value: float, form: str = ".3g") -> str:
    """A return, or a difference of two: infinite where lanes diverged."""
    return f"{value:{form}}" if np.isfinite(value) else "−∞" if value < 0 else "∞"


def as_dict(found: ControlComparison) -> dict[str, Any]:
    """For JSON."""
    worlds: dict[str, Any] = {}
    for entry in found.entries:
        interval = median_interval(entry.final, ALPHA)
        worlds.setdefault(entry.world, {})[entry.who.label] = {
            "alpha": entry.sweep.best,
            "sweep": {f"{rate:g}": mean for rate, mean in entry.sweep.means.items()},
            "sweep_diverged": {f"{rate:g}": count for rate, count in entry.sweep.lost.items()},
            "final": {"median": interval.estimate, "low": interval.low, "high": interval.high},
            "final_mean": float(entry.final.mean()), "final_sd": entry.deviation,
            "area_mean": float(entry.lanes.area.mean()), "diverged": entry.lanes.diverged,
            "threshold": found.threshold(entry.world),
            "steps_to_threshold": [x if np.isfinite(x) else None for x in entry.steps_to(found.threshold(entry.world))],
            "microseconds_per_step": entry.microseconds, "lanes": entry.final.tolist(),
            "steps": entry.times.tolist(), "mean_return": entry.lanes.returns.mean(0).tolist(),
            "episodes": entry.lanes.episodes.mean(0).tolist(),
            "thought": entry.lanes.thought.mean(0).tolist(), "earned": entry.lanes.worth.mean(0).tolist(),
        }  # fmt: skip
    matches = [
        {
            "world": m.world, "a": m.a, "b": m.b, "median_difference": m.difference,
            "p_higher": m.better.estimate, "p_holm": m.p, "winner": m.winner,
            "variance_ratio": None if m.variance is None else m.variance.ratio.estimate,
            "variance_p": None if m.variance is None else m.variance.p,
        }
        for m in found.matches
    ]  # fmt: skip
    return {"worlds": worlds, "matches": matches, "choice": CHOICE, "answer": words(found)}
