"""Theorem 2: with two-timescale Robbins–Monro steps, distributional GTD2 and TDC go where ∇J = 0.

The theorem asks that E Σφφᵀ is nonsingular, and speaks of a limit inside Γ's ball. `limits` has two places where both
hold, and claims the limit there; `falls` has places where one of them is missing, and claims a fall.
"""

from __future__ import annotations

from algorithms.rule import Rule
from algorithms.rules import gtd2, tdc
from harness.judging.claims import Claim
from suites.convergence import falls, limits

# Shown at the top of docs/claims.md: what could not be confirmed, or only in part.
UNCONFIRMED = """
- **Theorem 2 with networks, but for one.** E Σφφᵀ is far from full rank for every network with one-hot inputs that we
  tried, so the theorem does not speak of them. J still falls (full profile, `convergence/…/mlp/…`), by a tenth or less
  for GTD2 on the walk and on Boyan's chain, and with larger steps it turns back and rises.
"""


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or GTD2 and TDC."""
    rules = (rule,) if rule else (gtd2, tdc)
    return [*falls.claims(rules), *limits.claims(rules)]
