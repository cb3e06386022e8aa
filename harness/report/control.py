"""The report of a comparison of agents: what they earn over time, in one HTML file."""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from harness.compare.control import ALPHA, ControlComparison, Earnings, words
from harness.judging.statistics import mean_interval, median_interval
from harness.report.drawing import Figure, Panel, save
from harness.report.markup import FORMATS, Cell, colophon, document, figure_element, numeral, table, written
from harness.report.panels import at_step
from harness.report.readings import Reading, Readings
from harness.report.styles import COLOURS


def write(found: ControlComparison, command: str, out: Path) -> Path:
    """Write report.html, and the figures next to it; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    for name in written(out):
        for kind in FORMATS:
            (out / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    body = [
        "<main>", "<header>", "<h1>Agents, compared</h1>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in words(found)) + "</ul>",
        f'<p class="soft">{found.contest.seeds} paired seeds, {found.contest.steps:,} steps. Lines are means over '
        f"seeds of the returns of episodes between two checkpoints, bands their {1 - ALPHA:.0%} t-intervals. "
        "Agents share their worlds' and their exploration's random numbers lane by lane.</p>",
        "</header>",
    ]  # fmt: skip
    for world in found.contest.worlds:
        made = figure(found, world)
        save(made, *(out / "figures" / f"{made.name}.{kind}" for kind in FORMATS))
        body += [f"<section><h2>{escape(world)}</h2>", _summary(found, world), figure_element(made), "</section>"]
    body += [_sweeps(found), colophon(command), "</main>"]
    path = out / "report.html"
    path.write_text(document(f"dgtd compare: {', '.join(found.contest.worlds)}", body), encoding="utf-8")
    return path


def figure(found: ControlComparison, world: str) -> Figure:
    """Returns against steps."""
    here = found.at(world)

    def draw(axis: Any) -> Readings:
        curves = [_band(axis, entry, COLOURS[i % len(COLOURS)], f"curve-{i}") for i, entry in enumerate(here)]
        axis.set(xlabel="steps of the world", ylabel="return of an episode")
        axis.legend(frameon=False, fontsize="small")
        return Readings(at_step, curves)

    name = "returns-" + "".join(letter if letter.isalnum() else "-" for letter in world)
    text = f"Return of an episode in {world} against steps: means over {found.contest.seeds} seeds."
    return Figure(name, f"Learning in {world}", text, (Panel("return", partial(draw)),))


def _band(axis: Any, entry: Earnings, colour: str, mark: str) -> Reading:
    shown = entry.times > 0
    steps = entry.times[shown]
    found = [mean_interval(column, ALPHA) for column in entry.curves[:, shown].T]
    middle, low, high = (np.array([getattr(each, name) for each in found]) for name in ("estimate", "low", "high"))
    axis.plot(steps, middle, color=colour, lw=1.6, gid=mark, label=entry.who.label)
    axis.fill_between(steps, low, high, color=colour, alpha=0.15, lw=0, gid=mark)
    return Reading(
        mark, entry.who.label, steps.tolist(), [f"{i.estimate:.3g} [{i.low:.3g}, {i.high:.3g}]" for i in found]
    )


COLUMNS = ("agent", "rate of Adam", "return, last fifth: median", "mean", "standard deviation", "mean over all steps",
           "diverged", "µs per step")  # fmt: skip


def cells(found: ControlComparison, world: str) -> list[list[Cell]]:
    """A row per agent: text, sort key, and whether it beat every other."""
    rows: list[list[Cell]] = []
    for entry in found.at(world):
        middle = median_interval(entry.final, ALPHA)
        bounds = f" [{middle.low:.3g}, {middle.high:.3g}]" if np.isfinite(middle.low) else ""
        met = [m for m in found.matches if m.world == world and entry.who.label in (m.a, m.b)]
        won = bool(met) and all(m.winner == entry.who.label for m in met)
        plain = (float(entry.final.mean()), float(entry.final.std(ddof=1)), float(entry.area.mean()))
        rows.append(
            [
                (entry.who.label, entry.who.label, False),
                (f"{entry.sweep.best:g}{' (edge)' if entry.sweep.on_edge else ''}", entry.sweep.best, False),
                (f"{middle.estimate:.3g}{bounds}", middle.estimate, won),
                *((numeral(value), value, False) for value in plain),
                (f"{entry.diverged} of {len(entry.final)}", float(entry.diverged), False),
                (f"{entry.microseconds:.3g}", entry.microseconds, False),
            ]
        )  # fmt: skip
    return rows


def _summary(found: ControlComparison, world: str) -> str:
    return table(f"Agents in {world}", list(COLUMNS), cells(found, world))


def _sweeps(found: ControlComparison) -> str:
    rates = found.contest.rates
    if len(rates) == 1:
        return ""
    rows: list[list[Cell]] = [
        [
            (entry.world, entry.world, False),
            (entry.who.label, entry.who.label, False),
            *((numeral(entry.sweep.means[rate]), entry.sweep.means[rate], rate == entry.sweep.best) for rate in rates),
        ]
        for entry in found.entries
    ]
    head = ["world", "agent", *(f"rate {rate:g}" for rate in rates)]
    return (
        "<section><h2>The sweep</h2>"
        f'<p class="soft">Mean return over the last fifth, {found.contest.sweep_seeds} lanes per rate on seeds of '
        "their own; ★ is the rate that was chosen.</p>"
        + table("The sweep over rates", head, rows, frozenset({0, 1}))
        + "</section>"
    )
