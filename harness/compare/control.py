"""A contest of agents in worlds: equal sweeps on seeds of their own, then fresh, paired lanes, judged by returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from algorithms.checks import Floats, Integers, positive, whole
from algorithms.names import look_up
from algorithms.published import PUBLISHED
from harness.compare import agents, policy_iteration
from harness.compare.agents import run_spec, shown
from harness.compare.comparison import ALPHA, undecidable
from harness.compare.contest import SWEEP_SEED, settled_lanes
from harness.compare.space import REPLAY
from harness.judging.statistics import Paired, holm, median_interval, paired, variance_ratio
from harness.runs.acting import NAMES
from harness.runs.cohort import made_of
from harness.runs.spec import MOST_SEEDS, Learner, Outcome, PredictorSpec, Request, RunSpec, States
from harness.runs.store import Store

RATES = {"agent": (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3), policy_iteration.NAME: (0.01, 0.03, 0.1, 0.3)}
LAST = 0.2  # the share of all steps over which the final return is the mean: one number per lane, and it is tested
CHOICE = "largest mean return over the last fifth of the sweep's lanes, of the rates with the fewest diverged lanes"


@dataclass(frozen=True)
class Entrant:
    """An agent by name; a published one has a target of its own."""

    name: str
    target: str

    @property
    def label(self) -> str:
        """As tables and legends show it."""
        return shown(self.name, self.target)


def entrants(names: tuple[str, ...], targets: tuple[str, ...]) -> tuple[Entrant, ...]:
    """Published agents once, rules on every target."""
    found = [
        Entrant(name, target)
        for name in names
        for target in ((PUBLISHED[name].target,) if name in PUBLISHED else targets)
    ]
    return tuple(dict.fromkeys(found))


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
        for world in self.worlds:
            for who in self.entrants:
                made_of(self.spec(world, who, self.rates[0]))  # what can't run is said before anything does

    @property
    def tests(self) -> int:
        """Each pair of agents in each world."""
        return len(self.worlds) * math.comb(len(self.entrants), 2)

    def learner(self, world: str, who: Entrant, rate: float, cohort: int) -> Learner:
        """A learner with one rate; what is not given is its kind's."""
        given = {"beta": self.beta, "atoms": self.atoms, "predictor": self.predictor}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        options |= {"projection": self.projection, "cohort": cohort} | self.settings
        if self.kind == policy_iteration.NAME:
            return policy_iteration.learner(who.name, world, who.target, rate, **{"beta": rate} | REPLAY | options)
        return agents.learner(who.name, world, who.target, rate, **options)

    def spec(self, world: str, who: Entrant, rate: float, sweep: bool = False) -> RunSpec:
        """A run of the sweep, or of the lanes that are reported."""
        made = self.learner(world, who, rate, self.sweep_seeds if sweep else min(10, self.seeds))
        seed = self.root_seed + (SWEEP_SEED if sweep else 0)
        return run_spec(world, made, self.steps, seed, "sweep" if sweep else "reported", () if sweep else self.states)

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


@dataclass(frozen=True)
class Sweep:
    """rate → mean final return over the sweep's lanes, −∞ if a lane diverged; empty if there was no choice."""

    best: float
    means: dict[float, float]

    @property
    def on_edge(self) -> bool:
        """Whether a better rate may lie outside."""
        return len(self.means) > 1 and self.best in (min(self.means), max(self.means))


def choose(contest: ControlContest, store: Store) -> dict[tuple[str, Entrant], Sweep]:
    """The best rate of every agent in every world."""
    out = {}
    for world in contest.worlds:
        for who in contest.entrants:
            means, order = {}, {}
            for rate in contest.rates if len(contest.rates) > 1 else ():
                lanes = _earned(store, contest.spec(world, who, rate, sweep=True), contest.sweep_seeds)
                means[rate] = float(lanes.final.mean())
                alive = lanes.final[np.isfinite(lanes.final)]
                order[rate] = (-lanes.diverged, float(alive.mean()) if alive.size else -np.inf)
            best = max(order, key=lambda rate: order[rate]) if order else contest.rates[0]
            out[world, who] = Sweep(best, means)
    return out


@dataclass(frozen=True)
class Earned:
    """Lanes in a world. Returns, what episodes were thought to be worth and were, and how many had ended: [lanes,
    checkpoints].

    final, area   [lanes]: means over the last fifth and over all, −∞ for lanes that diverged
    law           [lanes, actions · n]: where the observation is 0; nothing for a value
    """

    returns: Floats
    thought: Floats
    worth: Floats
    episodes: Floats
    final: Floats
    area: Floats
    law: Floats
    diverged: int
    seconds: float


def _earned(store: Store, spec: RunSpec, seeds: int) -> Earned:
    """From the store."""
    lanes = settled_lanes(store, spec, seeds)
    returns, thought, worth, episodes = (
        np.stack([lane.curves[:, NAMES.index(name)] for lane in lanes])
        for name in ("return", "value", "earned", "episodes")
    )
    late = spec.times() > (1 - LAST) * spec.probe.steps
    lost = np.array([lane.outcome is Outcome.DIVERGED for lane in lanes])
    final, area = (np.where(lost, -np.inf, part.mean(1)) for part in (returns[:, late], returns[:, 1:]))
    law, seconds = np.stack([lane.law for lane in lanes]), sum(lane.seconds for lane in lanes)
    return Earned(returns, thought, worth, episodes, final, area, law, int(lost.sum()), seconds)


@dataclass(frozen=True)
class Earnings:
    """What an agent earned in a world, at the rate that was chosen."""

    world: str
    who: Entrant
    sweep: Sweep
    times: Integers
    lanes: Earned
    microseconds: float

    @property
    def final(self) -> Floats:
        """[lanes]: what is tested."""
        return self.lanes.final

    @property
    def deviation(self) -> float:
        """The standard deviation of the final return over lanes; NaN if a lane diverged."""
        return float("nan") if self.lanes.diverged else float(self.final.std(ddof=1))

    def steps_to(self, threshold: float) -> Floats:
        """[lanes]: the first checkpoint whose return is at least so much; ∞ if none is."""
        there = (self.lanes.returns >= threshold) & (self.times > 0)
        return np.where(there.any(1), self.times[there.argmax(1)], np.inf)

    def over_episodes(self, count: int = 50) -> tuple[Integers, Floats]:
        """(episodes, returns [lanes, episodes]) as far as every lane has come; between checkpoints, straight lines."""
        at = np.unique(np.linspace(1, max(self.lanes.episodes[:, -1].min(), 1), count).astype(int))
        return at, np.stack(
            [
                np.interp(at, ended[1:], one[1:])
                for ended, one in zip(self.lanes.episodes, self.lanes.returns, strict=True)
            ]
        )


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
        """The return that is asked for: half-way from where agents begin to what the best of them earns at last."""
        if self.contest.threshold is not None:
            return self.contest.threshold
        here = self.at(world)
        first = np.mean([entry.lanes.returns[:, entry.times > 0][:, 0].mean() for entry in here])
        earned = [np.median(entry.final) for entry in here if np.isfinite(np.median(entry.final))]
        return float((first + max(earned, default=first)) / 2)


def weigh(contest: ControlContest, store: Store, chosen: dict[tuple[str, Entrant], Sweep]) -> ControlComparison:
    """Read the lanes back and compare them."""
    entries = []
    for (world, who), sweep in chosen.items():
        spec = contest.spec(world, who, sweep.best)
        lanes = _earned(store, spec, contest.seeds)
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
