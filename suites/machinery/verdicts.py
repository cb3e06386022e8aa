"""From numbers to verdicts: each on planted numbers, at its margin and beyond."""

from __future__ import annotations

from itertools import product

import numpy as np

from harness.judging.claims import Claim, Setting
from harness.judging.statistics import Interval, Sprt
from harness.judging.verdicts import Finding, Verdict, agrees, below, confirmed, exactly, seldom, unlikely
from suites.machinery.cases import all_hold, exact

PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def claims() -> list[Claim]:
    """Exact checks, intervals, sequential tests, second looks, certificates against lanes."""
    return [
        exact(
            "verdicts/exact",
            "an exact check passes up to its margin, and never on a number that is none",
            "definitions",
            margins_are_kept,
        ),
        exact(
            "verdicts/below",
            "an interval passes if all of it is at most the margin, fails if all of it is above, else is inconclusive",
            "definitions",
            whole_intervals_decide,
        ),
        exact(
            "verdicts/seldom",
            "a sequential test that has not decided is inconclusive, and says how many lanes it needs",
            "Wald 1945",
            open_tests_are_open,
        ),
        exact(
            "verdicts/confirmed",
            "a failure stands only if fresh seeds fail too, and its false-alarm rate is the product of both",
            "definitions",
            second_looks_decide,
        ),
        exact(
            "verdicts/contradiction",
            "lanes contradict a certificate if it says stable and some are lost, or diverging and some are not",
            "definitions",
            certificates_are_contradicted,
        ),
    ]


def margins_are_kept(setting: Setting) -> Finding:
    """Numbers just below, at and just above two margins; NaN and infinity; the same for checks in lanes."""
    cases = []
    for margin in (0.5, -0.95):
        numbers = [(np.nextafter(margin, -1), PASS), (margin, PASS), (np.nextafter(margin, 1), FAIL)]
        for number, verdict in [*numbers, (np.nan, FAIL), (np.inf, FAIL)]:
            found = exactly(number, margin, ""), agrees(number, margin, setting, 16, "")
            cases.append((f"{number} against {margin}", [each.verdict for each in found] == [verdict] * 2))
    for p, verdict in ((0.01, FAIL), (0.0101, PASS), (np.nan, FAIL)):
        cases.append((f"a p-value of {p} at 0.01", unlikely(p, 0.01, 9, "").verdict is verdict))
    return all_hold(cases)


def whole_intervals_decide(setting: Setting) -> Finding:
    """Every interval of low ≤ estimate ≤ high among five numbers, against a margin of 0."""
    cases = []
    for low, estimate, high in product((-np.inf, -1.0, 0.0, 1.0, np.inf), repeat=3):
        if not low <= estimate <= high or not np.isfinite(estimate):
            continue
        expected = PASS if high <= 0 else FAIL if low > 0 else INCONCLUSIVE
        found = below(Interval(estimate, low, high, 9), 0.0, 0.01, "")
        cases.append((f"{estimate} in [{low}, {high}]", found.verdict is expected))
    broken = below(Interval(np.nan, np.nan, np.nan, 9), 0.0, 0.01, "")
    return all_hold([*cases, ("an interval that is none", broken.verdict is INCONCLUSIVE)])


def open_tests_are_open(setting: Setting) -> Finding:
    """One failure weighs log 5, a clean lane log(5/9); FAIL is at log 18, PASS at log(2/19), all by hand."""
    test = Sprt(good=0.1, bad=0.5, false_alarm=0.05, miss=0.1, most=8)
    cases = []
    for shown, verdict, used, needed in (
        ("xx......", FAIL, 2, None),
        ("........", PASS, 4, None),
        ("...", INCONCLUSIVE, 3, 4),
        ("x......", INCONCLUSIVE, 7, 4),
        ("x.......", PASS, 8, None),
        ("x.x.x...", FAIL, 5, None),
    ):
        found = seldom(test, [each == "x" for each in shown], "")
        share = shown[:used].count("x") / used
        right = (found.verdict, found.n, found.needed, found.estimate) == (verdict, used, needed, share)
        cases.append((f"lanes {shown}", right))
    return all_hold(cases)


def second_looks_decide(setting: Setting) -> Finding:
    """A first FAIL, and every verdict that fresh seeds can give."""
    cases = []
    for again in Verdict:
        first, second = planted(FAIL, 0.01), planted(again, 0.02)
        found = confirmed(first, second)
        expected = FAIL if again is FAIL else INCONCLUSIVE
        right = found.verdict is expected and np.isclose(found.false_alarm, 0.01 * 0.02)
        cases.append((f"FAIL, and then {again}", bool(right)))
    return all_hold(cases)


def planted(verdict: Verdict, false_alarm: float) -> Finding:
    """A finding with nothing behind it."""
    return Finding(verdict, 0.0, 0.0, 0.0, 0.0, 16, false_alarm, "", "")


def certificates_are_contradicted(setting: Setting) -> Finding:
    """Each class of certificate with no, half and all lanes lost."""
    from suites.stability.lanes import contradicts

    expected = {
        "stable": (False, True, True),
        "diverging": (True, True, False),
        "heavy-tailed": (False, False, False),
        "marginal": (False, False, False),
    }
    cases = []
    for kind, answers in expected.items():
        for share, answer in zip((0.0, 0.5, 1.0), answers, strict=True):
            cases.append((f"{kind} with {share:.0%} of lanes lost", contradicts(kind, share) is answer))
    return all_hold(cases)
