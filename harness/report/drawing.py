"""Draws a figure: as one picture for papers (SVG, PDF, PNG), and panel by panel as SVG inside a page.

INK is replaced by the colour of the page's text, so that a figure also works in dark mode.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dgtd.harness.experiment.experiment import Entrant


@dataclass(frozen=True)
class Reading:
    """A curve in words: `words[i]` is said where the pointer is nearest to `x[i]`.

    mark   the class that the curve has in the page, so that a hidden curve is silent
    """

    mark: str
    name: str
    x: Sequence[float]
    words: Sequence[str]

    def at(self, places: list[float]) -> list[str]:
        """What is said at each of the places; nothing where the curve has no point."""
        said = dict(zip(map(float, self.x), self.words, strict=True))
        return [said.get(x, "") for x in places]


@dataclass(frozen=True)
class Readings:
    """All curves of a panel; `at` names a place on the horizontal axis."""

    at: Callable[[float], str]
    curves: Sequence[Reading]

    def as_json(self, axis: Any, width: float) -> str:
        """For the page: places from left to right, and what each curve says there. `width` is the SVG's own."""
        places = sorted({float(x) for curve in self.curves for x in curve.x})
        middle = axis.get_ylim()[0]  # any height will do: only the horizontal position is asked for
        left = axis.transData.transform([(x, middle) for x in places])[:, 0] / axis.figure.bbox.width * width
        shown = [curve for curve in self.curves if len(curve.x)]
        curves = [{"mark": curve.mark, "name": curve.name, "words": curve.at(places)} for curve in shown]
        found = {"x": np.round(left, 1).tolist(), "at": [self.at(x) for x in places], "curves": curves}
        # Inside a script element nothing may look like a tag.
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def __bool__(self) -> bool:
        return any(len(curve.x) for curve in self.curves)


INK = "#010203"
POINTS = 72  # an inch of matplotlib's SVG
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
WIDTH, HEIGHT = 4.4, 3.0  # inches of a panel in a page
COLUMN, COLUMN_HEIGHT = 3.25, 2.4  # inches of a panel in a paper: the column of a page with two


@dataclass(frozen=True)
class Panel:
    """One pair of axes; `named` if its title is shown above it. `draw` returns what the page says of its curves.

    height   inches, where it is not that of other panels
    """

    title: str
    draw: Callable[[Any], Readings | None]
    named: bool = False
    height: float = 0.0


@dataclass(frozen=True)
class Figure:
    """Panels, the file's name, and a description for readers who can't see them."""

    name: str
    title: str
    words: str
    panels: tuple[Panel, ...]


def check_picture(name: str, path: Path | None) -> None:
    """A file whose ending we draw; matplotlib would add an ending of its own to any other."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{name} must end in png, svg or pdf, got {str(path)!r}")
    if path.is_dir():
        raise ValueError(f"{name} must name a file, got the folder {str(path)!r}")


def save(figure: Figure, *paths: Path, columns: int = 2) -> None:
    """Save the whole figure, in the format that each path ends in, with at most `columns` panels beside each other."""
    with _paper({"font.size": 8}) as new:
        drawn = _whole(figure, new, columns)
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
            drawn.savefig(path, dpi=220, metadata=metadata, transparent=False, facecolor="white")


def as_png(figure: Figure) -> bytes:
    """The whole figure, for a notebook."""
    with _paper({"font.size": 8}) as new:
        buffer = io.BytesIO()
        _whole(figure, new, 2).savefig(buffer, format="png", dpi=110, transparent=False, facecolor="white")
        return buffer.getvalue()


def _whole(figure: Figure, new: Any, columns: int) -> Any:
    """As wide as a paper's column, or as the text where it has several panels, with letters of eight points.

    It is included as it is, and nothing is scaled.
    """
    columns = min(len(figure.panels), columns)
    rows = -(-len(figure.panels) // columns)
    tall = max(panel.height or COLUMN_HEIGHT for panel in figure.panels)
    drawn = new(figsize=(COLUMN * columns + 0.25 * (columns - 1), tall * rows + 0.4))
    flat = list(drawn.subplots(rows, columns, squeeze=False).ravel())
    for panel, axis in zip(figure.panels, flat, strict=False):
        _fill(panel, axis)
    for axis in flat[len(figure.panels) :]:
        axis.set_axis_off()
    _arrange(drawn, rows, columns, _legend(drawn, flat, columns))
    return drawn


def save_as(figure: Figure, path: Path, columns: int = 2) -> None:
    """To a file that a user named: what can't be drawn there is their mistake."""
    try:
        save(figure, path, columns=columns)
    except (OSError, ValueError) as error:
        raise ValueError(f"can't draw {str(path)!r}: {error}") from None


def inline(figure: Figure) -> list[str]:
    """Each panel as SVG for a page, where a narrow screen shows one below the other."""
    out = []
    with _paper() as new:
        for i, panel in enumerate(figure.panels):
            drawn = new(figsize=(WIDTH, panel.height or HEIGHT))
            axis = drawn.subplots()
            readings = _fill(panel, axis)
            _arrange(drawn, 1, 1, 0.0)
            buffer = io.StringIO()
            drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
            svg = _for_page(buffer.getvalue(), f"{figure.name}-{i}", f"{panel.title}. {figure.words}")
            if readings:
                said = readings.as_json(axis, WIDTH * POINTS)
                svg += f'<script type="application/json">{said}</script>'
            out.append(svg)
    return out


def _arrange(drawn: Any, rows: int, columns: int, below: float) -> None:
    """Margins in inches: a layout engine measures every label of every format, which took most of the time."""
    left, right, top, bottom = 0.62, 0.1, 0.24, 0.44
    width, height = drawn.get_size_inches()
    axes_width = (width - columns * (left + right)) / columns
    axes_height = (height - below - rows * (top + bottom)) / rows
    drawn.subplots_adjust(
        left=left / width, right=1 - right / width, top=1 - top / height, bottom=(below + bottom) / height,
        wspace=(left + right) / axes_width, hspace=(top + bottom) / axes_height,
    )  # fmt: skip


def _fill(panel: Panel, axis: Any) -> Readings | None:
    readings = panel.draw(axis)
    if axis.lines and not any(np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any() for line in axis.lines):
        axis.set(xscale="linear", yscale="linear", xticks=[], yticks=[])
        axis.text(0.5, 0.5, "every lane diverged", transform=axis.transAxes, ha="center")
    if panel.named:
        axis.set_title(panel.title, fontsize=9)
    for one, limits in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        if one.get_scale() == "log":
            _powers(one, limits)
    return readings


def _legend(drawn: Any, axes: list[Any], columns: int) -> float:
    """One legend below all panels that have none; returns its height in inches. The page has buttons instead."""
    handles: dict[str, Any] = {}
    for axis in (each for each in axes if each.get_legend() is None):
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return 0.0
    across = min(len(handles), 2 * columns)
    drawn.legend(handles.values(), handles, loc="lower center", ncols=across, fontsize=7, frameon=False)
    return 0.2 * -(-len(handles) // across) + 0.05


def _powers(axis: Any, limits: tuple[float, float]) -> None:
    """Ticks at powers of ten, in plain text: typesetting hundreds of small labels took half of the time."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    plain = FuncFormatter(lambda x, _: f"{x:.2g}")
    if limits[1] / limits[0] > 20:
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: "10" + f"{round(np.log10(x))}".translate(RAISED)))
        return
    # Within about one decade, powers of ten are too few ticks.
    within = limits[0] < 10.0 ** np.ceil(np.log10(limits[0])) < limits[1]
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:.2g}" if f"{x:e}"[0] in "25" else "") if within else plain)


@contextmanager
def _paper(more: dict[Any, Any] | None = None) -> Iterator[Any]:
    """The class of figures, in our style. Not pyplot's: a notebook's or a script's own backend stays what it is."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Drawn

    style: dict[Any, Any] = {
        **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
        "svg.fonttype": "none", "svg.hashsalt": "dgtd", "font.size": 9, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "grid.color": "#888888", "grid.alpha": 0.25,
        "savefig.transparent": True, "legend.labelcolor": INK, "text.parse_math": False,  # a name may hold dollars
    }  # fmt: skip
    with rc_context(style | (more or {})), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a name in letters that the font lacks
        yield Drawn


def _for_page(svg: str, prefix: str, words: str) -> str:
    """Inline SVG: unique ids, the page's text colour, curves marked by class, and a text for those who can't see it."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<(\w+) id="(curve-\d+)"', r'<\1 class="\2"', svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    # Words may hold backslashes, which a template would take as its own.
    label = f'role="img" aria-label="{escape(words)}"'
    return re.sub(r'(<svg) [^>]*?(viewBox="[^"]*")[^>]*>', lambda found: f"{found[1]} {found[2]} {label}>", svg)


# Okabe and Ito's, which most kinds of colour blindness tell apart, and one more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")


class Styles:
    """Colour and line of every entrant, and the class that its curves carry in the page."""

    def __init__(self, entrants: tuple[Entrant, ...]) -> None:
        rules = list(dict.fromkeys(who.rule for who in entrants))
        self._colour = {rule: COLOURS[i % len(COLOURS)] for i, rule in enumerate(rules)}
        self._index = {who: i for i, who in enumerate(entrants)}

    def colour(self, who: Entrant) -> str:
        return self._colour[who.rule]

    def line(self, who: Entrant) -> dict[str, Any]:
        """Arguments for matplotlib's plot."""
        # Thick dashes: where two forms walk one path, they show on the thin line beneath.
        dash, width = ((0, (2.5, 1.5)), 2.8) if who.distributional else ("-", 1.4)
        label = "\u200b" + who.label if who.label.startswith("_") else who.label  # matplotlib hides the others
        return {"color": self.colour(who), "ls": dash, "lw": width, "gid": self.gid(who), "label": label}

    def reading(self, who: Entrant, x: Any, words: Sequence[str]) -> Reading:
        """What the page says of an entrant's curve."""
        return Reading(self.gid(who), who.label, x.tolist(), words)

    def index(self, who: Entrant) -> int:
        return self._index[who]

    def gid(self, who: Entrant) -> str:
        """The mark by which the page finds what belongs to a entrant."""
        return f"curve-{self._index[who]}"
