"""The report of a comparison: one HTML file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape
from pathlib import Path

from harness.compare.across import across
from harness.compare.comparison import ALPHA, NAMES, TARGET, Comparison, Duel, Performance
from harness.compare.contest import CHOICE
from harness.judging.statistics import median_interval
from harness.report.drawing import save
from harness.report.figures import figures, file_name
from harness.report.markup import FORMATS, Cell, colophon, document, figure_element, numeral, table, writable, written
from harness.report.styles import Styles
from harness.report.words import answer, question


def page(found: Comparison, command: str, out: Path, progress: Callable[[int, int], None] = lambda i, n: None) -> Path:
    """Write report.html, and the figures next to it; return its path."""
    writable(out)
    out.mkdir(parents=True, exist_ok=True)
    made = figures(found)
    drawn = {}
    for name in written(out):  # by another comparison in the same folder
        for kind in FORMATS:
            (out / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    for i, figure in enumerate(made):
        progress(i, len(made))
        if figure.panels:
            save(figure, *(out / "figures" / f"{figure.name}.{kind}" for kind in FORMATS))
        drawn[figure.name] = figure_element(figure)
    path = out / "report.html"
    path.write_text(_document(found, command, drawn), encoding="utf-8")
    return path


def _document(found: Comparison, command: str, drawn: dict[str, str]) -> str:
    contest = found.contest
    head, *lines = answer(found)
    body = [
        "<main>",
        "<header>",
        "<h1>GTD2 and related rules, compared</h1>",
        f'<p class="lead"><strong>{escape(question(found))}</strong></p>',
        f"<p>{escape(head)}</p>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>",
        f'<p class="soft">{contest.seeds} paired seeds, {contest.steps:,} steps, {contest.atoms} atoms '
        f"({escape(contest.projection)}). Lines are medians over seeds, bands are their {1 - ALPHA:.0%} "
        "intervals. A dashed line is a rule on return distributions. Diverged lanes count as infinitely bad, and no "
        "lane is left out.</p>",
        "</header>",
        _keys(found),
    ]
    for problem in contest.problems:
        body += [f"<section><h2>{escape(problem)}</h2>", _summary(found, problem)]
        body += [drawn[name] for kind in ("learning", "law") if (name := file_name(found, kind, problem)) in drawn]
        body.append("</section>")
    body.append("<section><h2>Across problems</h2>")
    body += [drawn[name] for name in ("profile", "spread", "survival", "sensitivity") if name in drawn]
    body += [_together(found), _spreads(found), "</section>"]
    if contest.steps_given is None:
        body.append(_sweep(found))
    body += [_ledger(found), colophon(command), "</main>"]
    return document(f"dgtd compare: {', '.join(contest.problems)}", body)


def _keys(found: Comparison) -> str:
    """Buttons that are also the legend."""
    styles = Styles(found.contest.contestants)
    out = []
    for who in found.contest.contestants:
        dash = ' stroke-dasharray="5 2.5"' if who.distributional else ""
        line = (
            f'<svg viewBox="0 0 28 8" aria-hidden="true"><line x1="0" y1="4" x2="28" y2="4" '
            f'stroke="{styles.colour(who)}" stroke-width="{4 if who.distributional else 2}"{dash}/></svg>'
        )
        out.append(
            f'<button type="button" class="key" aria-pressed="true" data-curve="{styles.gid(who)}">'
            f"{line}{escape(who.label)}</button>"
        )
    return f'<nav class="keys" aria-label="Show and hide curves">{"".join(out)}</nav>'


# ---------------------------------------------------------------------- tables


def _summary(found: Comparison, problem: str) -> str:
    here = found.at(problem)
    metrics = [metric for metric in NAMES if any(metric in entry.who.metrics for entry in here)]
    columns = ["rule", "α", "β"]
    columns += [f"{NAMES[m]}, {number}" for m in metrics for number in ("final", "area")]
    columns += [f"steps to {TARGET:.0%}", "diverged", "µs per step", f"ms to {TARGET:.0%}"]
    rows = []
    for entry in here:
        row: list[Cell] = [
            (entry.who.label, entry.who.label, False),
            (f"{entry.spec.learner.alpha:.4g}", entry.spec.learner.alpha, False),
            (f"{entry.spec.learner.beta:.4g}", entry.spec.learner.beta, False),
        ]
        for metric in metrics:
            for number in ("final", "auc"):
                row.append(_measured(found, entry, metric, number))
        steps = entry.median_steps_to_target
        row += [
            ("never" if math.isinf(steps) else f"{steps:.0f}", steps, False),
            (f"{entry.diverged} of {len(entry.outcomes)}", float(entry.diverged), False),
            (numeral(entry.microseconds), entry.microseconds, False),
            (numeral(1e-3 * steps * entry.microseconds), steps * entry.microseconds, False),
        ]
        rows.append(row)
    note = (
        '<p class="soft">Median over seeds [interval]; area: mean height of the curve. ★ lowest area under RMSPBE, by '
        f"paired tests against every other rule with Holm's correction over this page at {ALPHA:.0%}.</p>"
    )
    return table(f"Numbers on {problem}", columns, rows) + note


def _measured(found: Comparison, entry: Performance, metric: str, number: str) -> Cell:
    if metric not in entry.who.metrics:
        return ("–", math.inf, False)
    interval = median_interval(entry.numbers(metric)[number], ALPHA)
    won = found.winner(entry.problem, metric, number) == entry.who.label
    bounds = f" [{numeral(interval.low)}, {numeral(interval.high)}]" if interval.low > -math.inf else ""
    words = numeral(interval.estimate) + bounds
    return (words, interval.estimate, won)


def _together(found: Comparison) -> str:
    """All problems at once: interquartile means, and how often each is below each other."""
    seen = across(found)
    if seen is None:
        return ""
    labels = list(seen.shares)
    chance = {(each.b, each.a): each.chance.estimate for each in seen.improvements}
    chance |= {(a, b): 1 - value for (b, a), value in chance.items()}
    rows = []
    for label in labels:
        middle = seen.middles[label]
        bounds = f" [{numeral(middle.low)}, {numeral(middle.high)}]" if math.isfinite(middle.estimate) else ""
        row: list[Cell] = [(label, label, False), (numeral(middle.estimate) + bounds, middle.estimate, False)]
        row += [
            ("–", math.inf, False) if other == label else (f"{chance[label, other]:.0%}", chance[label, other], False)
            for other in labels
        ]
        rows.append(row)
    note = (
        '<p class="soft">Each lane\'s area under RMSPBE over the height at which it started; problems weigh the same. '
        f"Mean of the middle half of the seeds [{1 - ALPHA:.0%} interval over seeds], and the share of pairs (same "
        "problem, same seed) in which the row is below the column.</p>"
    )
    columns = ["rule", "interquartile mean", *(f"below {label}" for label in labels)]
    return table("All problems at once", columns, rows) + note


def _spreads(found: Comparison) -> str:
    rows: list[list[Cell]] = []
    for entry in found.entries:
        for number, ratio in entry.spread.items():
            r = ratio.ratio
            name = f"{entry.who.name} on {entry.problem}"
            rows.append(
                [
                    (name, name, False),
                    (number if number == "final" else "area", number, False),
                    (numeral(r.estimate), r.estimate, False),
                    (f"[{numeral(r.low)}, {numeral(r.high)}]", r.low, False),
                    (f"{ratio.p:.2g}", ratio.p, False),
                ]
            )
    if not rows:
        return ""
    columns = ["distributional against value", "of RMSPBE", "variance ratio", "95 % interval", "p of equal spread"]
    return (
        "<h3>Variance across seeds, distributional over value</h3>"
        + table("Variance ratios", columns, rows, frozenset({0, 1}))
        + '<p class="soft">Below 1: the distributional form varies less. Interval: Morgan, made for normal lanes (on '
        "skewed ones it holds in 88 % of cases instead of 95 %); p: Spearman on sums and differences, for any lanes. "
        "Where both forms take exactly the same path the ratio is 1.</p>"
    )


def _edge(entry: Performance, which: str) -> str:
    return " (edge of the grid)" if which in entry.choice.on_edge else ""


def _sweep(found: Comparison) -> str:
    rows: list[list[Cell]] = []
    for entry in found.entries:
        sweep = entry.choice.sweep
        lost = [s for s in sweep if not s.stable]
        rows.append(
            [
                (entry.problem, entry.problem, False),
                (entry.who.label, entry.who.label, False),
                (f"{entry.spec.learner.alpha:.4g}{_edge(entry, 'α')}", entry.spec.learner.alpha, False),
                (f"{entry.spec.learner.beta:.4g}{_edge(entry, 'β/α')}", entry.spec.learner.beta, False),
                (f"{len(lost)} of {len(sweep)}", float(len(lost)), False),
                (f"{entry.choice.seconds:.1f}", entry.choice.seconds, False),
            ]
        )
    columns = ["problem", "rule", "α chosen", "β chosen", "settings with diverged lanes", "seconds"]
    return (
        "<section><h2>How the step sizes were chosen</h2>"
        f'<p class="soft">{escape(CHOICE[0].upper() + CHOICE[1:])}. {found.contest.sweep_seeds} lanes per setting, on '
        "seeds that are not reported. Seconds are what the sweep's lanes took on one core.</p>"
        + table("Step sizes", columns, rows, frozenset({0, 1}))
        + "</section>"
    )


def _outcome(duel: Duel) -> str:
    if duel.identical:
        return "identical"
    if not duel.primary:
        return "described"
    return duel.winner or "not told apart"


def _ledger(found: Comparison) -> str:
    def row(duel: Duel) -> list[Cell]:
        better = duel.result.better
        return [
            (duel.problem, duel.problem, False),
            (f"{NAMES[duel.metric]}, {'area' if duel.number == 'auc' else 'final'}", duel.metric, False),
            (duel.a, duel.a, False),
            (duel.b, duel.b, False),
            (numeral(duel.result.median_difference), duel.result.median_difference, False),
            (f"{better.estimate:.2f} [{better.low:.2f}, {better.high:.2f}]", better.estimate, False),
            (f"{duel.p:.2g}", duel.p, False) if duel.primary else ("–", math.inf, False),
            (_outcome(duel), duel.winner or "~", False),
        ]

    columns = ["problem", "number", "A", "B", "median A − B", "chance that A is lower", "p (Holm)", "lower"]
    rows = [row(duel) for duel in found.duels]
    tested = sum(duel.primary for duel in found.duels)
    return (
        "<section><h2>Ledger</h2>"
        '<p class="soft">The area under RMSPBE is tested: signed ranks, and Holm\'s correction over all '
        f"{tested} tests. The other numbers are described.</p>"
        + table("Paired tests", columns, rows, frozenset({0, 1, 2, 3, 7}))
        + "</section>"
    )
