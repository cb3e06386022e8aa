"""Proposition 2: the averaged, projected linear iterate has Err = O(n^-½). With the step and the bound corrected."""

from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.harness.judging.claims import Claim
from dgtd.suites.rates import draws, expected, noise, parts, sampled, tails


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about GTD2; Mirror-Prox, the bound and the controls are about GTD2's field."""
    each = rule or gtd2
    made = [*sampled.claims(each), *expected.claims(each), *parts.claims(each)]
    return [*made, *noise.claims(each), *draws.claims(), tails.gaussian(), *tails.claims()]
