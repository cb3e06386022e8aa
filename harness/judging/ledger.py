"""The ledger: every claim with its verdict, its evidence, and the command that repeats it."""

import functools
import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from dgtd.algorithms.names import look_up
from dgtd.algorithms.rule import Rule
from dgtd.harness.judging.claims import BUDGET, Claim, Need, Setting, Suite
from dgtd.harness.judging.looks import AtMost, Looks, declarations, findings
from dgtd.harness.judging.verdicts import Finding, Verdict, confirmed
from dgtd.harness.plugins import answering, from_file, installed, is_file, source_of
from dgtd.harness.runs.driver import Summary, execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import Outcome, Request
from dgtd.harness.runs.store import LaneError, Store
from dgtd.harness.runs.work import Job, package_of

FRESH = 1_000_003  # added to the seed where an alarm is looked at again
INSTRUMENT = "instrument"  # the suite that calibrates the harness itself
ALARMS = ("FAIL", "NOT REPLICATED")
STATUSES = (
    "PASS", "FAIL", "INCONCLUSIVE", "VACUOUS", "NOT REPLICATED", "NO DIFFERENCE", "NOT PROMISED", "CAUGHT", "MISSED",
    "ERROR",
)  # fmt: skip

PASSED, FAILED, INCONCLUSIVE, NOTHING, BROKEN = 0, 1, 3, 4, 5


@dataclass(frozen=True)
class Entry:
    """A line of the ledger. `finding` is None where the rule did not promise the claim, and where a check raised."""

    claim: Claim
    finding: Finding | None
    command: str
    error: str = ""
    seconds: float = 0.0  # of its runs and jobs, whoever else needed them and whenever they were run

    @property
    def words(self) -> str:
        """The evidence in words, or why there is none."""
        return self.finding.words if self.finding else self.error or "not promised by the rule"

    @property
    def evidence(self) -> str:
        """In words, with the seeds that it would take to decide what is open."""
        needed = self.finding.needed if self.finding else None
        return f"{self.words}; about {needed} seeds would tell" if needed else self.words

    @property
    def status(self) -> str:
        if self.error:
            return "ERROR"
        if self.finding is None:
            return "NOT PROMISED"
        if self.claim.control:
            return "CAUGHT" if self.finding.verdict is Verdict.FAIL else "MISSED"
        if self.claim.figure and self.finding.verdict is Verdict.FAIL:
            return "NOT REPLICATED"
        if self.finding.verdict is Verdict.SMALL and not self.claim.figure:
            return str(Verdict.INCONCLUSIVE)
        return str(self.finding.verdict)

    def as_dict(self) -> dict[str, Any]:
        claim = self.claim
        return {name: getattr(claim, name) for name in ("id", "says", "source", "control", "sampled")} | {
            "rule": claim.rule.name if claim.rule else None,
            "promise": str(claim.promise) if claim.promise else None,
            "status": self.status,
            "finding": self.finding.as_dict() if self.finding else None,
            "error": self.error,
            "command": self.command,
        }


def find_suites(name: str) -> dict[str, Suite]:
    """The suite of a name or of a user's file, all that are installed, or all of them that are about algorithms."""
    points = installed("suites")
    if name in ("all", "algorithms"):
        return {key: _loaded(key) for key in sorted(points) if name == "all" or key != INSTRUMENT}
    if not is_file(name):
        look_up("suite", name, points)
    return {name: _loaded(name)}


def _loaded(name: str) -> Suite:
    """A suite, whose errors name it."""
    own = is_file(name)
    with answering(f"suite {name!r}"):
        suite: Suite = from_file("suite", name) if own else installed("suites")[name].load()

    @functools.wraps(suite)
    def claims(rule: Rule | None) -> list[Claim]:
        with answering(f"suite {name!r}"):
            return [replace(claim, file=name) for claim in suite(rule)] if own else suite(rule)

    return claims


def suite_and_claim(text: str) -> tuple[str, str]:
    """`rates/boyan/gtd2` is of the suite `rates`; behind a user's `file.py:function/` stands an id of its own."""
    match = re.match(r"(?P<suite>.+\.py:\w+)(/(?P<claim>.*))?$", text)
    return (match["suite"], match["claim"] or "") if match else (text.split("/")[0], text)


def collect(name: str, rule: Rule | None, profile: str) -> list[Claim]:
    """The claims of a suite, or of all, in a profile."""
    return [claim for make in find_suites(name).values() for claim in make(rule) if profile in claim.profiles]


def share(rule: Rule | None, profile: str) -> float:
    """What each sampled check of theory may spend: the budget over all suites' checks, whichever of them run now."""
    sampled = sum(claim.sampled and not (claim.control or claim.figure) for claim in collect("all", rule, profile))
    return BUDGET / max(sampled, 1)


def setting_for(rule: Rule | None, profile: str, seed: int) -> Setting:
    """One setting for the command line and for pytest: the share does not depend on which claims are asked for."""
    Setting(profile, seed)  # refuses a wrong profile or seed before anything is loaded
    figures = Counter(claim.family for claim in collect("all", rule, profile) if claim.figure)
    return Setting(profile, seed, share(rule, profile), figures)


def exact_finding(
    suite: str, claim: str, profile: str, seed: int, rule: Rule | None = None, source: str = ""
) -> dict[str, Any]:
    """What a worker does for an exact claim: find it again, by name, and check it. `source`: of a user's file."""
    if source and source != source_of(suite):
        raise ValueError(f"suite {suite!r} has changed since its claims were collected")
    (found,) = [each for each in find_suites(suite)[suite](rule) if each.id == claim]
    assert found.check is not None
    return found.check(Setting(profile, seed)).as_dict()


def needs_of(claim: Claim, setting: Setting, judged: Rule | None) -> list[Need]:
    """Runs and jobs of a claim; an exact one is a job of its own."""
    if claim.needs is not None:
        return list(claim.needs(setting))
    rule = None if judged is None else reference_of(judged)
    made = installed("suites")
    module = made[claim.suite].value.split(":")[0] if claim.suite in made else __name__
    seed = setting.seed if claim.seeded else 0
    source: dict[str, Any] = {"source": source_of(claim.file)} if claim.file else {}
    job = Job.of(exact_finding, rule, suite=claim.suite, claim=claim.id, profile=setting.profile, seed=seed, **source)
    return [replace(job, package=package_of(module))]


def evidence_of(claim: Claim, setting: Setting, judged: Rule | None) -> str:
    """In words, what a claim rests on: what is sampled, how much of it, and from which seed."""
    needs = needs_of(claim, setting, judged)
    if not claim.sampled:
        return "computed exactly, nothing is sampled"
    requests, jobs = _sorted(needs)
    lanes = f"{len(requests)} runs of {max(r.seeds for r in requests)} lanes" if requests else ""
    made = ", ".join(sorted({job.function.split(":")[1] for job in jobs}))
    parts = [lanes, f"{len(jobs)} jobs ({made})" if jobs else ""]
    return f"sampled: {' and '.join(part for part in parts if part)}, root seed {setting.seed}"


@dataclass(frozen=True)
class Workshop:
    """Where evidence is stored and who makes it."""

    store: Store
    make: Callable[[], Executor] = InProcess
    timeout: float | None = None
    progress: Callable[[int, int], None] = lambda done, total: None
    say: Callable[[str], None] = lambda words: None

    def gather(self, needs: Iterable[Need]) -> Summary:
        """Run what is missing, each need once."""
        requests, jobs = _sorted(needs)
        return execute(requests, self.store, self.make, jobs=jobs, timeout=self.timeout, progress=self.progress)

    def seconds(self, needs: Iterable[Need]) -> float:
        requests, jobs = _sorted(needs)
        lanes = sum(self.store.seconds(run_hash(request.spec), request.seeds) for request in requests)
        return lanes + sum(self.store.seconds(job.hash) for job in jobs)

    def evidence(self, need: Need) -> Any:
        """The lanes of a run, or the result of a job; LaneError if it failed, KeyError if it is not there."""
        if isinstance(need, Job):
            return self.store.result(need)
        return self.store.settled_lanes(need.spec, need.seeds)


def _sorted(needs: Iterable[Need]) -> tuple[list[Request], list[Job]]:
    listed = list(needs)
    return [each for each in listed if isinstance(each, Request)], [each for each in listed if isinstance(each, Job)]


def judge(
    claims: Iterable[Claim], setting: Setting, rule_text: str | None = None, workshop: Workshop | None = None,
    judged: Rule | None = None, until: AtMost | None = None,
) -> list[Entry]:  # fmt: skip
    """Gather the evidence of all claims, then judge each; a sampled FAIL is looked at again before it stands.

    Claims whose evidence is not there, because somebody interrupted, have no entry. With `until`, what is said of
    figures is judged with more and more lanes, until it is decided.
    """
    listed = list(claims)
    if workshop is None:
        with Store(":memory:") as store:
            return judge(listed, setting, rule_text, Workshop(store), judged, until)
    commands = {claim.id: repeat_command(claim, setting, rule_text, until) for claim in listed}
    entries = {claim.id: Entry(claim, None, commands[claim.id]) for claim in listed if not claim.promised}

    def judged_at(some: list[tuple[Claim, Setting]]) -> dict[str, str]:
        needs = {claim.id: needs_of(claim, at, judged) for claim, at in some}
        workshop.gather(need for each in needs.values() for need in each)
        there = [(claim, at) for claim, at in some if not _unfinished(workshop, needs[claim.id])]
        found = {each.id: _entry(each, at, needs[each.id], workshop, commands[each.id]) for each, at in there}
        for id_ in needs:  # what an earlier look said of a claim that was interrupted is no verdict
            entries.pop(id_, None)
        entries.update(found)
        return {id_: entry.status for id_, entry in found.items()}

    figures = [claim for claim in listed if claim.figure]
    looks = dict.fromkeys((claim.id for claim in figures), Looks())
    begun = time.monotonic()

    def may(some: list[Claim], look: int) -> bool:
        """Whether there is time for it: it takes as long as all looks before it took, or nothing if it is stored."""
        before, then = (
            [n for c in some for n in needs_of(c, replace(setting, look=k), judged)] for k in (look - 1, look)
        )
        took = workshop.seconds(dict.fromkeys(before)) if _unfinished(workshop, then) else 0.0
        if until is not None and until.seconds is not None and time.monotonic() - begun + took > until.seconds:
            return False
        workshop.say(f"look {look} leaves {len(some)} open: once more, with twice the seeds")
        return True

    if until is not None:
        setting = replace(setting, most=until.seeds)
        looks = {claim.id: Looks.of(claim, setting, lambda each, at: needs_of(each, at, judged)) for claim in figures}
        first = {claim.id: (looks[claim.id], needs_of(claim, setting, judged)) for claim in figures}
        workshop.gather(declarations(first, workshop.store))
    judged_at([(claim, setting) for claim in listed if claim.promised and not claim.figure])
    findings(figures, setting, judged_at, looks, may)
    open_to_doubt = (c for c in listed if c.sampled and c.confirm and not (c.control or c.figure))
    doubtful = [claim for claim in open_to_doubt if claim.id in entries and entries[claim.id].status in ALARMS]
    once = {claim.id: entries.pop(claim.id).finding for claim in doubtful}
    judged_at([(claim, replace(setting, seed=setting.seed + FRESH)) for claim in doubtful])
    for id_, alarm in once.items():
        again = entries[id_].finding if id_ in entries else None
        if alarm is not None and again is not None:
            entries[id_] = replace(entries[id_], finding=confirmed(alarm, again))
    return [entries[claim.id] for claim in listed if claim.id in entries]


def _unfinished(workshop: Workshop, needs: list[Need]) -> bool:
    """Whether something is neither stored nor known to have failed."""
    try:
        for need in needs:
            workshop.evidence(need)
    except LaneError as error:
        return error.outcome is Outcome.INTERRUPTED
    except KeyError:
        return True
    return False


def _entry(claim: Claim, setting: Setting, needs: list[Need], workshop: Workshop, command: str) -> Entry:
    took = workshop.seconds(needs)
    try:
        evidence = [workshop.evidence(need) for need in needs]
        found = Finding.of(evidence[0]) if claim.judge is None else claim.judge(evidence, setting)
        return Entry(claim, found, command, seconds=took)
    except Exception as error:  # one broken check must not cost the ledger
        return Entry(claim, None, command, f"{type(error).__name__}: {error}", took)


def repeat_command(claim: Claim, setting: Setting, rule_text: str | None, until: AtMost | None = None) -> str:
    """The one command that repeats an entry."""
    options = {"claim": claim.id, "profile": setting.profile, "seed": str(setting.seed)}
    if rule_text:
        options["rule"] = rule_text
    words = [word for key in options for word in (f"--{key}", options[key])]
    return shlex.join(["dgtd", "suite", claim.suite, *words, *(until.options if until and claim.figure else [])])


def exit_code(entries: list[Entry], until_decided: bool = False) -> int:
    """0 all pass, 1 a claim failed (or a control was missed), 3 inconclusive, 4 nothing ran, 5 a check raised.

    What is said of the paper's figures is a finding, and sets none of them: but what was to be decided and is not.
    """
    if not {entry.status for entry in entries} - {"NOT PROMISED"}:
        return NOTHING
    if any(entry.error for entry in entries):
        return BROKEN
    statuses = {entry.status for entry in entries if until_decided or not entry.claim.figure}
    if statuses & {"FAIL", "MISSED"}:
        return FAILED
    return INCONCLUSIVE if "INCONCLUSIVE" in statuses else PASSED


def tally(entries: list[Entry]) -> str:
    """Theory and figures apart: 'theory: 354 of 354 hold; the paper's figures: 2 held, 1 did not, 3 undecided'."""
    theory = [e for e in entries if not (e.claim.figure or e.claim.control or e.status == "NOT PROMISED")]
    held = sum(entry.status in ("PASS", "VACUOUS") for entry in theory)
    own = sum(entry.claim.suite == INSTRUMENT for entry in theory)
    of_it = f" ({len(theory) - own} on algorithms, {own} on the instrument)" if 0 < own < len(theory) else ""
    said = [f"theory: {held} of {len(theory)} hold{of_it}"] if theory else []
    if figures := Counter(entry.status for entry in entries if entry.claim.figure):
        words = {"PASS": "held", "NOT REPLICATED": "did not", "NO DIFFERENCE": "no difference that matters",
                 "INCONCLUSIVE": "undecided", "ERROR": "raised"}  # fmt: skip
        found = ", ".join(f"{figures[status]} {word}" for status, word in words.items() if figures[status])
        said.append(f"the paper's statements about figures: {found}")
    return "; ".join(said)


def counts(entries: list[Entry]) -> str:
    """'12 PASS, 5 CAUGHT'."""
    found = [(status, sum(entry.status == status for entry in entries)) for status in STATUSES]
    return ", ".join(f"{count} {status}" for status, count in found if count)
