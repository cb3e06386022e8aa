"""docs/claims.md: every claim with its verdict, written from the ledger."""

from __future__ import annotations

import re

from harness.judging.claims import BUDGET
from harness.judging.formats import span
from harness.judging.ledger import Entry, counts

OPENING = """# Claims

Written by `{command}` on {date}: run it again to update this page. {counts}.

PASS and FAIL are what the evidence says. CAUGHT is a wrong algorithm that the same check failed, as it must. VACUOUS is
a bound that holds but is too loose to say anything yet. NOT REPLICATED is what a figure of the paper shows and our runs
do not. All sampled checks of all suites together raise a false alarm in one run out of {runs:.0f}, and a FAIL is
confirmed on fresh seeds before it is reported. `dgtd explain ID` shows the evidence for a claim.
"""


OPEN = ("FAIL", "MISSED", "ERROR", "NOT REPLICATED", "INCONCLUSIVE", "VACUOUS")


def as_document(entries: list[Entry], command: str, date: str) -> str:
    """The page: first what did not hold or is open, then one table per suite."""
    out = [OPENING.format(command=command, date=date, counts=counts(entries), runs=1 / BUDGET)]
    left = [e for status in OPEN for e in entries if e.status == status]
    if left:
        said = [f"- **{e.status}** `{e.claim.id}`: {e.claim.says}. Found: {e.words}." for e in left]
        out += ["## What could not be confirmed", "", *said, ""]
    for suite in dict.fromkeys(entry.claim.suite for entry in entries):
        out += [
            f"## {suite}",
            "",
            "| claim | says | source | verdict | estimate | again |",
            "|---|---|---|---|---|---|",
        ]
        for entry in (e for e in entries if e.claim.suite == suite):
            estimate = span(entry.finding) if entry.finding else ""
            cells = (
                f"`{entry.claim.id}`",
                entry.claim.says,
                entry.claim.source,
                entry.status,
                estimate,
                f"`{entry.command}`",
            )
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        out.append("")
    return "\n".join(out)


def verdicts_in(document: str) -> dict[str, str]:
    """Claim → verdict, read back from the page."""
    rows = re.findall(
        r"^\| `([^`]+)` \| .*? \| (PASS|FAIL|INCONCLUSIVE|VACUOUS|NOT REPLICATED|CAUGHT|MISSED) \| ",
        document,
        re.MULTILINE,
    )
    return dict(rows)
