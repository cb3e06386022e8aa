"""The ledger: every claim with its verdict, its evidence, and the command that repeats it."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from algorithms.names import look_up
from algorithms.rule import Rule
from harness.judging.claims import BUDGET, Claim, Setting, Suite
from harness.judging.verdicts import Finding, Verdict, confirmed
from harness.plugins import installed

FRESH = 1_000_003  # added to the seed where a FAIL is looked at again

PASSED, FAILED, INCONCLUSIVE, NOTHING = 0, 1, 3, 4


@dataclass(frozen=True)
class Entry:
    """A line of the ledger. `finding` is None where the rule did not promise the claim."""

    claim: Claim
    finding: Finding | None
    command: str

    @property
    def status(self) -> str:
        """What the table shows."""
        if self.finding is None:
            return "NOT PROMISED"
        if self.claim.control:
            return "CAUGHT" if self.finding.verdict is Verdict.FAIL else "MISSED"
        if self.claim.figure and self.finding.verdict is Verdict.FAIL:
            return "NOT REPLICATED"
        return str(self.finding.verdict)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        claim = self.claim
        return {
            "id": claim.id,
            "says": claim.says,
            "source": claim.source,
            "control": claim.control,
            "rule": claim.rule.name if claim.rule else None,
            "promise": str(claim.promise) if claim.promise else None,
            "status": self.status,
            "finding": self.finding.as_dict() if self.finding else None,
            "command": self.command,
        }


def find_suites(name: str) -> dict[str, Suite]:
    """The suite of a name, or all of them."""
    points = installed("suites")
    if name == "all":
        return {key: points[key].load() for key in sorted(points)}
    return {name: look_up("suite", name, points).load()}


def remarks(name: str) -> tuple[str, str]:
    """What the suites' modules say at the top of the page: (what could not be confirmed, what else was found)."""
    modules = [inspect.getmodule(make) for make in find_suites(name).values()]
    said = (
        [getattr(module, part).strip() for module in modules if hasattr(module, part)]
        for part in ("UNCONFIRMED", "FOUND")
    )
    unconfirmed, found = ("\n".join(each) for each in said)
    return unconfirmed, found


def collect(name: str, rule: Rule | None, profile: str) -> list[Claim]:
    """The claims of a suite, or of all, in a profile."""
    return [claim for make in find_suites(name).values() for claim in make(rule) if profile in claim.profiles]


def share(rule: Rule | None, profile: str) -> float:
    """What each sampled check may spend: the budget over all suites' checks, whichever of them run now."""
    sampled = sum(claim.sampled and not claim.control for claim in collect("all", rule, profile))
    return BUDGET / max(sampled, 1)


def judge(
    claims: Iterable[Claim],
    setting: Setting,
    rule_text: str | None = None,
    progress: Callable[[str], None] = lambda claim: None,
) -> list[Entry]:
    """Check each claim; a sampled FAIL is looked at again on fresh seeds before it stands."""
    entries = []
    for claim in claims:
        progress(claim.id)
        finding = _finding(claim, setting) if claim.promised else None
        entries.append(Entry(claim, finding, repeat_command(claim, setting, rule_text)))
    return entries


def _finding(claim: Claim, setting: Setting) -> Finding:
    finding = claim.check(setting)
    if claim.sampled and not claim.control and finding.verdict is Verdict.FAIL:
        again = claim.check(replace(setting, seed=setting.seed + FRESH))
        return confirmed(finding, again)
    return finding


def repeat_command(claim: Claim, setting: Setting, rule_text: str | None) -> str:
    """The one command that repeats an entry."""
    words = [
        "dgtd",
        "suite",
        claim.suite,
        "--claim",
        claim.id,
        "--profile",
        setting.profile,
        "--seed",
        str(setting.seed),
    ]
    return shlex.join(words + (["--rule", rule_text] if rule_text else []))


def exit_code(entries: list[Entry]) -> int:
    """0 all pass, 1 a claim failed (or a control was missed), 3 inconclusive, 4 nothing ran. Figures don't count."""
    if not {entry.status for entry in entries} - {"NOT PROMISED"}:
        return NOTHING
    statuses = {entry.status for entry in entries if not entry.claim.figure}
    if statuses & {"FAIL", "MISSED"}:
        return FAILED
    return INCONCLUSIVE if "INCONCLUSIVE" in statuses else PASSED


def counts(entries: list[Entry]) -> str:
    """'12 PASS, 5 CAUGHT'."""
    order = ["PASS", "FAIL", "INCONCLUSIVE", "VACUOUS", "NOT REPLICATED", "NOT PROMISED", "CAUGHT", "MISSED"]
    found = [(status, sum(entry.status == status for entry in entries)) for status in order]
    return ", ".join(f"{count} {status}" for status, count in found if count)


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
    """One test case a claim: a FAIL is a failure, INCONCLUSIVE an error of type 'inconclusive', unpromised a skip."""
    failures = sum(entry.status in ("FAIL", "MISSED") for entry in entries)
    errors = sum(entry.status == "INCONCLUSIVE" and not entry.claim.figure for entry in entries)
    skipped = sum(entry.finding is None or _open_figure(entry) for entry in entries)
    totals = {"tests": len(entries), "failures": failures, "errors": errors, "skipped": skipped}
    suite = Element("testsuite", {"name": title, **{key: str(value) for key, value in totals.items()}})
    for entry in entries:
        case = SubElement(suite, "testcase", {"classname": entry.claim.suite, "name": entry.claim.id})
        words = entry.finding.words if entry.finding else "not promised by the rule"
        if entry.status in ("FAIL", "MISSED"):
            SubElement(case, "failure", {"message": words}).text = entry.command
        elif _open_figure(entry):
            SubElement(case, "skipped", {"message": f"{entry.status}: {words}"})
        elif entry.status == "INCONCLUSIVE":
            SubElement(case, "error", {"type": "inconclusive", "message": words}).text = entry.command
        elif entry.finding is None:
            SubElement(case, "skipped", {"message": words})
    return tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _open_figure(entry: Entry) -> bool:
    """A figure of the paper that our runs do not show: a finding, and no failure."""
    return entry.claim.figure and entry.status in ("INCONCLUSIVE", "NOT REPLICATED")


def span(finding: Finding) -> str:
    """The estimate, with its interval if it has one."""
    if finding.low == finding.high:
        return f"{finding.estimate:.3g}"
    return f"{finding.estimate:.3g} [{finding.low:.3g}, {finding.high:.3g}]"
