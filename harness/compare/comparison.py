"""From stored lanes to a comparison: medians with intervals, paired tests, spread, steps to a target, time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats, Integers
from harness.compare.agreement import curve_as_dict
from harness.compare.contest import Choice, Choices, Contest, Contestant, areas, settled_lanes, steps_to_share
from harness.judging.statistics import (
    Interval,
    Paired,
    VarianceRatio,
    holm,
    median_interval,
    paired,
    variance_ratio,
)
from harness.oracle.lstd import Lstd
from harness.runs.fingerprint import run_hash
from harness.runs.spec import Outcome, RunSpec
from harness.runs.store import Store
from harness.runs.trial import gone

ALPHA = 0.05  # of every interval, and of all winners of one command together
PRIMARY = ("rmspbe", "auc")  # tested, with winners; every other number is description
POWER = 0.8  # of 'about n seeds would tell'
TARGET = 0.1  # 'steps to target': RMSPBE at this share of its start
NAMES = {
    "rmspbe": "RMSPBE", "rmsve": "value error", "rdmspbe": "D-MSPBE (root)", "cramer": "Cramér distance",
}  # fmt: skip


@dataclass
class Performance:
    """One contestant on one problem. `curves` [lanes, checkpoints, metrics]; diverged lanes end in infinity."""

    problem: str
    who: Contestant
    spec: RunSpec
    choice: Choice
    times: Integers
    curves: Floats
    outcomes: list[Outcome]
    law: Floats  # [lanes, n]: the last prediction at the most visited state
    microseconds: float = np.nan
    spread: dict[str, VarianceRatio] = field(default_factory=dict)  # against its value version, if that takes part
    exact: Floats | None = None  # [checkpoints]: E MSPBE, computed; NaN where it is beyond all bounds
    why_not_exact: str = ""

    def of(self, metric: str) -> Floats:
        """[lanes, checkpoints]."""
        return self.curves[..., self.who.metrics.index(metric)]

    def numbers(self, metric: str) -> dict[str, Floats]:
        """One number a lane: at the end, and on average over the steps; infinity for a lane that diverged."""
        values = self.of(metric)
        lost = np.array([outcome is Outcome.DIVERGED for outcome in self.outcomes])
        ends = np.where(np.isfinite(values[:, -1]), values[:, -1], np.inf)
        return {"final": np.where(lost, np.inf, ends), "auc": np.where(lost, np.inf, areas(self.times, values))}

    @property
    def diverged(self) -> int:
        """Lanes that did."""
        return sum(outcome is Outcome.DIVERGED for outcome in self.outcomes)

    @property
    def alive(self) -> Floats:
        """[checkpoints]: share of lanes whose value is still finite and not far beyond its start."""
        return 1.0 - gone(self.of("size").T, self.spec.probe.diverged_above).mean(1)

    def steps_to_target(self) -> Floats:
        """[lanes]: the first checkpoint with RMSPBE at a tenth of its start or below; infinity for never.

        A lane that diverged afterwards counts as never there.
        """
        lost = np.array([outcome is Outcome.DIVERGED for outcome in self.outcomes])
        return np.where(lost, np.inf, steps_to_share(self.times, self.of("rmspbe"), TARGET))

    @property
    def median_steps_to_target(self) -> float:
        """The upper median, so that 'never' is said as soon as half of the lanes never got there."""
        return float(np.sort(self.steps_to_target())[len(self.outcomes) // 2])


@dataclass(frozen=True)
class Duel:
    """A against B on one problem, by one number of one metric, on the same seeds.

    p   Holm's, over the tests of the whole command; NaN for a number that is only described
    """

    problem: str
    metric: str
    number: str
    a: str
    b: str
    result: Paired
    p: float

    @property
    def primary(self) -> bool:
        """Whether it is tested."""
        return (self.metric, self.number) == PRIMARY

    @property
    def identical(self) -> bool:
        """Every lane of A is the lane of B."""
        return self.result.identical

    @property
    def winner(self) -> str | None:
        """Whoever is significantly lower."""
        if not self.p < ALPHA or self.result.direction == 0:
            return None
        return self.a if self.result.direction < 0 else self.b


@dataclass(frozen=True)
class Comparison:
    """Everything a report shows. `lstd`: what LSTD reaches, for problems where that is known and not 0."""

    contest: Contest
    entries: list[Performance]
    duels: list[Duel]
    lstd: dict[str, Lstd] = field(default_factory=dict)

    def at(self, problem: str) -> list[Performance]:
        """The entries of a problem, in the order asked for."""
        return [entry for entry in self.entries if entry.problem == problem]

    def duel(self, problem: str, a: Contestant, b: Contestant) -> Duel:
        """The test of two contestants on a problem."""
        (found,) = [d for d in self.duels if d.primary and (d.problem, d.a, d.b) == (problem, a.label, b.label)]
        return found

    def winner(self, problem: str, metric: str, number: str) -> str | None:
        """Who beat every other, by the paired tests; None if nobody did."""
        labels = {entry.who.label for entry in self.at(problem) if metric in entry.who.metrics}
        for label in sorted(labels):
            duels = [
                d for d in self.duels
                if (d.problem, d.metric, d.number) == (problem, metric, number) and label in (d.a, d.b)
            ]  # fmt: skip
            if duels and all(duel.winner == label for duel in duels):
                return label
        return None


def compare(contest: Contest, store: Store, chosen: Choices, *, timed: bool = True) -> Comparison:
    """Read the lanes back and weigh them."""
    entries = [_entry(contest, store, problem, who, chosen[problem, who]) for problem, who in contest.pairs()]
    for entry in entries:
        if timed:
            entry.microseconds = _microseconds(entry.spec)
        other = next(
            (e for e in entries if e.problem == entry.problem and e.who.rule == entry.who.rule and e is not entry), None
        )
        if entry.who.distributional and other is not None and contest.seeds >= 4:
            ours, theirs = entry.numbers("rmspbe"), other.numbers("rmspbe")
            entry.spread = {key: variance_ratio(ours[key], theirs[key], ALPHA) for key in ours}
    return Comparison(contest, entries, _duels(contest, entries))


def _entry(contest: Contest, store: Store, problem: str, who: Contestant, choice: Choice) -> Performance:
    spec = contest.spec(problem, who, *choice.best)
    lanes = settled_lanes(store, spec, contest.seeds)
    curves = np.stack([lane.curves for lane in lanes])
    return Performance(
        problem,
        who,
        spec,
        choice,
        spec.times(),
        curves,
        [lane.outcome for lane in lanes],
        np.stack([lane.law for lane in lanes]),
    )


def _duels(contest: Contest, entries: list[Performance]) -> list[Duel]:
    """Every pair of contestants that share a metric, on each problem; the primary number is tested, Holm over all."""
    found: list[tuple[str, str, str, Performance, Performance, Paired]] = []
    for problem in contest.problems:
        here = [entry for entry in entries if entry.problem == problem]
        for i, a in enumerate(here):
            for b in here[i + 1 :]:
                for metric in (m for m in NAMES if m in a.who.metrics and m in b.who.metrics):
                    ours, theirs = a.numbers(metric), b.numbers(metric)
                    for number in ours:
                        result = paired(tidy(ours[number]), tidy(theirs[number]), ALPHA)
                        found.append((problem, metric, number, a, b, result))
    tested = [i for i, (_, metric, number, *_) in enumerate(found) if (metric, number) == PRIMARY]
    adjusted = np.full(len(found), np.nan)
    adjusted[tested] = holm([found[i][-1].p for i in tested])
    return [
        Duel(problem, metric, number, a.who.label, b.who.label, result, float(p))
        for (problem, metric, number, a, b, result), p in zip(found, adjusted, strict=True)
    ]


def number_of_tests(contest: Contest) -> int:
    """How many tests a command makes."""
    return len(contest.problems) * math.comb(len(contest.contestants), 2)


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


def _microseconds(spec: RunSpec) -> float:
    """Of one lane-step, a cohort on one thread: the fastest of a few short runs."""
    from algorithms.fast.compiled_loop import CompiledLoop
    from harness.cost.timing import seconds
    from harness.runs.cohort import prepared
    from harness.runs.learning import Learning
    from harness.runs.spec import seeds_of

    learning = prepared(spec)
    assert isinstance(learning, Learning)
    state = learning.start(seeds_of(spec, 0))
    compiled = isinstance(learning.engine, CompiledLoop)
    steps = 500 if compiled else 20
    options: dict[str, Any] = {"threads": 1} if compiled else {}
    call = partial(learning.engine.run, state, steps, 1e-12, 1e-12, **options)
    call()
    return 1e6 * min(seconds(call, 1) for _ in range(5)) / (steps * spec.learner.cohort)


def as_dict(found: Comparison) -> dict[str, Any]:
    """For JSON: problem → rule → numbers, and the paired tests."""
    contest = found.contest
    problems: dict[str, Any] = {}
    for entry in found.entries:
        problems.setdefault(entry.problem, {})[entry.who.label] = _numbers(found, entry)
    return {
        "steps": contest.steps,
        "seeds": contest.seeds,
        "seed": contest.root_seed,
        "atoms": contest.atoms,
        "projection": contest.projection,
        "interval": f"median with order statistics, {1 - ALPHA:.0%}",
        "primary": "area under RMSPBE: the number that is tested; the others are described",
        "seeds_to_decide": seeds_to_decide(number_of_tests(contest)),
        "problems": problems,
        "tests": [
            {
                "problem": d.problem, "metric": d.metric, "number": d.number, "a": d.a, "b": d.b,
                "median_difference": d.result.median_difference, "p_holm": d.p, "p": d.result.p,
                "a_better": _interval(d.result.better), "identical": d.identical, "winner": d.winner,
            }
            for d in found.duels
        ],
    }  # fmt: skip


def _numbers(found: Comparison, entry: Performance) -> dict[str, Any]:
    metrics = {}
    for metric in (m for m in NAMES if m in entry.who.metrics):
        metrics[metric] = {
            number: _interval(median_interval(values, ALPHA))
            | {"winner": found.winner(entry.problem, metric, number) == entry.who.label}
            for number, values in entry.numbers(metric).items()
        }
    steps = entry.steps_to_target()
    reached, middle = int(np.isfinite(steps).sum()), entry.median_steps_to_target
    return {
        "rule": entry.who.rule.name,
        "target": entry.who.target,
        "alpha": entry.spec.learner.alpha,
        "beta": entry.spec.learner.beta,
        "run": run_hash(entry.spec),
        "metrics": metrics,
        "variance_ratio": {
            number: _interval(ratio.ratio) | {"p": ratio.p, "against": "the same rule on values"}
            for number, ratio in entry.spread.items()
        },
        "steps_to_target": {"median": middle, "reached": reached, "of": len(steps)},
        "microseconds_to_target": middle * entry.microseconds,
        "diverged": entry.diverged,
        "of": len(entry.outcomes),
        "microseconds_per_step": entry.microseconds,
        "sweep": [
            {"alpha": s.alpha, "beta": s.beta, "area": s.area, "diverged": s.diverged, "of": s.lanes}
            for s in entry.choice.sweep
        ],
        "on_edge": list(entry.choice.on_edge),
        "sweep_seconds": entry.choice.seconds,
        "exact": curve_as_dict(entry),
    }


def _interval(interval: Interval) -> dict[str, float]:
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
