"""The ledger as documents: docs/claims.md, a picture per claim, Markdown for a CI job, JUnit's XML."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from dgtd.harness.judging.claims import BUDGET, FINDINGS
from dgtd.harness.judging.ledger import INSTRUMENT, Entry, counts, tally
from dgtd.harness.judging.verdicts import Finding
from dgtd.harness.plugins import installed

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

{how} `dgtd explain ID` shows the evidence for a claim. Every claim with its verdict, estimate and command is in
[{data}]({data}); the same command with a name that ends in .html writes them as a page with filters.

"""
HOW = (
    "PASS and FAIL are what the evidence says. CAUGHT is a wrong algorithm that the same check failed, as it must. "
    "VACUOUS is a bound that holds but is too loose to say anything yet. NOT REPLICATED is what a figure of the paper "
    "shows and our runs do not; NO DIFFERENCE, that whatever difference there is does not matter. All sampled checks "
    f"of theory together raise a false alarm in one run out of {1 / BUDGET:.0f}; a FAIL is confirmed on fresh seeds "
    f"before it is reported. What is said of a figure of the paper has a budget of its own: {FINDINGS:.0%} for each "
    "figure together, by Holm's steps."
)
BEGINS = (b'[\n{"id": ', b"[\n\n]\n")  # of our data, with claims and without
OPEN = ("FAIL", "MISSED", "ERROR", "NOT REPLICATED", "NO DIFFERENCE", "INCONCLUSIVE", "VACUOUS")


def check_document(path: Path) -> None:
    """The data beside a summary has a name that nobody gave: a file there that is not ours stays."""
    if path.suffix not in (".md", ".html"):
        raise ValueError(f"document must end in .md or .html, got {str(path)!r}")
    data = path.with_suffix(".json")
    if path.suffix == ".md" and data.exists() and not (data.is_file() and data.read_bytes()[:9] in BEGINS):
        raise ValueError(f"document would replace {str(data)!r}, which is no ledger: take another name")


def write_document(entries: list[Entry], path: Path, command: str, date: str) -> None:
    """A page with filters if the name ends in .html; else a summary, and beside it every claim as JSON."""
    if path.suffix == ".html":
        path.write_text(_NOT_XML.sub("�", as_page(entries, command, date)), encoding="utf-8")
        return
    data = path.with_suffix(".json")
    path.write_text(_NOT_XML.sub("�", as_document(entries, command, date, data.name)), encoding="utf-8")
    rows = ",\n".join(json.dumps(_row(entry), ensure_ascii=False) for entry in entries)
    data.write_text(_NOT_XML.sub("�", f"[\n{rows}\n]\n"), encoding="utf-8")


def as_document(entries: list[Entry], command: str, date: str, data: str = "claims.json") -> str:
    """What did not hold or is open, with its words; then how many claims each suite has, by verdict."""
    both = tally(entries)
    facts = {"tally": both[:1].upper() + both[1:], "counts": counts(entries), "how": HOW, "data": data}
    out = [OPENING.format(command=command, date=date, **facts).rstrip(), ""]
    left = [e for status in OPEN for e in entries if e.status == status]
    if left:
        said = [f"- **{e.status}** `{e.claim.id}`: {e.claim.says}. Found: {e.words}." for e in left]
        out += ["## What could not be confirmed", "", *said, ""]
    suites = dict.fromkeys(entry.claim.suite for entry in entries)
    rows = [(suite, counts([e for e in entries if e.claim.suite == suite])) for suite in suites]
    return "\n".join([*out, "## Suites", "", *_table(("suite", "verdicts"), rows), ""])


def _row(entry: Entry) -> dict[str, Any]:
    """What git holds of a claim: numbers to three digits, so that another processor writes the same."""
    claim = entry.claim
    return {
        "id": claim.id, "says": claim.says, "source": claim.source, "verdict": entry.status,
        "estimate": span(entry.finding), "again": entry.command,
    }  # fmt: skip


def as_page(entries: list[Entry], command: str, date: str) -> str:
    """Every claim as a row that can be filtered, and opened for what is behind it."""
    here = files("dgtd.harness.report")
    style, script = (Markup(here.joinpath(name).read_text("utf-8")) for name in ("page.css", "ledger.js"))
    rows = [_shown(entry) for entry in entries]
    names = ("verdict", "book", "suite", "rule", "problem", "kind", "source")
    choices = {name: sorted({row[name] for row in rows} - {""}) for name in names}
    template = Environment(autoescape=True).from_string(here.joinpath("templates", "ledger.html").read_text("utf-8"))
    head = tally(entries)
    return template.render(
        head=f"{head[:1].upper()}{head[1:]}. All rows: {counts(entries)}.", how=f"{HOW} Written on {date}.",
        choices=choices, rows=Markup(json.dumps(rows, ensure_ascii=False).replace("<", "\\u003c")), style=style,
        script=script, command=command,
    )  # fmt: skip


def _shown(entry: Entry) -> dict[str, Any]:
    """A row: what it may be filtered by, and its details."""
    claim, found = entry.claim, entry.finding
    kind = "control" if claim.control else "figure" if claim.figure else "sampled" if claim.sampled else "exact"
    alarm = f"{found.false_alarm:.1e}" if found and claim.sampled else "none: nothing is sampled"
    more = {
        "margin": f"{found.margin:.3g}", "n": str(found.n) if claim.sampled else "", "false alarm": alarm,
        "would flip it": found.flips, "seeds to settle it": "" if found.needed is None else str(found.needed),
    } if found else {}  # fmt: skip
    facts = {"evidence": entry.words, "estimate": span(found)} | more | {"source": claim.source, "again": entry.command}
    row = _row(entry) | {
        "book": "the instrument" if claim.suite == INSTRUMENT else "algorithms", "suite": claim.suite, "kind": kind,
        "rule": claim.rule.name if claim.rule else "", "problem": _problem(claim.id),
        "details": {name: text for name, text in facts.items() if text},
    }  # fmt: skip
    return row | {"text": " ".join([claim.id, claim.says, claim.source, entry.words]).lower()}


def _problem(id_: str) -> str:
    """The finite problem or world that an id names."""
    known = {*installed("problems"), *installed("worlds")}
    return next((part for part in id_.split("/") if part in known), "")


def verdicts_in(data: str) -> dict[str, str]:
    """Claim → verdict, read back from the data beside the page."""
    return {row["id"]: row["verdict"] for row in json.loads(data)}


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
