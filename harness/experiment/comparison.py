"""From stored lanes to a comparison: medians with intervals, paired tests, spread, steps to a target, time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.harness.experiment.agreement import curve_as_dict
from dgtd.harness.experiment.exact import outlook_job
from dgtd.harness.experiment.experiment import Choices, Entrant, Experiment, steps_to, steps_to_share
from dgtd.harness.experiment.search import Choice
from dgtd.harness.judging.sequential import decide
from dgtd.harness.judging.statistics import (
    Paired,
    VarianceRatio,
    holm,
    median_interval,
    paired,
    variance_ratio,
)
from dgtd.harness.oracle.lstd import Lstd
from dgtd.harness.oracle.metrics import Score
from dgtd.harness.places.world import find_place
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.lanes import Lanes, gone
from dgtd.harness.runs.spec import Outcome, RunSpec
from dgtd.harness.runs.store import Store

ALPHA = 0.05  # of every interval, and of all winners of one command together
POWER = 0.8  # of 'about n seeds would tell'
TARGET = 0.1  # 'steps to target': RMSPBE at this share of its start
NAMES = {
    "rmspbe": "RMSPBE", "rmsve": "value error", "rdmspbe": "D-MSPBE (root)", "cramer": "Cramér distance",
    "improper": "states without a distribution",
}  # fmt: skip
DRAWN = tuple(name for name in NAMES if name != "improper")  # and compared in pairs: not a share that may be 0 for all


@dataclass
class Entry:
    """One entrant at one place, at the step sizes that were chosen. A lane that diverged counts as infinitely bad."""

    place: str
    who: Entrant
    spec: RunSpec
    choice: Choice
    lanes: Lanes
    spread: dict[str, VarianceRatio] = field(default_factory=dict)  # against its value version, if that takes part
    exact: Floats | None = None  # [checkpoints]: E MSPBE, computed; NaN where it is beyond all bounds
    why_not_exact: str = ""
    outlook: dict[str, float | None] = field(default_factory=dict)  # what a certificate says, where it is known

    @property
    def times(self) -> Integers:
        """[checkpoints]: numbers of steps."""
        return self.lanes.times

    def of(self, metric: str) -> Floats:
        """[lanes, checkpoints]."""
        return self.lanes.of(metric).T

    def known(self, metric: str) -> Floats:
        """The same, NaN from where a lane diverged."""
        ends = np.where(self.lanes.died >= 0, self.lanes.died, self.times[-1])
        lost = self.lanes.lost[:, None] & (self.times >= ends[:, None])
        return np.where(lost, np.nan, self.of(metric))

    @cached_property
    def scores(self) -> dict[str, Floats]:
        """The place's scores by their labels, [lanes]; the first is what is tested."""
        return {score.label: score.of(self.lanes) for score in find_place(self.place).scores}

    @property
    def tested(self) -> Floats:
        """[lanes]: the score that is tested."""
        return next(iter(self.scores.values()))

    def numbers(self, metric: str) -> dict[str, Floats]:
        """One number per lane: at the end, and on average over the steps."""
        return {number: Score(metric, number, metric).of(self.lanes) for number in ("final", "auc")}

    @property
    def tested_metric(self) -> str:
        """What the tested score is a number of."""
        return find_place(self.place).scores[0].metric

    @property
    def diverged(self) -> int:
        return int(self.lanes.lost.sum())

    @property
    def diverges(self) -> bool:
        """Whether every lane did."""
        return self.diverged == self.count

    @property
    def grows(self) -> bool:
        """Whether its mean diverges at every α, however small."""
        return (self.outlook.get("growth") or 0.0) > 0

    @property
    def count(self) -> int:
        return len(self.lanes.died)

    @property
    def microseconds(self) -> float:
        """Of a step of one lane, as it was run: on one thread, beside whatever else the machine did."""
        return 1e6 * self.lanes.seconds / (self.count * max(int(self.times[-1]), 1))

    @property
    def alive(self) -> Floats:
        """[checkpoints]: share of lanes whose value is still finite and not far beyond its start."""
        return 1.0 - gone(self.lanes.of("size"), self.spec.probe.diverged_above).mean(1)

    def steps_to_target(self) -> Floats:
        """[lanes]: the first checkpoint with RMSPBE at a tenth of its start or below; infinity for never.

        A lane that diverged afterwards counts as never there.
        """
        return np.where(self.lanes.lost, np.inf, steps_to_share(self.times, self.of("rmspbe"), TARGET))

    @property
    def median_steps_to_target(self) -> float:
        """The upper median, so that 'never' is said as soon as half of the lanes never got there."""
        return float(np.sort(self.steps_to_target())[self.count // 2])

    def steps_to_return(self, threshold: float) -> Floats:
        """[lanes]: the first checkpoint whose return is at least so much; ∞ if none is, or if the lane diverged."""
        with np.errstate(invalid="ignore"):
            there = (self.of("return") >= threshold) & (self.times > 0) & ~self.lanes.lost[:, None]
        return steps_to(self.times, there)

    def over_episodes(self, count: int = 50) -> tuple[Integers, Floats]:
        """(episodes, returns [lanes, episodes]) as far as every lane has come; between checkpoints, straight lines."""
        episodes, returns = self.of("episodes"), self.known("return")
        at = np.unique(np.linspace(1, max(episodes[:, -1].min(), 1), count).astype(int))
        there = np.isfinite(returns) & (episodes > 0)
        lanes = [(ended[known], one[known]) for ended, one, known in zip(episodes, returns, there, strict=True)]
        nowhere = np.full(len(at), np.nan)  # beyond where a lane diverged nothing is known
        return at, np.stack([np.interp(at, *one, right=np.nan) if one[0].size else nowhere for one in lanes])


@dataclass(frozen=True)
class Duel:
    """A against B at one place, by one number of one metric, on the same seeds.

    result   of losses: where more is better, of the numbers with their sign turned
    p        Holm's, over the tests of the whole command; NaN for a number that is only described
    scale    what a difference is a share of; not taken from these lanes if there was a sweep
    small    the difference is known to be too small to matter
    side     −1 if A is decided to be lower, 1 if B is, 0 if neither
    lanes    how many would settle it, if it is open and that can be guessed
    """

    place: str
    metric: str
    number: str
    a: str
    b: str
    result: Paired
    p: float
    higher: bool = False
    scale: float = math.nan
    small: bool = False
    side: int = 0
    lanes: int | None = None

    @property
    def primary(self) -> bool:
        return not math.isnan(self.p)

    @property
    def identical(self) -> bool:
        """Every lane of A is the lane of B."""
        return self.result.identical

    @property
    def difference(self) -> float:
        """The median of A − B."""
        return -self.result.median_difference if self.higher else self.result.median_difference

    @property
    def winner(self) -> str | None:
        return None if not self.side else self.a if self.side < 0 else self.b

    @property
    def share(self) -> float:
        """The median of B − A as a share of the scale; of numbers of which more is better, with its sign kept."""
        return -self.difference / self.scale

    @property
    def open(self) -> bool:
        """Whether more lanes could say more."""
        return self.primary and not (self.winner or self.small or self.identical)


@dataclass(frozen=True)
class Comparison:
    """Everything a report shows. `lstd`: what LSTD reaches, for problems where that is known and not 0."""

    experiment: Experiment
    entries: list[Entry]
    duels: list[Duel]
    lstd: dict[str, Lstd] = field(default_factory=dict)

    def at(self, place: str) -> list[Entry]:
        """The entries of a place, in the order asked for."""
        return [entry for entry in self.entries if entry.place == place]

    def duel(self, place: str, a: Entrant, b: Entrant) -> Duel:
        """The test of two entrants at a place."""
        (found,) = [d for d in self.duels if d.primary and (d.place, d.a, d.b) == (place, a.label, b.label)]
        return found

    def winner(self, place: str, metric: str, number: str) -> str | None:
        """Who beat every other, by the paired tests; None if nobody did."""
        labels = {entry.who.label for entry in self.at(place)}
        for label in sorted(labels):
            duels = [
                d for d in self.duels
                if (d.place, d.metric, d.number) == (place, metric, number) and label in (d.a, d.b)
            ]  # fmt: skip
            if duels and all(duel.winner == label for duel in duels):
                return label
        return None

    def best(self, place: str) -> str | None:
        """Who beat every other by the score that is tested."""
        score = self.experiment.score(place)
        return self.winner(place, score.metric, score.number)

    def variance(self, duel: Duel) -> VarianceRatio | None:
        """Of A's tested score to B's over lanes; None if lanes are too few, or diverged."""
        a, b = (next(e for e in self.at(duel.place) if e.who.label == name).tested for name in (duel.a, duel.b))
        fine = np.isfinite(a).all() and np.isfinite(b).all() and len(a) >= 4
        return variance_ratio(a, b, ALPHA) if fine else None

    def threshold(self, place: str) -> float:
        """The return that is asked for: half-way from where agents begin to what the best of them earns at last.

        NaN if none of them earns more at last.
        """
        if self.experiment.threshold is not None:
            return self.experiment.threshold
        here = self.at(place)
        curves = [one[np.isfinite(one)] for entry in here for one in entry.known("return")[:, entry.times > 0]]
        first = float(np.mean([one[0] for one in curves if one.size] or [np.nan]))
        best = max(float(np.median(entry.tested)) for entry in here)
        return (first + best) / 2 if best > first else float("nan")


def compare(experiment: Experiment, store: Store, chosen: Choices) -> Comparison:
    """Read the lanes back and compare them."""
    entries = [_entry(experiment, store, *pair, chosen[pair]) for pair in experiment.pairs()]
    for entry in entries:
        other = next(
            (e for e in entries if e.place == entry.place and e.who.rule == entry.who.rule and e is not entry), None
        )
        if entry.who.distributional and other is not None and experiment.seeds >= 4 and not experiment.in_worlds:
            ours, theirs = entry.numbers("rmspbe"), other.numbers("rmspbe")
            entry.spread = {key: variance_ratio(ours[key], theirs[key], ALPHA) for key in ours}
    return Comparison(experiment, entries, duels(experiment, entries))


def _entry(experiment: Experiment, store: Store, place: str, who: Entrant, choice: Choice) -> Entry:
    spec = experiment.spec(place, who, *choice.best)
    entry = Entry(place, who, spec, choice, store.settled_lanes(spec, experiment.seeds))
    if not experiment.in_worlds and (job := outlook_job(spec, choice)) is not None and store.has_job(job.hash):
        entry.outlook = store.result(job)
        entry.lanes = _lost_too(entry)
    if np.isnan(entry.tested).any():
        name = f"{spec.learner.rule.name} on {place}"
        raise ValueError(f"a lane of {name} finished no episode within {spec.probe.steps} steps: take more")
    return entry


def _lost_too(entry: Entry) -> Lanes:
    """With lanes marked as diverged that end above their start, where the certificate says that the mean diverges."""
    error = entry.of(entry.tested_metric)
    lost = entry.lanes.lost | (entry.grows & (error[:, -1] > error[:, 0]))
    outcomes = zip(lost, entry.lanes.outcomes, strict=True)
    return replace(entry.lanes, outcomes=tuple(Outcome.DIVERGED if far else outcome for far, outcome in outcomes))


def _shared(experiment: Experiment, a: Entry, b: Entry) -> list[Score]:
    """The numbers by which two entries meet: the tested one, and every number of every metric that both have."""
    tested = experiment.score(a.place)
    if experiment.in_worlds:
        return [tested]
    both = [metric for metric in DRAWN if metric in a.who.metrics and metric in b.who.metrics]
    return [Score(metric, number, metric) for metric in both for number in ("final", "auc")]


def duels(experiment: Experiment, entries: list[Entry]) -> list[Duel]:
    """Every pair of entrants at each place; the place's first score is tested, Holm over all."""
    made: list[tuple[Duel, Floats]] = []
    primary = {(score.metric, score.number) for score in map(experiment.score, experiment.places)}
    for place in experiment.places:
        for a, b in combinations([entry for entry in entries if entry.place == place], 2):
            for score in _shared(experiment, a, b):
                ours, theirs = (tidy(score.losses(entry.lanes)) for entry in (a, b))
                result = paired(ours, theirs, ALPHA)
                tested = (score.metric, score.number) in primary
                p = result.p if tested else math.nan
                names = (a.place, score.metric, score.number, a.who.label, b.who.label)
                with np.errstate(invalid="ignore"):
                    gaps = np.where(np.isinf(ours) & np.isinf(theirs), 0.0, ours - theirs)
                made.append((Duel(*names, result, p, score.higher, _scale(experiment, a, entries)), gaps))
    asked = [each for each in made if each[0].primary]
    answers = iter(_answers(experiment, asked) if asked else ())
    return [replace(duel, **next(answers)) if duel.primary else duel for duel, _ in made]


def _answers(experiment: Experiment, made: list[tuple[Duel, Floats]]) -> list[dict[str, Any]]:
    """What is known of each tested pair, after the last of the declared looks or with the seeds asked for."""
    n, scales = experiment.seeds, np.array([duel.scale for duel, _ in made])
    looks = experiment.looks or (n,)
    found = decide([gaps for _, gaps in made], looks, ALPHA, experiment.matters, scales)
    if experiment.looks:
        return [
            {"p": each.adjusted, "side": each.direction, "small": each.small, "lanes": each.lanes} for each in found
        ]
    adjusted = holm([duel.result.p for duel, _ in made])
    return [
        {"p": float(p), "side": duel.result.direction if p < ALPHA else 0, "small": each.small,
         "lanes": duel.result.lanes_to_tell(ALPHA / len(made), POWER)}
        for p, (duel, _), each in zip(adjusted, made, found, strict=True)
    ]  # fmt: skip


def _scale(experiment: Experiment, a: Entry, entries: list[Entry]) -> float:
    """What a difference is a share of: A's mean score in the sweep, whose lanes are not tested; of its median without.

    In a world, where a return may be near 0 or below it, the largest of all there.
    """

    def typical(entry: Entry) -> float:
        known = entry.tested[np.isfinite(entry.tested)]
        middle = float(np.median(known)) if known.size else math.nan
        return abs(entry.choice.mean if math.isfinite(entry.choice.mean) else middle)

    here = [entry for entry in entries if entry.place == a.place] if experiment.in_worlds else [a]
    found = [size for size in map(typical, here) if math.isfinite(size) and size > 0]
    return max(found, default=1.0)


def seeds_to_decide(tests: int) -> int:
    """The fewest seeds with which one of so many tests could find anything: a signed-rank p is at least 2^(1 − n)."""
    return max(2, math.ceil(1 + math.log2(max(tests, 1) / ALPHA)))


def undecidable(seeds: int, tests: int) -> str:
    """One sentence if no test could find anything with these seeds; said before anything runs, and in the report."""
    needed = seeds_to_decide(tests)
    if not tests or seeds >= needed:
        return ""
    least = f"{min(1.0, tests * 2.0 ** (1 - seeds)):.3f}"
    return (
        f"{seeds} seeds can't decide {tests} test{'s' * (tests > 1)}, whatever they show (the smallest p is {least} "
        f"after Holm): take at least {needed}, or compare less"
    )


def tidy(values: Floats) -> Floats:
    """Nine digits: two ways to the same number must not look like a difference that every lane shows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = 10.0 ** (9 - np.ceil(np.log10(np.abs(values))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)


# ---------------------------------------------------------------------- for JSON


def as_dict(found: Comparison) -> dict[str, Any]:
    """problem → entrant → numbers, and the paired tests."""
    experiment = found.experiment
    places: dict[str, Any] = {}
    for entry in found.entries:
        numbers = _in_world(found, entry) if experiment.in_worlds else _on_problem(found, entry)
        places.setdefault(entry.place, {})[entry.who.label] = _shared_numbers(entry) | numbers
    score = experiment.score(experiment.places[0])
    return {
        "steps": experiment.steps,
        "seeds": experiment.seeds,
        "seed": experiment.root_seed,
        "atoms": experiment.atoms,
        "projection": experiment.projection,
        "interval": f"median with order statistics, {1 - ALPHA:.0%}",
        "primary": f"{score.label}: the number that is tested; the others are described",
        "seeds_to_decide": seeds_to_decide(experiment.tests),
        "problems": places,
        "tests": [
            {
                "problem": d.place, "metric": d.metric, "number": d.number, "a": d.a, "b": d.b,
                "median_difference": d.difference, "p_holm": d.p, "p": d.result.p,
                "a_better": d.result.better.bounds, "identical": d.identical, "small": d.small, "winner": d.winner,
                "share": d.share,
            }
            for d in found.duels
        ],
    }  # fmt: skip


def _shared_numbers(entry: Entry) -> dict[str, Any]:
    return {
        "rule": entry.spec.learner.rule.name,
        "target": entry.who.target,
        "alpha": entry.spec.learner.alpha,
        "beta": entry.spec.learner.beta,
        "run": run_hash(entry.spec),
        "diverged": entry.diverged,
        "lost": np.flatnonzero(entry.lanes.lost).tolist(),
        "of": entry.count,
        "microseconds_per_step": entry.microseconds,
        "scores": {label: median_interval(values, ALPHA).bounds for label, values in entry.scores.items()},
        "sweep": [
            {"alpha": s.alpha, "beta": s.beta, "area": s.area, "mean": s.mean, "diverged": s.diverged, "of": s.lanes}
            for s in entry.choice.sweep
        ],
        "on_edge": list(entry.choice.on_edge),
        "stable": entry.choice.stable,
        "sweep_seconds": entry.choice.seconds,
    }


def _on_problem(found: Comparison, entry: Entry) -> dict[str, Any]:
    metrics = {}
    for metric in (m for m in NAMES if m in entry.who.metrics):
        metrics[metric] = {
            number: median_interval(values, ALPHA).bounds
            | {"winner": found.winner(entry.place, metric, number) == entry.who.label}
            for number, values in entry.numbers(metric).items()
        }
    steps = entry.steps_to_target()
    reached, middle = int(np.isfinite(steps).sum()), entry.median_steps_to_target
    return {
        "metrics": metrics,
        "variance_ratio": {
            number: ratio.ratio.bounds | {"p": ratio.p, "against": "the same rule on values"}
            for number, ratio in entry.spread.items()
        },
        "steps_to_target": {"median": middle, "reached": reached, "of": len(steps)},
        "microseconds_to_target": middle * entry.microseconds,
        "exact": curve_as_dict(entry),
    }


def _in_world(found: Comparison, entry: Entry) -> dict[str, Any]:
    threshold, late = found.threshold(entry.place), entry.tested
    metrics = {"return": {
        score.number: median_interval(values, ALPHA).bounds
        for score, values in zip(find_place(entry.place).scores, entry.scores.values(), strict=True)
    }}  # fmt: skip
    metrics["return"]["late"]["winner"] = found.best(entry.place) == entry.who.label
    return {
        "metrics": metrics,
        "mean": float(late.mean()),
        "sd": None if entry.diverged or len(late) < 2 else float(late.std(ddof=1)),
        "lanes": late.tolist(),
        "threshold": threshold,
        "steps_to_threshold": [x if np.isfinite(x) else None for x in entry.steps_to_return(threshold)],
        "steps": entry.times.tolist(),
        "curves": {name: entry.known(name).mean(0).tolist() for name in ("return", "episodes", "value", "earned")},
    }
