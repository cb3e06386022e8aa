"""Pieces of a page: the document around them, figures, sortable tables, and how to make the page again."""

from __future__ import annotations

import json
import math
import re
from html import escape
from importlib.resources import files
from pathlib import Path

from harness.report.drawing import Figure, inline
from harness.runs.fingerprint import machine_facts

FORMATS = ("svg", "pdf", "png")  # for papers
Cell = tuple[str, float | str, bool]  # text shown, sort key, whether it won


def document(title: str, body: list[str]) -> str:
    """One HTML file that needs nothing else."""
    style, script = (files("harness.report").joinpath(f"page.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + f"\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


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


def figure_element(figure: Figure) -> str:
    """Its panels, and its words beneath."""
    words = f"{escape(figure.title)}. {escape(figure.words)}"
    if not figure.panels:
        return f'<p class="soft">{words}</p>'
    panels = "".join(f'<div class="panel">{panel}</div>' for panel in inline(figure))
    return (
        f'<figure data-file="{figure.name}"><div class="panels">{panels}</div><figcaption>{words}</figcaption></figure>'
    )


def table(caption: str, columns: list[str], rows: list[list[Cell]], text: frozenset[int] = frozenset({0})) -> str:
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
            words = escape(shown) + (" ★" if won else "") if i in text else _two_lines(shown, won)
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


def numeral(value: float) -> str:
    """A number in a cell."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "–" if math.isnan(value) else f"{value:.3g}"


def colophon(command: str) -> str:
    """How to make the page again."""
    facts = json.loads(machine_facts())
    lines = "\n".join(f"{key:10} {value}" for key, value in facts.items())
    return (
        "<section><h2>How to reproduce this page</h2>"
        f'<pre tabindex="0">{escape(command)}</pre>'
        f'<pre tabindex="0">{escape(lines)}</pre>'
        '<p class="soft">The same command gives the same numbers, except times. Method: Qu, Mannor and Xu, '
        "Nonlinear Distributional Gradient Temporal-Difference Learning, ICML 2019.</p></section>"
    )
