"""The paper's figures on one page: ours, beside what the paper says of its own in words, with our verdicts.

A figure is a plug-in (entry points `dgtd.figures`): what the paper says, which claims hold it to that, and what is
drawn of which runs. Nothing here knows which figures there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgtd.harness.judging.claims import FINDINGS, Claim, Need, Setting
from dgtd.harness.judging.ledger import Entry, counts
from dgtd.harness.report.document import span
from dgtd.harness.report.drawing import Figure
from dgtd.harness.report.page import Beside, Block, Bullets, Cell, Heading, Page, Picture, Section, Table, Words


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


def page(shown: list[Shown], setting: Setting, command: str) -> Page:
    lines = [f"Figure {each.figure.number}, {each.figure.title}: {each.verdicts or 'no claims'}." for each in shown]
    more = (
        "This is a quick look, in worlds with a third of the seeds; statements that need more are judged with "
        "--profile full. "
        if setting.profile == "ci"
        else ""
    )
    method = (
        f"Profile {setting.profile}, root seed {setting.seed}. {more}The chance of any false word on one figure is "
        f"{FINDINGS:.0%}: Holm's correction over its statements, and all looks at them. INCONCLUSIVE: these seeds do "
        "not decide it. NO DIFFERENCE: what difference there may be does not matter."
    )
    head: list[Block] = [Bullets(lines), Words(method, "soft")]
    return Page("dgtd figures", "The paper's figures, and ours", head, list(map(_section, shown)), command)


def _section(shown: Shown) -> Section:
    figure = shown.figure
    said = (Heading("What the paper says"), Bullets([each.says for each in shown.statements]))
    ours = (Heading("How ours was made"), Words(figure.ours))
    blocks: list[Block] = [Beside((said, ours)), *map(Picture, shown.pictures), _verdicts(shown)]
    return Section(f"Figure {figure.number}: {figure.title}", blocks, f"figure-{figure.number}")


def _verdicts(shown: Shown) -> Block:
    rows: list[list[Cell]] = []
    for each in shown.statements:
        for claim in each.claims:
            entry = shown.entries.get(claim.id)
            if entry is not None:
                seeds = str(entry.finding.n) if entry.finding else "–"
                texts = (each.says, claim.says, entry.status, estimate(entry), seeds, entry.evidence)
                rows.append([(text, text, False) for text in texts])
    if not rows:
        return Words("No claim of this figure can be judged here.", "soft")
    columns = ["the paper says", "held here as", "verdict", "estimate", "seeds", "evidence"]
    return Table(f"Verdicts on figure {shown.figure.number}", columns, rows, frozenset({0, 1, 2, 5}), wordy=True)


def estimate(entry: Entry) -> str:
    """With its interval, where these seeds are enough for one."""
    finding = entry.finding
    if finding is None:
        return "–"
    return span(finding) if math.isfinite(finding.low) and math.isfinite(finding.high) else f"{finding.estimate:.3g}"
