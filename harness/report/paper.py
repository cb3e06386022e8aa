"""The paper's figures on one page: ours, beside what the paper says of its own in words, with our verdicts.

A figure is a plug-in (entry points `dgtd.figures`): what the paper says, which claims hold it to that, and what is
drawn of which runs. Nothing here knows which figures there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from harness.judging.claims import Claim, Need, Setting
from harness.judging.formats import span
from harness.judging.ledger import Entry, counts
from harness.report.drawing import Figure, save
from harness.report.markup import FORMATS, Cell, colophon, document, figure_element, table, written


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper's, in our words, and the claims that it becomes here."""

    says: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class PaperFigure:
    """number   its number in the paper        ours   how ours was made, and where it differs
    needs    the runs and jobs that are drawn; `draw` takes what they gave, in that order
    """

    number: int
    title: str
    ours: str
    statements: Callable[[Setting], list[Statement]]
    needs: Callable[[Setting], list[Need]]
    draw: Callable[[list[Any]], list[Figure]]


@dataclass(frozen=True)
class Shown:
    """A figure with its verdicts, by claim, and its pictures."""

    figure: PaperFigure
    statements: list[Statement]
    entries: dict[str, Entry]
    pictures: list[Figure]

    @property
    def verdicts(self) -> str:
        """'2 PASS, 1 NOT REPLICATED'."""
        return counts(list(self.entries.values()))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "figure": self.figure.number,
            "title": self.figure.title,
            "verdicts": self.verdicts,
            "statements": [
                {
                    "says": each.says,
                    "claims": [_entry(self.entries[claim.id]) for claim in each.claims if claim.id in self.entries],
                }
                for each in self.statements
            ],
        }


def _entry(entry: Entry) -> dict[str, Any]:
    """What its claim says, and how it fared; it is repeated with the whole page."""
    found = entry.as_dict()
    return {name: found[name] for name in ("id", "says", "status", "error", "finding")}


def write(shown: list[Shown], setting: Setting, command: str, out: Path) -> Path:
    """Write report.html, and the figures next to it; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    for name in written(out):
        for kind in FORMATS:
            (out / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    body = ["<main>", *_head(shown, setting)]
    for each in shown:
        body += _section(each, out)
    body += [colophon(command), "</main>"]
    path = out / "report.html"
    path.write_text(document("dgtd figures", body), encoding="utf-8")
    return path


def _head(shown: list[Shown], setting: Setting) -> list[str]:
    lines = [f"Figure {each.figure.number}, {each.figure.title}: {each.verdicts or 'no claims'}." for each in shown]
    more = (
        "This is a quick look, in worlds with a third of the seeds: most statements stay INCONCLUSIVE. "
        "<code>--profile full</code> takes 30 seeds. "
        if setting.profile == "ci"
        else ""
    )
    return [
        "<header>", "<h1>The paper's figures, and ours</h1>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>",
        f'<p class="soft">Profile {escape(setting.profile)}, root seed {setting.seed}. {more}Each sampled statement '
        f"has a false-alarm rate of {setting.false_alarm:.1e}, and one that fails is tried again on fresh seeds before "
        "it reads NOT REPLICATED. INCONCLUSIVE: these seeds do not decide it.</p>",
        "</header>",
    ]  # fmt: skip


def _section(shown: Shown, out: Path) -> list[str]:
    figure = shown.figure
    said = "".join(f"<li>{escape(each.says)}</li>" for each in shown.statements)
    made = [
        f'<section id="figure-{figure.number}"><h2>Figure {figure.number}: {escape(figure.title)}</h2>',
        f'<div class="beside"><div><h3>What the paper says</h3><ul>{said}</ul></div>'
        f"<div><h3>How ours was made</h3><p>{escape(figure.ours)}</p></div></div>",
    ]
    for picture in shown.pictures:
        save(picture, *(out / "figures" / f"{picture.name}.{kind}" for kind in FORMATS))
        made.append(figure_element(picture))
    return [*made, _verdicts(shown), "</section>"]


def _verdicts(shown: Shown) -> str:
    rows: list[list[Cell]] = []
    for each in shown.statements:
        for claim in each.claims:
            entry = shown.entries.get(claim.id)
            if entry is not None:
                estimate = _estimate(entry)
                rows.append(
                    [(text, text, False) for text in (each.says, claim.says, entry.status, estimate, entry.words)]
                )
    if not rows:
        return '<p class="soft">No claim of this figure can be judged here.</p>'
    columns = ["the paper says", "held here as", "verdict", "estimate", "evidence"]
    return f'<div class="words">{table(f"Verdicts on figure {shown.figure.number}", columns, rows, TEXT)}</div>'


TEXT = frozenset({0, 1, 2, 4})


def _estimate(entry: Entry) -> str:
    """With its interval, where these seeds are enough for one."""
    finding = entry.finding
    if finding is None:
        return "–"
    return span(finding) if math.isfinite(finding.low) and math.isfinite(finding.high) else f"{finding.estimate:.3g}"
