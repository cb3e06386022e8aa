"""The ledger as documents: docs/claims.md, a picture per claim, Markdown for a CI job, JUnit's XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from dgtd.harness.judging.claims import BUDGET, FINDINGS
from dgtd.harness.judging.ledger import Entry, counts, tally
from dgtd.harness.judging.verdicts import Finding

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # an error may hold any character


def as_markdown(entries: list[Entry], title: str) -> str:
    """A table for a CI job's summary."""
    rows = [
        (f"`{e.claim.id}`", e.claim.says, e.status, span(e.finding), f"{e.finding.margin:.3g}" if e.finding else "")
        for e in entries
    ]
    table = _table(("claim", "says", "verdict", "estimate", "margin"), rows)
    return "\n".join([f"## {title}", "", counts(entries), "", *table]) + "\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in (columns, *rows)]
    return [lines[0], "|" + "---|" * len(columns), *lines[1:]]


def as_junit(entries: list[Entry], title: str) -> str:
    """One test case per claim: a FAIL is a failure, INCONCLUSIVE an error of type 'inconclusive', unpromised a skip.

    Times are those of the runs and jobs behind a claim; claims that share a run each count it.
    """
    found = Counter(_outcome(entry) for entry in entries)
    totals = {
        "tests": len(entries),
        "failures": found["failure"],
        "errors": found["error"],
        "skipped": found["skipped"],
    }
    time = f"{sum(entry.seconds for entry in entries):.3f}"
    suite = Element("testsuite", {"name": title, "time": time, **{key: str(value) for key, value in totals.items()}})
    for entry in entries:
        named = {"classname": entry.claim.suite, "name": entry.claim.id, "time": f"{entry.seconds:.3f}"}
        case, words, outcome = SubElement(suite, "testcase", named), entry.words, _outcome(entry)
        if outcome == "skipped":
            SubElement(case, "skipped", {"message": f"{entry.status}: {words}" if _open_figure(entry) else words})
        elif outcome:
            kind = {"type": entry.status.lower()} if outcome == "error" else {}
            SubElement(case, outcome, kind | {"message": words}).text = entry.command
        SubElement(case, "system-out").text = f"{entry.claim.says}\n{entry.status}: {words}\n{entry.command}"
    text = tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
    return _NOT_XML.sub("�", text)


def _outcome(entry: Entry) -> str:
    """JUnit's word for it; none for what passed."""
    if entry.status in ("FAIL", "MISSED"):
        return "failure"
    if entry.status == "NOT PROMISED" or _open_figure(entry):
        return "skipped"
    return "error" if entry.status in ("INCONCLUSIVE", "ERROR") else ""


def _open_figure(entry: Entry) -> bool:
    """A figure of the paper that our runs do not show: a finding, and no failure."""
    return entry.claim.figure and entry.status in ("INCONCLUSIVE", "NOT REPLICATED", "NO DIFFERENCE")


def span(finding: Finding | None) -> str:
    """The estimate, with its interval if it has one."""
    if finding is None:
        return ""
    if finding.low == finding.high:
        return f"{finding.estimate:.3g}"
    return f"{finding.estimate:.3g} [{finding.low:.3g}, {finding.high:.3g}]"


OPENING = """# Claims

Written by `{command}` on {date}: run it again to update this page. {tally}. All lines: {counts}.

PASS and FAIL are what the evidence says. CAUGHT is a wrong algorithm that the same check failed, as it must. VACUOUS is
a bound that holds but is too loose to say anything yet. NOT REPLICATED is what a figure of the paper shows and our runs
do not; NO DIFFERENCE, that whatever difference there is does not matter. All sampled checks of theory together raise a
false alarm in one run out of {runs:.0f}, and a FAIL is confirmed on fresh seeds before it is reported. What is said of
a figure of the paper has a budget of its own: {findings:.0%} for each figure together, by Holm's steps. `dgtd explain
ID` shows the evidence for a claim.
"""


OPEN = ("FAIL", "MISSED", "ERROR", "NOT REPLICATED", "NO DIFFERENCE", "INCONCLUSIVE", "VACUOUS")


def as_document(entries: list[Entry], command: str, date: str) -> str:
    """The page: first what did not hold or is open, then one table per suite."""
    both = tally(entries)
    facts = {"tally": both[:1].upper() + both[1:], "counts": counts(entries), "runs": 1 / BUDGET, "findings": FINDINGS}
    out = [OPENING.format(command=command, date=date, **facts)]
    left = [e for status in OPEN for e in entries if e.status == status]
    if left:
        said = [f"- **{e.status}** `{e.claim.id}`: {e.claim.says}. Found: {e.words}." for e in left]
        out += ["## What could not be confirmed", "", *said, ""]
    for suite in dict.fromkeys(entry.claim.suite for entry in entries):
        rows = [
            (f"`{e.claim.id}`", e.claim.says, e.claim.source, e.status, span(e.finding), f"`{e.command}`")
            for e in entries
            if e.claim.suite == suite
        ]
        out += [f"## {suite}", "", *_table(("claim", "says", "source", "verdict", "estimate", "again"), rows), ""]
    return "\n".join(out)


def verdicts_in(document: str) -> dict[str, str]:
    """Claim → verdict, read back from the page."""
    row = r"^\| `([^`]+)` \| .*? \| (PASS|FAIL|INCONCLUSIVE|VACUOUS|NOT REPLICATED|NO DIFFERENCE|CAUGHT|MISSED) \| "
    return dict(re.findall(row, document, re.MULTILINE))


BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def draw_all(entries: list[Entry], folder: Path, progress: Callable[[int, int], None]) -> list[Path]:
    """One PNG per claim that has a finding, named after its id."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for i, entry in enumerate(entries):
        progress(i, len(entries))
        if entry.finding is not None:
            path = folder / (entry.claim.id.replace("/", "__").replace("=", "-") + ".png")
            _draw(entry, entry.finding, path)
            drawn.append(path)
    return drawn


def _draw(entry: Entry, finding: Finding, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axis = figure.subplots()
    if "x" in finding.evidence:
        _curve(axis, finding.evidence, entry.claim.id.endswith(("exponent", "exact-operator")))
    else:
        _gauge(axis, finding)
    # Wrapping takes two dollars for a formula even with parse_math=False, so they are escaped.
    axis.set_title(f"{entry.status}: {entry.claim.says}".replace("$", r"\$"), fontsize=9, wrap=True)
    figure.text(0.01, 0.005, finding.words[:110], fontsize=7, color=GREY, parse_math=False)
    figure.savefig(path, dpi=100)


def _curve(axis: Any, evidence: dict[str, Any], power_law: bool) -> None:
    x, y = np.asarray(evidence["x"], dtype=float), np.asarray(evidence["y"], dtype=float)
    shown = np.isfinite(y) & (x > 0)
    axis.plot(x[shown], y[shown], "o-", color=BLUE, label=evidence["y_name"])
    positive = shown & (y > 0)
    if power_law and positive.sum() >= 2:
        slope, level = np.polyfit(np.log(x[positive]), np.log(y[positive]), 1)
        axis.plot(x[positive], np.exp(level) * x[positive] ** slope, "--", color=ORANGE, label=f"fit: n^{slope:.2f}")
    axis.set(xlabel=evidence["x_name"], ylabel=evidence["y_name"], xscale="log")
    if positive.sum() == shown.sum() and positive.any() and y[positive].max() > 5 * y[positive].min():
        axis.set_yscale("log")
    axis.legend(fontsize=8)


def _gauge(axis: Any, finding: Finding) -> None:
    low, high = finding.low, finding.high
    reach = [[finding.estimate - low], [high - finding.estimate]]
    axis.errorbar([finding.estimate], [0], xerr=reach, fmt="o", color=BLUE)
    axis.axvline(finding.margin, color=ORANGE, ls="--", label=f"margin {finding.margin:.3g}")
    numbers = [v for v in (finding.estimate, finding.margin) if np.isfinite(v)]
    if len(numbers) == 2 and min(numbers) > 0 and max(numbers) > 100 * min(numbers):
        axis.set_xscale("log")
    axis.set(xlabel="estimate, with its interval", yticks=[])
    axis.legend(fontsize=8)
