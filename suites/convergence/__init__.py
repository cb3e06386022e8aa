"""Theorem 2: with two-timescale Robbins–Monro steps, distributional GTD2 and TDC go where ∇J = 0.

The theorem asks that E Σφφᵀ is nonsingular, and speaks of a limit inside Γ's ball. `limits` has two places where both
hold and the best J is 0, and claims the limit there; `wheel` has a place where the best J is not 0, so that only who
follows ∇J gets there; `falls` has places where one of the two is missing, and claims a fall.
"""

from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2, tdc
from dgtd.harness.judging.claims import Claim
from dgtd.suites.convergence import falls, limits, wheel


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or GTD2 and TDC."""
    rules = (rule,) if rule else (gtd2, tdc)
    return [*falls.claims(rules), *limits.claims(rules), *wheel.claims(rules), *limits.planted()]
