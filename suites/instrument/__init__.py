"""The instrument: engines take the steps of the algorithm, lanes follow their expectation, the oracle is exact."""

from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2, tdrc
from dgtd.harness.judging.claims import Claim
from dgtd.suites.instrument import curves, exact, lifts, steps

RULES = (gtd2, tdrc(0.5))  # together they use every term: u or δ on f, curvature, w's decay


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about two of ours; what is said of the oracle holds for any rule."""
    made: list[Claim] = []
    for each in (rule,) if rule else RULES:
        made += [*steps.of(each), *([curves.curve(each)] if each.linear else [])]
    return [*made, *steps.controls(), curves.other_step(gtd2), *exact.claims(), *lifts.claims()]
