"""The report of a comparison: one HTML file that needs nothing else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from html import escape
from importlib.resources import files
from pathlib import Path

from harness.compare.across import across
from harness.compare.comparison import ALPHA, NAMES, TARGET, Comparison, Duel, Performance
from harness.compare.contest import CHOICE
from harness.judging.statistics import median_interval
from harness.report.drawing import Figure, inline, save
from harness.report.figures import figures, file_name
from harness.report.styles import Styles
from harness.report.words import answer, question
from harness.runs.fingerprint import machine_facts

FORMATS = ("svg", "pdf", "png")  # for papers
Cell = tuple[str, float | str, bool]  # text shown, sort key, whether it won


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
        drawn[figure.name] = _figure(figure)
    path = out / "report.html"
    path.write_text(_document(found, command, drawn), encoding="utf-8")
    return path


def written(out: Path) -> list[str]:
    """Names of the figures that the report in a folder shows: those are ours, and other files there are the user's."""
    try:
        text = (out / "report.html").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return re.findall(r'data-file="([\w.-]+)"', text)


def writable(out: Path) -> None:
    """Check that `out` can be written before the work, not after it; nothing of the trial stays."""
    absent = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / ".writable").touch()
        (out / ".writable").unlink()
        for folder in absent:
            folder.rmdir()
    except OSError as error:
        raise ValueError(f"can't write to {str(out)!r}: {error.strerror or error}") from None


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
    body += [_ledger(found), _colophon(found, command), "</main>"]
    style, script = (files("harness.report").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>dgtd compare: {escape(', '.join(contest.problems))}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + f"\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _figure(figure: Figure) -> str:
    words = f"{escape(figure.title)}. {escape(figure.words)}"
    if not figure.panels:
        return f'<p class="soft">{words}</p>'
    panels = "".join(f'<div class="panel">{panel}</div>' for panel in inline(figure))
    return (
        f'<figure data-file="{figure.name}"><div class="panels">{panels}</div><figcaption>{words}</figcaption></figure>'
    )


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


def _table(caption: str, columns: list[str], rows: list[list[Cell]], text: frozenset[int] = frozenset({0})) -> str:
    """A sortable table that scrolls if it is too wide."""
    head = "".join(
        f'<th scope="col"{_text(i, text)}><button type="button">{escape(column)}</button></th>'
        for i, column in enumerate(columns)
    )
    lines = []
    for row in rows:
        cells = []
        for i, (shown, value, won) in enumerate(row):
            kinds = (("text", i in text), ("won", won), ("none", shown == "–"))  # a phone leaves out what is not there
            classes = " ".join(name for name, on in kinds if on)
            mark = f' class="{classes}"' if classes else ""
            label = f' data-label="{escape(columns[i])}"' if i else ""
            words = _two_lines(shown, won)
            cells.append(f'<td{mark}{label} data-value="{escape(_sortable(value))}">{words}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _two_lines(shown: str, won: bool) -> str:
    """An interval stands beneath its estimate, so that all columns fit a screen."""
    estimate, bracket, bounds = shown.partition(" [")
    words = escape(estimate) + (" ★" if won else "")
    return f'<span>{words} <span class="bounds">[{escape(bounds)}</span></span>' if bracket else words


def _text(i: int, text: frozenset[int]) -> str:
    return ' class="text"' if i in text else ""


def _sortable(value: float | str) -> str:
    """A number for page.js, or a word; what is not a number goes to the end."""
    if isinstance(value, str):
        return value
    if math.isnan(value) or math.isinf(value):
        return "-1e300" if value < 0 else "1e300"
    return f"{value:.12g}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "–" if math.isnan(value) else f"{value:.3g}"


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
            (_number(entry.microseconds), entry.microseconds, False),
            (_number(1e-3 * steps * entry.microseconds), steps * entry.microseconds, False),
        ]
        rows.append(row)
    note = (
        '<p class="soft">Median over seeds [interval]; area: mean height of the curve. ★ lowest area under RMSPBE, by '
        f"paired tests against every other rule with Holm's correction over this page at {ALPHA:.0%}.</p>"
    )
    return _table(f"Numbers on {problem}", columns, rows) + note


def _measured(found: Comparison, entry: Performance, metric: str, number: str) -> Cell:
    if metric not in entry.who.metrics:
        return ("–", math.inf, False)
    interval = median_interval(entry.numbers(metric)[number], ALPHA)
    won = found.winner(entry.problem, metric, number) == entry.who.label
    bounds = f" [{_number(interval.low)}, {_number(interval.high)}]" if interval.low > -math.inf else ""
    words = _number(interval.estimate) + bounds
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
        bounds = f" [{_number(middle.low)}, {_number(middle.high)}]" if math.isfinite(middle.estimate) else ""
        row: list[Cell] = [(label, label, False), (_number(middle.estimate) + bounds, middle.estimate, False)]
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
    return _table("All problems at once", columns, rows) + note


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
                    (_number(r.estimate), r.estimate, False),
                    (f"[{_number(r.low)}, {_number(r.high)}]", r.low, False),
                    (f"{ratio.p:.2g}", ratio.p, False),
                ]
            )
    if not rows:
        return ""
    columns = ["distributional against value", "of RMSPBE", "variance ratio", "95 % interval", "p of equal spread"]
    return (
        "<h3>Variance across seeds, distributional over value</h3>"
        + _table("Variance ratios", columns, rows, frozenset({0, 1}))
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
        + _table("Step sizes", columns, rows, frozenset({0, 1}))
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
            (_number(duel.result.median_difference), duel.result.median_difference, False),
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
        + _table("Paired tests", columns, rows, frozenset({0, 1, 2, 3, 7}))
        + "</section>"
    )


def _colophon(found: Comparison, command: str) -> str:
    facts = json.loads(machine_facts())
    lines = "\n".join(f"{key:10} {value}" for key, value in facts.items())
    return (
        "<section><h2>How to reproduce this page</h2>"
        f'<pre tabindex="0">{escape(command)}</pre>'
        f'<pre tabindex="0">{escape(lines)}</pre>'
        '<p class="soft">The same command gives the same numbers, except times. Method: Qu, Mannor and Xu, '
        "Nonlinear Distributional Gradient Temporal-Difference Learning, ICML 2019.</p></section>"
    )
