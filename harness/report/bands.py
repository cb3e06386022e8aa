"""Curves of lanes: their mean with its interval, and their spread, in a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.checks import Floats, Integers
from harness.judging.statistics import mean_interval
from harness.report.drawing import COLOURS, Panel
from harness.report.figures import at_step
from harness.report.words import Reading, Readings

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


def band(axis: Any, line: Line, times: Integers, curves: Floats) -> Reading:
    """The mean over lanes after the start, and its interval; nothing where a lane has no finite number."""
    seen = (times > 0) & np.isfinite(curves).all(0)
    steps = times[seen]
    found = [mean_interval(column, ALPHA) for column in curves[:, seen].T]
    middle, low, high = (np.array([getattr(each, part) for each in found]) for part in ("estimate", "low", "high"))
    axis.plot(steps, middle, **line.style)
    axis.fill_between(steps, low, high, color=line.style["color"], alpha=0.15, lw=0, gid=line.mark)
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
    axis.set(xlabel=xlabel, ylabel=ylabel, **({"yscale": "log"} if log else {}))
    axis.yaxis.labelpad = 1.0  # beside numbers such as 0.001 a label would leave the panel
    axis.locator_params(axis="x", nbins=5)
    axis.legend(frameon=False, fontsize="small")
    return Readings(at_step, curves)
