"""The report of a comparison, section by section: what a place has no numbers for has no section."""

from __future__ import annotations

import math

import numpy as np

from dgtd.harness.experiment.across import across
from dgtd.harness.experiment.comparison import ALPHA, DRAWN, NAMES, TARGET, Comparison, Duel, Entry
from dgtd.harness.experiment.search import CHOICE
from dgtd.harness.judging.statistics import Interval, median_interval
from dgtd.harness.report.drawing import Styles
from dgtd.harness.report.figures import at_place, over_all
from dgtd.harness.report.matrix import matrix
from dgtd.harness.report.page import (
    Block,
    Bullets,
    Cell,
    Fold,
    Heading,
    Key,
    Keys,
    Page,
    Picture,
    Section,
    Table,
    Words,
    numeral,
)
from dgtd.harness.report.words import answer, details, method, question


def page(found: Comparison, command: str) -> Page:
    """From a comparison to a page."""
    experiment, styles = found.experiment, Styles(found.experiment.entrants)
    first, *rest = answer(found)
    keys = [Key(who.label, styles.gid(who), styles.colour(who), who.distributional) for who in experiment.entrants]
    sections = [
        Section(place, [*summary(found, place), *map(Picture, at_place(found, place, styles))])
        for place in experiment.places
    ]
    together: list[Block] = [*map(Picture, over_all(found, styles)), *_together(found), *_spreads(found)]
    if together:
        sections.append(Section("Across problems", together))
    if experiment.searched:
        sections.append(_sweep(found))
    return Page(
        f"dgtd compare: {', '.join(experiment.places)}",
        "Agents, compared" if experiment.in_worlds else "GTD2 and related rules, compared",
        [
            Words(question(found), "lead", strong=True),
            Words(first),
            Bullets(rest),
            *map(Picture, matrix(found)),
            Fold("Every pair, in detail", (Bullets(details(found)),)),
            Words(method(found), "soft"),
        ],
        [*sections, _ledger(found)],
        command,
        [Keys(keys)],
    )


# ---------------------------------------------------------------------- tables of one place


def summary(found: Comparison, place: str) -> list[Block]:
    """The numbers of a place, and what they are."""
    columns, rows, note = (_in_world if found.experiment.in_worlds else _on_problem)(found, place)
    return [Table(f"Numbers on {place}", columns, rows), Words(note, "soft")]


def _word(text: str) -> Cell:
    return (text, text, False)


def _number(value: float, text: str = "") -> Cell:
    """As a numeral, or as a text that is sorted by the number."""
    return (text or numeral(value), value, False)


def _of(count: int, all_: int) -> Cell:
    return _number(float(count), f"{count} of {all_}")


def _interval(interval: Interval, won: bool = False) -> Cell:
    return (bracketed(interval), interval.estimate, won)


NONE = _number(math.inf, "–")


def shared(entry: Entry) -> list[Cell]:
    """The first columns of every table: who, and at which step sizes; a rule without w has no β."""
    learner, edge = entry.spec.learner, entry.choice.on_edge
    cells = ((learner.alpha, "α" in edge), (learner.beta, "β/α" in edge))
    sizes = [_number(size, f"{size:.4g}{' (edge)' if on else ''}") for size, on in cells]
    return [_word(entry.who.label), sizes[0], sizes[1] if entry.who.uses_w else NONE]


def _lost(entry: Entry) -> list[Cell]:
    return [_of(entry.diverged, entry.count), _number(entry.microseconds)]


def _on_problem(found: Comparison, place: str) -> tuple[list[str], list[list[Cell]], str]:
    here = found.at(place)
    metrics = [metric for metric in DRAWN if any(metric in entry.who.metrics for entry in here)]
    columns = ["rule", "α", "β", *(f"{NAMES[m]}, {number}" for m in metrics for number in ("final", "area"))]
    columns += [f"steps to {TARGET:.0%}", "diverged", "µs per step", f"ms to {TARGET:.0%}"]
    rows = []
    for entry in here:
        measured = [_measured(found, entry, metric, number) for metric in metrics for number in ("final", "auc")]
        steps = entry.median_steps_to_target
        until = _number(steps, "never" if math.isinf(steps) else f"{steps:.0f}")
        took = _number(steps * entry.microseconds, numeral(1e-3 * steps * entry.microseconds))
        rows.append([*shared(entry), *measured, until, *_lost(entry), took])
    note = (
        "Median over seeds [interval]; area: mean height of the curve. ★ lowest area under RMSPBE, by paired tests "
        f"against every other rule with Holm's correction over this page at {ALPHA:.0%}."
    )
    if bare := [f"{entry.who.label} {np.median(entry.of('improper')[:, -1]):.0%}" for entry in here if _bare(entry)]:
        note += f" States whose F is no distribution at the end (median): {', '.join(bare)}."
    return columns, rows, note


def _bare(entry: Entry) -> bool:
    """Whether a linear lift ends at signed measures."""
    return "improper" in entry.who.metrics and bool((entry.of("improper")[:, -1] > 0).any())


def _measured(found: Comparison, entry: Entry, metric: str, number: str) -> Cell:
    if metric not in entry.who.metrics:
        return NONE
    won = found.winner(entry.place, metric, number) == entry.who.label
    return _interval(median_interval(entry.numbers(metric)[number], ALPHA), won)


def bracketed(interval: Interval) -> str:
    """An estimate with its interval, where these seeds are enough for one."""
    fine = math.isfinite(interval.low) or math.isfinite(interval.high)
    bounds = f" [{numeral(interval.low)}, {numeral(interval.high)}]" if fine else ""
    return numeral(interval.estimate) + bounds


def _in_world(found: Comparison, place: str) -> tuple[list[str], list[list[Cell]], str]:
    asked = found.threshold(place)
    columns = ["agent", "α", "β", "return, last fifth: median", "mean", "standard deviation", "mean over all steps",
               f"steps to {numeral(asked)}", "diverged", "µs per step"]  # fmt: skip
    rows = []
    for entry in found.at(place):
        late, area = entry.scores.values()
        middle, until = (median_interval(each, ALPHA) for each in (late, entry.steps_to_return(asked)))
        spread = math.nan if entry.diverged or len(late) < 2 else float(late.std(ddof=1))
        plain = (float(late.mean()), spread, float(area.mean()))
        best, arrives = found.best(place) == entry.who.label, _number(until.estimate, _steps(until))
        rows.append([*shared(entry), _interval(middle, best), *map(_number, plain), arrives, *_lost(entry)])
    note = (
        "★ earns more than every other agent, by paired tests with Holm's correction. "
        f"Steps: medians over seeds until the return of episodes between two checkpoints is {numeral(asked)}"
        + (", half-way from where agents begin to what the best earns." if found.experiment.threshold is None else ".")
        if math.isfinite(asked)
        else "No agent earns more at last than agents do at first, so there is no return to count the steps to."
    )
    if any(entry.diverged for entry in found.at(place)):
        note += " A lane that diverged never arrives; a curve ends where the first lane of its agent diverged."
    return columns, rows, note


def _steps(until: Interval) -> str:
    """A median number of steps with its interval; lanes may never come there."""
    if not np.isfinite(until.estimate):
        return "not by half of the lanes"
    low, high = (f"{bound:,.0f}" if np.isfinite(bound) else "∞" for bound in (max(until.low, 0.0), until.high))
    return f"{until.estimate:,.0f} [{low}, {high}]"


# ---------------------------------------------------------------------- all places


def _together(found: Comparison) -> list[Block]:
    """All problems at once: interquartile means, and how often each is below each other."""
    seen = across(found)
    if seen is None:
        return []
    labels = list(seen.shares)
    chance = {(each.b, each.a): each.chance.estimate for each in seen.improvements}
    chance |= {(a, b): 1 - value for (b, a), value in chance.items()}
    shares = {pair: _number(share, f"{share:.0%}") for pair, share in chance.items()}
    rows = [
        [_word(label), _interval(seen.middles[label]), *(shares.get((label, other), NONE) for other in labels)]
        for label in labels
    ]
    note = (
        "Each lane's area under RMSPBE over the height at which it started; problems weigh the same. Mean of the "
        f"middle half of the seeds [{1 - ALPHA:.0%} interval over seeds], and the share of pairs (same problem, same "
        "seed) in which the row is below the column."
    )
    columns = ["rule", "interquartile mean", *(f"below {label}" for label in labels)]
    return [Table("All problems at once", columns, rows), Words(note, "soft")]


def _spreads(found: Comparison) -> list[Block]:
    rows: list[list[Cell]] = []
    for entry in found.entries:
        for number, ratio in entry.spread.items():
            r, of = ratio.ratio, (number if number == "final" else "area", number, False)
            bounds = _number(r.low, f"[{numeral(r.low)}, {numeral(r.high)}]")
            name = _word(f"{entry.who.name} on {entry.place}")
            rows.append([name, of, _number(r.estimate), bounds, _number(ratio.p, f"{ratio.p:.2g}")])
    if not rows:
        return []
    columns = ["distributional against value", "of RMSPBE", "variance ratio", "95 % interval", "p of equal spread"]
    note = (
        "Below 1: the distributional form varies less. Interval: Morgan, made for normal lanes (on skewed ones it "
        "holds in 88 % of cases instead of 95 %); p: Spearman on sums and differences, for any lanes. Where both forms "
        "take exactly the same path the ratio is 1."
    )
    return [
        Heading("Variance across seeds, distributional over value"),
        Table("Variance ratios", columns, rows, frozenset({0, 1})),
        Words(note, "soft"),
    ]


def _sweep(found: Comparison) -> Section:
    experiment = found.experiment
    rows: list[list[Cell]] = []
    for entry in found.entries:
        sweep = entry.choice.sweep
        lost = sum(not point.stable for point in sweep)
        best = next(point for point in sweep if (point.alpha, point.beta) == entry.choice.best)
        took = _number(entry.choice.seconds, f"{entry.choice.seconds:.1f}")
        there = (_number(best.mean), _of(best.diverged, best.lanes), _of(lost, len(sweep)))
        rows.append([_word(entry.place), *shared(entry), *there, took])
    label = experiment.score(experiment.places[0]).label
    columns = ["problem", "rule", "α chosen", "β chosen", label, "diverged there", "settings with diverged lanes",
               "seconds"]  # fmt: skip
    rule = CHOICE.format(label=label)
    note = (
        f"{rule[0].upper()}{rule[1:]}. {experiment.sweep_seeds} lanes per setting, on seeds that are not reported. "
        "Edge: a better step size may lie beyond the grid. Seconds are what the sweep's lanes took on one core."
    )
    return Section(
        "How the step sizes were chosen", [Words(note, "soft"), Table("Step sizes", columns, rows, frozenset({0, 1}))]
    )


def _outcome(duel: Duel) -> str:
    if duel.identical:
        return "identical"
    if not duel.primary:
        return "described"
    return duel.winner or "not told apart"


def _ledger(found: Comparison) -> Section:
    score = found.experiment.score(found.experiment.places[0])

    def row(duel: Duel) -> list[Cell]:
        better, ratio = duel.result.better, found.variance(duel) if duel.primary else None
        number = f"{NAMES[duel.metric]}, {'area' if duel.number == 'auc' else 'final'}" if duel.metric in NAMES else ""
        return [
            _word(duel.place), (number or score.label, duel.metric, False), _word(duel.a), _word(duel.b),
            _number(duel.difference),
            _number(better.estimate, f"{better.estimate:.2f} [{better.low:.2f}, {better.high:.2f}]"),
            _number(duel.p, f"{duel.p:.2g}") if duel.primary else NONE,
            (_outcome(duel), duel.winner or "~", False),
            NONE if ratio is None else _interval(ratio.ratio),
        ]  # fmt: skip

    side = "higher" if score.higher else "lower"
    columns = ["problem", "number", "A", "B", "median A − B", f"chance that A is {side}", "p (Holm)", side,
               "ratio of variances"]  # fmt: skip
    tested = sum(duel.primary for duel in found.duels)
    tests = f"all {tested} tests" if tested != 1 else "one test"
    note = (
        f"The {score.label} is tested: signed ranks, and Holm's correction over {tests}. The other numbers "
        "are described."
    )
    tested_pairs = Table("Paired tests", columns, list(map(row, found.duels)), frozenset({0, 1, 2, 3, 7}))
    return Section("Ledger", [Words(note, "soft"), tested_pairs])
