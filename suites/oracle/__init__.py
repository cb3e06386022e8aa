"""The oracle itself: what the harness calls exact, against enumeration, optimisers and closed forms."""

from __future__ import annotations

from algorithms.rule import Rule
from harness.judging.claims import Claim
from suites.oracle import definitions, exponents, lstd, points


def claims(rule: Rule | None = None) -> list[Claim]:
    """They do not depend on the rule."""
    return [claim for part in (definitions, lstd, exponents, points) for claim in part.claims()]
