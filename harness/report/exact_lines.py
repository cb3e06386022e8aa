"""The exact expected curve behind the sampled ones, LSTD below, what is said of both; maps of step sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.agreement import CHANCE, Distance, agreement
from dgtd.harness.experiment.comparison import Comparison, Entry
from dgtd.harness.experiment.zones import Zones
from dgtd.harness.oracle.certificates import Class
from dgtd.harness.oracle.lstd import Lstd
from dgtd.harness.report.drawing import INK, Figure, Panel, Reading, Styles

MANY = 1000  # standard errors
REACH = 10.0  # times the start: where the exact curve leaves the picture
EXACT = "root of the exact expected MSPBE"
LSTD = {"color": INK, "ls": ":", "lw": 1.0, "label": "LSTD, first order in 1/n", "zorder": 1.5}


def exact_lines(axis: Any, here: list[Entry], least_squares: Lstd | None, styles: Styles) -> list[Reading]:
    """Thin and light, behind the medians; returns what a page says of LSTD's."""
    known = [entry for entry in here if entry.exact is not None]
    for entry in known:
        assert entry.exact is not None
        shown, root = entry.times > 0, np.sqrt(entry.exact)
        near = np.where(root <= REACH * root[0], root, np.nan)  # what goes far beyond must not shrink the lanes
        axis.plot(
            entry.times[shown], drawable(near[shown]), color=styles.colour(entry.who), lw=0.9,
            alpha=0.6, zorder=1.8, gid=styles.gid(entry.who),
        )  # fmt: skip
    if known:
        axis.plot([], [], color=INK, lw=0.9, alpha=0.6, label=EXACT)
    if least_squares is None:
        return []
    steps = here[0].times[here[0].times >= least_squares.first]
    heights = np.sqrt(least_squares.mspbe(steps))
    axis.plot(steps, heights, **LSTD)
    return [Reading("lstd", "LSTD, about", steps.tolist(), [f"{value:.3g}" for value in heights])]


def exact_words(entry: Entry) -> list[str]:
    """What a page adds to the words of the median, per checkpoint after the start."""
    exact = np.full(len(entry.times), np.nan) if entry.exact is None else np.sqrt(entry.exact)
    return [f", exact {value:.3g}" if np.isfinite(value) else "" for value in exact[entry.times > 0]]


def drawable(values: ArrayLike) -> Floats:
    """What a logarithmic axis can hold: diverged lanes leave the picture, and 0 is as small as the picture goes."""
    array = np.asarray(values, dtype=float)
    return np.where(np.isfinite(array) & (array < 1e30), np.maximum(array, 1e-12), np.nan)


# ---------------------------------------------------------------------- words


def caption(here: list[Entry], least_squares: Lstd | None) -> str:
    """What the lines are, and which are missing and why: one sentence for each."""
    out = ""
    if any(entry.exact is not None for entry in here):
        out += f" Thin lines: {EXACT}, computed without seeds; the median lane is usually a little below it."
    reasons = dict.fromkeys(entry.why_not_exact for entry in here if entry.why_not_exact)
    if reasons:
        lost = [
            f"{', '.join(entry.who.label for entry in here if entry.why_not_exact == reason)} ({reason})"
            for reason in reasons
        ]
        out += f" Without an exact curve: {'; '.join(lost)}."
    if least_squares is not None:
        out += " Dotted: what LSTD reaches with the same number of transitions, to first order in 1/n; no lower bound."
    return out


def exactness(found: Comparison) -> list[str]:
    """One sentence: how far the lanes' means are from their exact expectations."""
    seen = agreement(found)
    if seen is None:
        return []
    end = max((abs(each.away) for each in seen.ends), default=None)
    at_end = "" if end is None else f", and at the last checkpoint at most {_size(end)}"
    outside = [_place(each) for each in seen.outside]
    verdict = "None is flagged: the lanes are skewed, and few skewed lanes can be that far away by chance."
    if abs(seen.worst.away) >= MANY:
        verdict = "There lanes too rare to be among these carry the expectation, so no distance is flagged."
    if outside:
        verdict = f"Farther than that: {'; '.join(outside)}."
    elif abs(seen.worst.away) <= seen.within:
        verdict = "None is farther."
    return [
        f"Against the exact expected MSPBE, the mean over {seen.lanes} lanes is farthest for {_place(seen.worst)}, of "
        f"{len(seen.distances)} checkpoints of {seen.curves} curves{at_end}. Near normal lanes stay within "
        f"{seen.within:.1f} in {1 - CHANCE:.0%} of such comparisons. {verdict}"
    ]


def _place(each: Distance) -> str:
    side = "above" if each.away > 0 else "below"
    return f"{each.label} on {each.problem} at step {each.step:,} ({_size(each.away)} standard errors {side})"


def _size(away: float) -> str:
    """Where the expectation is that of lanes too rare to be seen, the number itself says nothing."""
    return f"{abs(away):.1f}" if abs(away) < MANY else f"more than {MANY}"


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
    words = []
    for (rule, problem), each in found.items():
        shares = ", ".join(f"{each.share(kind):.0%} {kind}" for kind in Class if each.share(kind) > 0)
        words.append(f"{rule} on {problem}: {shares}")
    return Figure(name, "Stability over step sizes", "; ".join(words), panels)


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
