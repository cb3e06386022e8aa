"""Maps of step sizes as pictures: classes in colours, and the line on which second moments neither grow nor shrink."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.experiment.zones import Zones
from harness.oracle.certificates import Class
from harness.report.drawing import Figure, Panel

COLOURS = {
    Class.STABLE: "#a6cee3",
    Class.MARGINAL: "#d9d9d9",
    Class.HEAVY_TAILED: "#fdbf6f",
    Class.DIVERGING: "#d7483b",
}
BOUNDARY = "#08306b"


def zones_figure(name: str, found: dict[tuple[str, str], Zones]) -> Figure:
    """A panel for each (rule, problem)."""
    panels = tuple(_panel(f"{rule} on {problem}", each) for (rule, problem), each in found.items())
    words = "; ".join(f"{rule} on {problem}: {in_words(each)}" for (rule, problem), each in found.items())
    return Figure(name, "Stability over step sizes", words, panels)


def in_words(found: Zones) -> str:
    """Shares of the map."""
    return ", ".join(f"{found.share(kind):.0%} {kind}" for kind in Class if found.share(kind) > 0)


def _panel(title: str, found: Zones) -> Panel:
    def draw(axis: Any) -> None:
        from matplotlib.colors import ListedColormap

        kinds = list(COLOURS)
        numbers = np.vectorize(kinds.index)(found.kinds)
        colours = ListedColormap(list(COLOURS.values()))
        axis.pcolormesh(
            found.ratios, found.alphas, numbers, shading="nearest", cmap=colours, vmin=-0.5, vmax=len(kinds) - 0.5
        )
        for kind, colour in COLOURS.items():
            axis.scatter([], [], marker="s", color=colour, label=str(kind))
        boundary(axis, found)
        axis.set(xlabel="β/α", ylabel="α", xscale="log", yscale="log")
        axis.grid(visible=False)

    return Panel(title, draw, named=True)


def boundary(axis: Any, found: Zones) -> None:
    """The largest α up to which second moments shrink, where a column has one."""
    if np.isfinite(found.edges).any():
        axis.plot(found.ratios, found.edges, color=BOUNDARY, lw=1.2, marker=".", ms=3, label="mean-square radius 1")
