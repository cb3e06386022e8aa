"""Panels: curves of lanes, their mean with its interval and their spread; which of them have something to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.harness.experiment.comparison import Comparison
from dgtd.harness.judging.statistics import Interval, mean_interval
from dgtd.harness.report.drawing import COLOURS, Figure, Panel, Reading, Readings

Shown = tuple[Panel, list[Floats]]  # a panel, and the heights of its curves


def figure_of(name: str, title: str, words: str, shown: list[Shown], level: str = "flat") -> Figure:
    """The panels in which a curve moves; the words say which were left out, and why. `level`: what a flat one means."""
    kept = tuple(panel for panel, curves in shown if any(map(_moves, curves)))
    lost = [panel.title for panel, curves in shown if not any(np.isfinite(curve).any() for curve in curves)]
    flat = [panel.title for panel, _ in shown if panel not in kept and panel.title not in lost]
    for why, titles in (("every lane diverged", lost), (level, flat)):
        if titles:
            words += f" Left out, {why}: {', '.join(titles)}."
    return Figure(name, title, words, kept)


def _moves(curve: Floats) -> bool:
    """Whether there is more to see than a level line."""
    fine = curve[np.isfinite(curve)]
    return len(fine) > 1 and bool(np.ptp(fine) > 1e-9 * np.abs(fine).max())


def file_name(found: Comparison, kind: str, place: str) -> str:
    """Safe in a path and as an id, and one for each place however alike their names are."""
    places = found.experiment.places
    safe = [re.sub(r"[^\w.-]+", "_", name).strip("_") for name in places]
    here = places.index(place)
    again = safe[:here].count(safe[here])
    return f"{kind}-{safe[here]}" + (f"-{again + 1}" if again else "")


def at_step(step: float) -> str:
    """How a page names a checkpoint."""
    return f"step {step:,.0f}"


ALPHA = 0.05


@dataclass(frozen=True)
class Line:
    """A curve: its name and place in the legend; whether it is dashed; `like`: the place whose colour it shares."""

    name: str
    place: int
    dashed: bool = False
    like: int | None = None

    @property
    def mark(self) -> str:
        """The class that it has in a page."""
        return f"curve-{self.place}"

    @property
    def style(self) -> dict[str, Any]:
        """Arguments for matplotlib's plot."""
        place = self.place if self.like is None else self.like
        colour, dash = COLOURS[place % len(COLOURS)], "--" if self.dashed else "-"
        return {"color": colour, "lw": 1.6, "gid": self.mark, "label": self.name, "linestyle": dash}


@dataclass(frozen=True)
class Bundle:
    """What some lanes did: times [checkpoints], curves [lanes, checkpoints]."""

    line: Line
    times: Integers
    curves: Floats


def banded(
    axis: Any,
    steps: Integers,
    found: list[Interval],
    style: dict[str, Any],
    drawable: Callable[[Any], Floats] = np.array,
) -> None:
    """Estimates as a curve, and their bounds as a band around it."""
    middle, low, high = (drawable([getattr(each, part) for each in found]) for part in ("estimate", "low", "high"))
    axis.plot(steps, middle, **style)
    axis.fill_between(steps, low, high, color=style["color"], alpha=0.15, lw=0, gid=style["gid"])


def band(axis: Any, line: Line, times: Integers, curves: Floats) -> Reading:
    """The mean over lanes after the start, and its interval; nothing where a lane has no finite number."""
    seen = (times > 0) & np.isfinite(curves).all(0)
    steps = times[seen]
    found = [mean_interval(column, ALPHA) for column in curves[:, seen].T]
    banded(axis, steps, found, line.style)
    said = [f"{each.estimate:.3g} [{each.low:.3g}, {each.high:.3g}]" for each in found]
    return Reading(line.mark, line.name, steps.tolist(), said)


def means(title: str, lanes: list[Bundle], ylabel: str, xlabel: str = "steps", log: bool = False) -> Panel:

    def draw(axis: Any) -> Readings:
        curves = [band(axis, each.line, each.times, each.curves) for each in lanes]
        return _finished(axis, curves, xlabel, ylabel, log)

    return Panel(title, draw, named=True)


def spreads(title: str, lanes: list[Bundle], ylabel: str, xlabel: str = "steps", log: bool = False) -> Panel:
    """A panel of standard deviations over lanes."""

    def draw(axis: Any) -> Readings:
        curves = []
        for each in lanes:
            seen = each.times > 0
            steps, sd = each.times[seen], each.curves[:, seen].std(axis=0, ddof=1)
            axis.plot(steps, sd, **each.line.style)
            curves.append(Reading(each.line.mark, each.line.name, steps.tolist(), [f"{one:.3g}" for one in sd]))
        return _finished(axis, curves, xlabel, ylabel, log)

    return Panel(title, draw, named=True)


def _finished(axis: Any, curves: list[Reading], xlabel: str, ylabel: str, log: bool) -> Readings:
    if log:
        axis.set_yscale("log")
    axis.yaxis.labelpad = 1.0  # beside numbers such as 0.001 a label would leave the panel
    axis.locator_params(axis="x", nbins=5)
    return labelled(axis, curves, xlabel, ylabel)


def labelled(
    axis: Any, curves: list[Reading], xlabel: str, ylabel: str, at: Callable[[float], str] = at_step
) -> Readings:
    """With its axes named, and a legend inside."""
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.legend(frameon=False, fontsize="small")
    return Readings(at, curves)
