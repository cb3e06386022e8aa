"""`dgtd suite` and `dgtd explain`: claims, verdicts, and what is behind them."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from dgtd.algorithms.names import unknown
from dgtd.harness.commands.carry_out import progress
from dgtd.harness.commands.options import (
    INTERRUPTED,
    RESUME,
    AtMostText,
    UntilDecided,
    Where,
    path_option,
    runs_lanes,
)
from dgtd.harness.commands.output import (
    AsJson,
    aside,
    check_file,
    open_store,
    print_json,
    print_table,
    say,
    tell,
    tell_complaints,
)
from dgtd.harness.judging.claims import FINDINGS, Setting
from dgtd.harness.judging.conformance import examine, examine_suite
from dgtd.harness.judging.estimate import estimate
from dgtd.harness.judging.ledger import (
    Entry,
    Workshop,
    collect,
    counts,
    evidence_of,
    exit_code,
    find_suites,
    judge,
    needs_of,
    setting_for,
    suite_and_claim,
    tally,
)
from dgtd.harness.judging.looks import AtMost
from dgtd.harness.report.document import as_junit, as_markdown, check_document, draw_all, write_document
from dgtd.harness.runs.rule_files import reference, resolve

Junit = path_option("--junit", "Write JUnit XML to this file.")
Markdown = path_option("--markdown", "Write a Markdown table to this file, for a CI job's summary.")
Pictures = path_option("--pictures", "Draw a picture of every claim into this folder.")
Document = path_option(
    "--document", "Write a page of all claims with filters (.html), or a summary with its data (.md)."
)
RuleText = typer.Option(None, "--rule", help="Judge this rule: a name, or path/to/file.py:function.")
Profile = typer.Option("ci", "--profile", help="ci, full or paper: how hard to look.")
Seed = typer.Option(0, "--seed", help="Another seed, other points and lanes.")
Starts = typer.Option([], "--claim", help="Only the claims whose id starts so. May be given again.")


@runs_lanes
def suite(
    where: Where,
    name: str = typer.Argument(
        help="A suite, file.py:function, all, algorithms (all but instrument); or check and a suite."
    ),
    checked: str | None = typer.Argument(None, help="With check: the suite whose claims are looked at, and not run."),
    profile: str = Profile,
    rule: str | None = RuleText,
    seed: int = Seed,
    claim: list[str] = Starts,
    until_decided: bool = UntilDecided,
    at_most: str | None = AtMostText,
    junit: Path | None = Junit,
    markdown: Path | None = Markdown,
    document: Path | None = Document,
    pictures: Path | None = Pictures,
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would run and how long it may take, and stop."),
    as_json: bool = AsJson,
) -> int:
    """Check the claims of a suite. Exit codes: 0 all pass, 1 one failed, 3 inconclusive, 4 nothing ran, 5 an error."""
    if name == "check" and checked is not None:
        return tell_complaints(checked, examine_suite(checked), as_json)
    if checked is not None:
        raise ValueError(f"one suite at a time: what is {checked!r} behind {name!r}?")

    files = {"junit": junit, "markdown": markdown, "document": document}
    for option, path in files.items():  # said now, not after the suites have run
        check_file(option, path)
    if document is not None:
        check_document(document)
    given = [path.resolve() for path in files.values() if path is not None]
    if document is not None and document.suffix == ".md":
        given.append(document.resolve().with_suffix(".json"))
    if len(set(given)) < len(given):
        raise ValueError("junit, markdown and document must be different files")
    if pictures is not None and pictures.exists() and not pictures.is_dir():
        raise ValueError(f"pictures must name a folder, got the file {str(pictures)!r}")
    limit = AtMost.of(at_most, until_decided)
    setting, claims, judged = _claims(name, profile, rule, seed, claim)
    if until_decided and not any(claim.figure for claim in claims):
        raise ValueError("until_decided needs a question to decide: none of these claims is about a figure")
    if dry_run:
        return _dry_run(claims, setting, judged, where.store, as_json)
    make = where.make
    with open_store(where.store) as results, progress(f"{len(claims)} claims") as tick:
        workshop = Workshop(results, make, where.timeout, tick, aside)
        entries = judge(claims, setting, rule, workshop, judged, limit if until_decided else None)
    title = f"dgtd suite {name} ({profile})" + (f": {judged.name}" if judged else "")
    if junit:
        junit.write_text(as_junit(entries, title), encoding="utf-8")
    if markdown:
        markdown.write_text(as_markdown(entries, title), encoding="utf-8")
    if document:
        asked = {"profile": profile, "rule": rule, "seed": str(seed) if seed else None, "document": str(document)}
        given_words = [word for key, value in asked.items() if value for word in (f"--{key}", value)]
        given_words += [word for start in claim for word in ("--claim", start)] + limit.options * until_decided
        again, today = shlex.join(["dgtd", "suite", name, *given_words]), datetime.now(UTC).date()
        write_document(entries, document, again, today.isoformat())
    if pictures:
        with progress("pictures") as tick:
            draw_all(entries, pictures, tick)
    code = INTERRUPTED if len(entries) < len(claims) else exit_code(entries, until_decided)
    if code == INTERRUPTED:
        words = f"interrupted; {len(entries)} of {len(claims)} verdicts are decided, and {RESUME}"
        aside(words)
    if as_json:
        head = {"suite": name, "profile": profile, "seed": seed, "exit_code": code}
        print_json(head | {"claims": [e.as_dict() for e in entries]})
        return code
    _print_entries(entries, title, judged)
    sampled = sum(c.sampled and not (c.control or c.figure) for c in claims)
    figures = sorted({c.family for c in claims if c.figure})
    more = f"; {', '.join(figures)}: {FINDINGS:.0%} each, Holm within it" if figures else ""
    rates = f"{sampled} sampled check{'s' * (sampled != 1)} at {setting.false_alarm:.1e} each{more}; the rest is exact"
    tell(f"{counts(entries)} ({tally(entries)}). False alarm: {rates}.")
    _explain_failures(entries, judged)
    return code


def _print_entries(entries: list, title: str, judged: Any) -> None:
    """One table, or two: what is said of the user's own rule stands first."""
    own = [e for e in entries if _about(e.claim, judged)]
    others = [e for e in entries if not _about(e.claim, judged)]
    heads = (title, "the checks themselves: controls, and what holds of any rule") if own else ("", title)
    for head, some in zip(heads, (own, others), strict=True):
        if some:
            print_table(head, ["claim", "verdict", "evidence"], [[e.claim.id, e.status, e.words] for e in some])


def _about(claim: Any, judged: Any) -> bool:
    return judged is not None and claim.rule == judged and not claim.control


def _dry_run(claims: list, setting: Any, judged: Any, store: Path, as_json: bool) -> int:
    """What is needed, what is stored, and an estimate of the rest, from stored runs where there are some."""
    needs = [need for claim in claims if claim.promised for need in needs_of(claim, setting, judged)]
    with open_store(store) as results:
        found = estimate(needs, results)
    if as_json:
        print_json(found)
        return 0
    tell(
        f"{len(claims)} claims need {found['runs']} runs ({found['cohorts']} cohorts) and {found['jobs']} jobs; "
        f"{found['missing_cohorts']} cohorts and {found['missing_jobs']} jobs are not stored"
    )
    say(f"estimated: {found['core_hours']:.2g} core-hours ({found['basis']})")
    return 0


def _claims(name: str, profile: str, rule: str | None, seed: int, starts: list[str]) -> tuple[Any, list, Any]:
    Setting(profile, seed)  # refuses a wrong profile or seed before anything is loaded
    judged = None if rule is None else resolve(reference(rule))
    claims = collect(name, judged, profile)
    for start in starts:
        if not any(c.id.startswith(start) for c in claims):
            raise unknown("claim", start, [c.id for c in claims])
    claims = [c for c in claims if c.id.startswith(tuple(starts) or "")]
    claims.sort(key=lambda claim: not _about(claim, judged))  # in every format; the order decides no number
    return setting_for(judged, profile, seed), claims, judged


def _explain_failures(entries: list, judged: Any) -> None:
    failed = [e for e in entries if e.status in ("FAIL", "MISSED", "INCONCLUSIVE", "ERROR")]
    if not failed:
        return
    say("")
    for entry in failed[:5]:
        tell(f"{entry.status}  {entry.claim.says}")
        say(f"  again: {entry.command}")
    if len(failed) > 5:
        say(f"… and {len(failed) - 5} more")
    if judged is not None:
        for complaint in examine(judged):
            tell(f"what is wrong with {judged.name} ({complaint.check}): {complaint.words}")


@runs_lanes
def explain(
    where: Where,
    claim: str = typer.Argument(help="A claim's id, or what several begin with; file.py:function/ID of your own."),
    profile: str = Profile,
    rule: str | None = RuleText,
    seed: int = Seed,
    until_decided: bool = UntilDecided,
    at_most: str | None = AtMostText,
    as_json: bool = AsJson,
) -> int:
    """The evidence of claims, and what would turn their verdicts round. Stored evidence is not computed again."""
    limit = AtMost.of(at_most, until_decided)
    name, start = suite_and_claim(claim)
    find_suites(name)
    setting, claims, judged = _claims(name, profile, rule, seed, [])
    equal = [each for each in claims if each.id == start]
    chosen = equal or [each for each in claims if each.id.startswith(start)]
    if not chosen:
        raise unknown("claim", start, [each.id for each in claims])
    make = where.make
    with open_store(where.store) as results:
        workshop = Workshop(results, make, where.timeout, say=aside)
        entries = judge(chosen, setting, rule, workshop, judged, limit if until_decided else None)
    if len(entries) < len(chosen):
        return INTERRUPTED
    if as_json:
        found = [each.as_dict() | {"evidence": evidence_of(each.claim, setting, judged)} for each in entries]
        print_json(found[0] if equal else found)
        return exit_code(entries, until_decided)
    if not equal:
        tell(f"no claim is {start!r}; {len(entries)} begin so\n" if start else f"{len(entries)} claims\n")
    for entry in entries:
        _explain(entry, setting, judged)
    return exit_code(entries, until_decided)


def _false_alarm(entry: Entry) -> str:
    assert entry.finding is not None
    if not entry.claim.sampled:
        return "none: nothing is sampled"
    of = f", of {FINDINGS:.0%} for {entry.claim.family} together (Holm)" if entry.claim.figure else ""
    return f"{entry.finding.false_alarm:.1e}{of}"


def _explain(entry: Entry, setting: Setting, judged: Any) -> None:
    finding = entry.finding
    tell(f"{entry.status}: {entry.claim.says}\nsource: {entry.claim.source}")
    if finding is None:
        tell(entry.words)
        return
    rows = [
        ["evidence", finding.words],
        ["where it comes from", evidence_of(entry.claim, setting, judged)],
        ["estimate", f"{finding.estimate:.6g}"],
        ["interval", f"{finding.low:.6g} … {finding.high:.6g}" if finding.low != finding.high else "none: one number"],
        ["margin", f"{finding.margin:.6g}"],
        ["data", f"n = {finding.n}" if entry.claim.sampled else "exact: nothing is sampled"],
        ["false alarm", _false_alarm(entry)],
        ["smallest effect seen", "" if finding.detectable is None else f"{finding.detectable:.3g}"],
        ["seeds still needed", "none" if finding.needed is None else str(finding.needed)],
        ["what would flip it", finding.flips],
        *([key, str(value)] for key, value in finding.evidence.items()),
        ["again", entry.command],
    ]
    print_table("", ["", ""], rows)
