"""The ledger's own decisions: what is looked at twice, what a control says, who is judged, which exit code."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from algorithms.rule import Promise
from algorithms.rules import td
from harness.judging.claims import BUDGET, PROFILES, Claim, Setting
from harness.judging.ledger import Entry, collect, exit_code, judge, share
from harness.judging.verdicts import Finding, Verdict
from suites.machinery.cases import all_hold, exact
from suites.machinery.verdicts import FAIL, INCONCLUSIVE, PASS, planted

SEED = 5


def claims() -> list[Claim]:
    """Second looks, controls, promises, exit codes, the budget."""
    return [
        exact(
            "ledger/fresh-seeds",
            "a sampled failure is looked at once more, on other seeds, and stands only if it fails there too",
            "definitions",
            failures_are_looked_at_again,
        ),
        exact(
            "ledger/statuses",
            "a control that passes is MISSED, and a figure that fails is NOT REPLICATED",
            "definitions",
            statuses_are_said,
        ),
        exact(
            "ledger/promises",
            "a claim that its rule did not promise is not judged",
            "definitions",
            promises_decide,
        ),
        exact(
            "ledger/exit-codes",
            "a failed claim and a missed control set exit code 1, an open claim 3, nothing 4, an error 5",
            "definitions",
            codes_are_set,
        ),
        exact(
            "ledger/budget",
            "the shares of all sampled checks of all suites add up to the false-alarm budget",
            "Bonferroni",
            shares_add_up,
        ),
    ]


# ---------------------------------------------------------------------- a second look


def failures_are_looked_at_again(setting: Setting) -> Finding:
    """Claims that fail at the first look alone, at every look, or never; and a control that fails."""
    cases = []
    for name, fails_first, fails_later, control, looks, status in (
        ("never", False, True, False, 1, "PASS"),
        ("once", True, False, False, 2, "INCONCLUSIVE"),
        ("always", True, True, False, 2, "FAIL"),
        ("control", True, False, True, 1, "CAUGHT"),
    ):
        seeds, found = looked_at(fails_first, fails_later, control)
        right = (len(seeds), len(set(seeds)), seeds[0], found) == (looks, looks, SEED, status)
        cases.append((f"a claim that fails: {name}; seeds {seeds}, {found}", right))
    return all_hold(cases)


def looked_at(fails_first: bool, fails_later: bool, control: bool) -> tuple[list[int], str]:
    """The seeds at which a claim was judged, in order, and its status. It needs no runs, so that nothing is sampled."""
    seeds: list[int] = []

    def verdict(evidence: list[object], setting: Setting) -> Finding:
        seeds.append(setting.seed)
        fails = fails_first if setting.seed == SEED else fails_later
        return planted(FAIL if fails else PASS, setting.false_alarm)

    claim = Claim("planted/claim", "", "", needs=lambda setting: [], judge=verdict, control=control)
    (entry,) = judge([claim], Setting("ci", SEED, 0.01))
    return seeds, entry.status


# ---------------------------------------------------------------------- what an entry says


def entry_of(verdict: Verdict | None, control: bool = False, figure: bool = False, error: str = "") -> Entry:
    """A line of the ledger with nothing behind it."""
    claim = Claim("planted/claim", "", "", check=never_asked, control=control, figure=figure)
    return Entry(claim, None if verdict is None else planted(verdict, 0.0), "", error)


def never_asked(setting: Setting) -> Finding:
    """The check of a claim that is not to be judged."""
    raise AssertionError("a claim was judged that was not to be")


def statuses_are_said(setting: Setting) -> Finding:
    """Every verdict of a claim, a control and a figure."""
    cases = []
    for verdict, control, figure in product(Verdict, (False, True), (False, True)):
        expected = str(verdict)
        if control:
            expected = "CAUGHT" if verdict is FAIL else "MISSED"
        elif figure and verdict is FAIL:
            expected = "NOT REPLICATED"
        kind = "a control" if control else "a figure" if figure else "a claim"
        cases.append((f"{kind} with {verdict}", entry_of(verdict, control, figure).status == expected))
    cases.append(("no finding", entry_of(None).status == "NOT PROMISED"))
    return all_hold([*cases, ("a check that raised", entry_of(None, error="it raised").status == "ERROR")])


def promises_decide(setting: Setting) -> Finding:
    """Of semi-gradient TD: claims about each thing that a rule can promise."""
    cases = []
    for promise in Promise:
        claim = Claim("planted/claim", "", "", needs=lambda s: [], judge=passes, rule=td, promise=promise)
        expected = ["PASS" if promise in td.promises else "NOT PROMISED"]
        cases.append((f"{td.name} and {promise}", statuses([claim]) == expected))
    return all_hold([*cases, ("there is a promise that it does not make", len(td.promises) < len(Promise))])


def passes(evidence: list[object], setting: Setting) -> Finding:
    """A judge that has nothing against a claim."""
    return planted(PASS, setting.false_alarm)


def statuses(listed: Iterable[Claim]) -> list[str]:
    """What the ledger says of claims; a claim that can't be judged is an error."""
    try:
        return [entry.status for entry in judge(listed, Setting("ci", SEED, 0.01))]
    except (KeyError, AssertionError) as error:
        return [f"raised {type(error).__name__}"]


# ---------------------------------------------------------------------- codes and budget


def codes_are_set(setting: Setting) -> Finding:
    """Entries alone and together; what is said of figures sets no code."""
    fine, caught = entry_of(PASS), entry_of(FAIL, control=True)
    failed, missed, open_ = entry_of(FAIL), entry_of(PASS, control=True), entry_of(INCONCLUSIVE)
    figures = [entry_of(verdict, figure=True) for verdict in (FAIL, INCONCLUSIVE)]
    broken, unpromised = entry_of(None, error="it raised"), entry_of(None)
    return all_hold([
        ("all is well", exit_code([fine, caught, *figures, unpromised]) == 0),
        ("a claim failed", exit_code([fine, failed, open_]) == 1),
        ("a control was missed", exit_code([fine, missed, open_]) == 1),
        ("a claim is open", exit_code([fine, caught, open_]) == 3),
        ("nothing was promised", exit_code([unpromised]) == 4),
        ("nothing ran", exit_code([]) == 4),
        ("a check raised", exit_code([fine, failed, broken]) == 5),
    ])  # fmt: skip


def shares_add_up(setting: Setting) -> Finding:
    """In every profile: the share times the sampled checks that are no controls."""
    cases = []
    for profile in PROFILES:
        each = share(None, profile)
        sampled = [claim for claim in collect("all", None, profile) if claim.sampled and not claim.control]
        total = sum(each for _ in sampled)
        cases.append((f"profile {profile}", len(sampled) > 1 and bool(np.isclose(total, BUDGET))))
    return all_hold(cases)
