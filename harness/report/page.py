"""A page of sections: data here, HTML in one template, and the figures as files beside it. Every report is one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from dgtd.harness.report.drawing import Figure, inline, save
from dgtd.harness.runs.fingerprint import machine_facts

FORMATS = ("svg", "pdf", "png")  # for papers
Cell = tuple[str, float | str, bool]  # text shown, sort key, whether it won


@dataclass(frozen=True)
class Words:
    """A paragraph; `mark` is its class: soft, lead."""

    text: str
    mark: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Heading:
    """Inside a section."""

    text: str


@dataclass(frozen=True)
class Code:
    """A command, or facts."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    lines: list[str]


@dataclass(frozen=True)
class Beside:
    """Blocks side by side."""

    parts: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True)
class Fold:
    """Detail that is shown on demand."""

    title: str
    blocks: tuple[Block, ...]


class Key(NamedTuple):
    """A button that is also the legend of a curve."""

    label: str
    mark: str
    colour: str
    dashed: bool


@dataclass(frozen=True)
class Keys:
    """Buttons that show and hide curves."""

    keys: list[Key]


@dataclass(frozen=True)
class Table:
    """A sortable table that scrolls if it is too wide. `text`: columns of words; `wordy`: of sentences."""

    caption: str
    columns: list[str]
    rows: list[list[Cell]]
    text: frozenset[int] = frozenset({0})
    wordy: bool = False

    def cells(self) -> Iterator[list[dict[str, str]]]:
        """As the template shows them: an interval stands beneath its estimate, so that all columns fit a screen."""
        for row in self.rows:
            cells = []
            for i, (shown, value, won) in enumerate(row):
                kinds = (("text", i in self.text), ("won", won), ("none", shown == "–"))  # a phone leaves out those
                estimate, bracket, bounds = (shown, "", "") if i in self.text else shown.partition(" [")
                cells.append(
                    {
                        "shown": estimate + (" ★" if won else ""),
                        "bounds": f"[{bounds}" if bracket else "",
                        "mark": " ".join(name for name, on in kinds if on),
                        "label": self.columns[i] if i else "",
                        "value": _sortable(value),
                    }
                )
            yield cells


@dataclass(frozen=True)
class Picture:
    """A figure: its panels, and its words beneath."""

    figure: Figure

    @property
    def words(self) -> str:
        """Its title and what it says."""
        return f"{self.figure.title}. {self.figure.words}"

    @property
    def panels(self) -> list[Markup]:
        return [Markup(panel) for panel in inline(self.figure)] if self.figure.panels else []


Block = Words | Heading | Code | Bullets | Beside | Fold | Keys | Table | Picture


@dataclass(frozen=True)
class Section:
    """A heading, and what is below it."""

    title: str
    blocks: list[Block]
    mark: str = ""


@dataclass(frozen=True)
class Page:
    """title: of the window; `head` stands in the page's header, `under` below it, before the sections."""

    title: str
    heading: str
    head: list[Block]
    sections: list[Section]
    command: str
    under: list[Block] = field(default_factory=list)


def write(page: Page, out: Path, progress: Callable[[int, int], None] = lambda i, n: None) -> Path:
    """Write report.html, and the figures next to it; return its path."""
    writable(out)
    out.mkdir(parents=True, exist_ok=True)
    for name in written(out):  # by another report in the same folder
        for kind in FORMATS:
            (out / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    blocks = [*page.head, *(block for each in page.sections for block in each.blocks)]
    pictures = [block for block in blocks if isinstance(block, Picture)]
    for i, picture in enumerate(pictures):
        progress(i, len(pictures))
        if picture.figure.panels:
            save(picture.figure, *(out / "figures" / f"{picture.figure.name}.{kind}" for kind in FORMATS))
    path = out / "report.html"
    path.write_text(rendered(page), encoding="utf-8")
    return path


def rendered(page: Page) -> str:
    """As HTML, with how to make the page again at its end."""
    here = files("dgtd.harness.report")
    style, script = (Markup(here.joinpath(f"page.{kind}").read_text("utf-8")) for kind in ("css", "js"))
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(
        here.joinpath("templates", "page.html").read_text("utf-8")
    )
    whole = replace(page, sections=[*page.sections, _colophon(page.command)])
    return template.render(page=whole, style=style, script=script)


def _colophon(command: str) -> Section:
    facts = json.loads(machine_facts())
    lines = "\n".join(f"{key:10} {value}" for key, value in facts.items())
    source = (
        "The same command gives the same numbers, except times. Method: Qu, Mannor and Xu, Nonlinear Distributional "
        "Gradient Temporal-Difference Learning, ICML 2019."
    )
    return Section("How to reproduce this page", [Code(command), Code(lines), Words(source, "soft")])


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


def _sortable(value: float | str) -> str:
    """A number for page.js, or a word; what is not a number goes to the end."""
    if isinstance(value, str):
        return value
    if math.isnan(value) or math.isinf(value):
        return "-1e300" if value < 0 else "1e300"
    return f"{value:.12g}"


def numeral(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return "–" if math.isnan(value) else f"{value:.3g}"
