"""Comparisons of planted lanes: what is counted, and who may be called a winner."""

from __future__ import annotations

import numpy as np

from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from suites.machinery.cases import all_hold, exact
from suites.machinery.contests import BASE, GTD2, GTD2_LAW, TDC, TDC_LAW, contest, weighed, winner


def claims() -> list[Claim]:
    """Pairs of lanes, many tests, spread."""
    return [
        exact(
            "compare/winner",
            "the lower curve wins, whoever is named first, and a difference in the last digits is none",
            "definitions",
            lower_curves_win,
        ),
        exact(
            "compare/diverged",
            "a lane that diverged counts as infinity in every number, however finite it still is",
            "definitions",
            diverged_lanes_lose,
        ),
        exact(
            "compare/holm",
            "a winner's p-value is corrected for all tests of the command: six lanes decide one test and not two",
            "Holm 1979",
            all_tests_are_corrected,
        ),
        exact(
            "compare/spread",
            "the spread of a distributional rule is compared with that of the same rule on values",
            "definitions",
            spread_is_against_values,
        ),
    ]


def lower_curves_win(setting: Setting) -> Finding:
    """Lanes lie far apart and rules close together: only pairs of equal seeds can tell."""
    spread = 1000 * BASE
    return all_hold([
        ("the first is lower", winner(spread, spread + 0.01 * BASE) == "GTD2"),
        ("the second is lower", winner(spread, spread - 0.01 * BASE) == "TDC"),
        ("both are the same", winner(spread, spread) is None),
        ("the first differs in the last digits", winner(BASE, BASE * (1 + 1e-13)) is None),
        ("the second differs in the last digits", winner(BASE * (1 + 1e-13), BASE) is None),
        ("half of the lanes are lower", winner(BASE, BASE + np.array([1, -1] * 4) * BASE / 9) is None),
    ])  # fmt: skip


def diverged_lanes_lose(setting: Setting) -> Finding:
    """TDC's lanes are lower, and none, one or all of them diverged: one of eight leaves nobody ahead."""
    made, cases = contest(GTD2, TDC), []
    heights = {("boyan", GTD2): BASE, ("boyan", TDC): BASE - 0.5}
    for lost, expected in (((), "TDC"), ((2,), None), (range(8), "GTD2")):
        found = weighed(made, heights, lost, TDC)
        numbers = found.entries[1].numbers("rmspbe")
        infinite = [[seed for seed in range(8) if np.isinf(numbers[name][seed])] for name in ("final", "auc")]
        cases.append((f"{len(lost)} lanes are infinite", infinite == [list(lost)] * 2))
        cases.append((f"{len(lost)} lanes and the winner", found.winner("boyan", "rmspbe", "auc") == expected))
    return all_hold(cases)


def all_tests_are_corrected(setting: Setting) -> Finding:
    """All lanes agree, so that p = 2/2ⁿ before the correction; on other problems the rules are the same."""
    cases = []
    for lanes, problems in ((5, 1), (6, 1), (6, 2), (7, 2)):
        names = ("boyan", "random_walk")[:problems]
        heights = {(name, who): BASE[:lanes] for name in names for who in (GTD2, TDC)}
        heights["boyan", TDC] = 2 * BASE[:lanes]
        found = weighed(contest(GTD2, TDC, seeds=lanes, problems=names), heights)
        duel, p = found.duel("boyan", GTD2, TDC), problems * 2 / 2**lanes
        wins = found.winner("boyan", "rmspbe", "auc") == ("GTD2" if p < 0.05 else None)
        cases.append((f"{lanes} lanes on {problems} problems: p = {duel.p:.4f}", bool(np.isclose(duel.p, p)) and wins))
    return all_hold(cases)


def spread_is_against_values(setting: Setting) -> Finding:
    """GTD2's laws move half as far as its values, TDC's three times as far: variances ¼ and 9 times as large."""
    scale = {GTD2: 1.0, TDC: 10.0, GTD2_LAW: 0.5, TDC_LAW: 30.0}
    found = weighed(contest(*scale), {("boyan", who): factor * BASE for who, factor in scale.items()})
    cases = []
    for entry in found.entries:
        expected = {GTD2_LAW: 0.25, TDC_LAW: 9.0}.get(entry.who)
        ratios = [ratio.ratio.estimate for ratio in entry.spread.values()]
        right = ratios == [] if expected is None else len(ratios) == 2 and np.allclose(ratios, expected)
        cases.append((f"{entry.who.label}", bool(right)))
    return all_hold(cases)
