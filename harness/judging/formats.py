"""The ledger for other programs: Markdown for a CI job's summary, JUnit's XML."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, tostring

from harness.judging.ledger import Entry, counts
from harness.judging.verdicts import Finding

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # an error may hold any character


def as_markdown(entries: list[Entry], title: str) -> str:
    """A table for a CI job's summary."""
    lines = [
        f"## {title}",
        "",
        counts(entries),
        "",
        "| claim | says | verdict | estimate | margin |",
        "|---|---|---|---|---|",
    ]
    for entry in entries:
        f = entry.finding
        numbers = ("", "") if f is None else (span(f), f"{f.margin:.3g}")
        cells = (f"`{entry.claim.id}`", entry.claim.says, entry.status, *numbers)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def as_junit(entries: list[Entry], title: str) -> str:
    """One test case per claim: a FAIL is a failure, INCONCLUSIVE an error of type 'inconclusive', unpromised a skip.

    Times are those of the runs and jobs behind a claim; claims that share a run each count it.
    """
    failures = sum(entry.status in ("FAIL", "MISSED") for entry in entries)
    errors = sum(entry.status in ("INCONCLUSIVE", "ERROR") and not _open_figure(entry) for entry in entries)
    skipped = sum(entry.status == "NOT PROMISED" or _open_figure(entry) for entry in entries)
    totals = {"tests": len(entries), "failures": failures, "errors": errors, "skipped": skipped}
    time = f"{sum(entry.seconds for entry in entries):.3f}"
    suite = Element("testsuite", {"name": title, "time": time, **{key: str(value) for key, value in totals.items()}})
    for entry in entries:
        named = {"classname": entry.claim.suite, "name": entry.claim.id, "time": f"{entry.seconds:.3f}"}
        case, words = SubElement(suite, "testcase", named), entry.words
        if entry.status in ("FAIL", "MISSED"):
            SubElement(case, "failure", {"message": words}).text = entry.command
        elif _open_figure(entry):
            SubElement(case, "skipped", {"message": f"{entry.status}: {words}"})
        elif entry.status == "INCONCLUSIVE":
            SubElement(case, "error", {"type": "inconclusive", "message": words}).text = entry.command
        elif entry.status == "ERROR":
            SubElement(case, "error", {"type": "error", "message": words}).text = entry.command
        elif entry.status == "NOT PROMISED":
            SubElement(case, "skipped", {"message": words})
        SubElement(case, "system-out").text = f"{entry.claim.says}\n{entry.status}: {words}\n{entry.command}"
    text = tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
    return _NOT_XML.sub("�", text)


def _open_figure(entry: Entry) -> bool:
    """A figure of the paper that our runs do not show: a finding, and no failure."""
    return entry.claim.figure and entry.status in ("INCONCLUSIVE", "NOT REPLICATED")


def span(finding: Finding) -> str:
    """The estimate, with its interval if it has one."""
    if finding.low == finding.high:
        return f"{finding.estimate:.3g}"
    return f"{finding.estimate:.3g} [{finding.low:.3g}, {finding.high:.3g}]"
