"""Theorem 2: with two-timescale Robbins–Monro steps, distributional GTD2 and TDC go where ∇J = 0.

The theorem asks that E Σφφᵀ is nonsingular, and speaks of a limit inside Γ's ball. `limits` has two places where both
hold, and claims the limit there; `falls` has places where one of them is missing, and claims a fall.
"""

from __future__ import annotations

from algorithms.rule import Rule
from algorithms.rules import gtd2, tdc
from harness.judging.claims import Claim
from suites.convergence import falls, limits, planted

# Shown at the top of docs/claims.md: what could not be confirmed, or only in part.
UNCONFIRMED = """
- **Theorem 2 with networks, but for one.** E Σφφᵀ is far from full rank for every network with one-hot inputs that we
  tried, so the theorem does not speak of them. J still falls (full profile, `convergence/…/mlp/…`): on Baird's star to
  a fiftieth of its start in 10⁶ steps, on the grid world to 0.3 (GTD2) and 0.005 (TDC) in 300 000; on the walk and on
  Boyan's chain GTD2's falls by a tenth or less, and with larger steps it turns back and rises.
"""
# And what else was found.
FOUND = """
- **Theorem 2's limit is seen where the theorem speaks.** On a table of logits whose projected fixed point is interior,
  J is below a hundredth of its start after 10⁶ steps in most lanes, and at 0.3 % after 10⁷ in the full profile, where J
  still falls like n^-0.38, ‖∇J‖ like n^-0.35 and ‖w − w*‖ like n^-0.28 (`convergence/random_mdp/…`). On a network of
  full rank (23 weights, 64 lanes, full profile) J ends at 0.45 % (GTD2) and 0.44 % (TDC) of its start after 10⁷ steps
  in the geometric mean and the median ‖∇J‖ at 3 %; the rank stays 23 on every path. The slowest lanes end at 19 % and
  8 % (`convergence/boyan/full-rank/…`).
- **Where the minimum is at infinity, only Γ's ball holds the iterate.** On the walk the projected fixed point has atoms
  without mass, so its logits are infinite, and the theorem's K has no point inside
  (`convergence/random_walk/infinity`).
- **h matters, and so does α/β → 0.** Without h TDC's J on that network stays at a fifth of its start
  (`convergence/control/limit/h-dropped`). To swap the exponents of the two schedules alone does no harm on the table; a
  w that is thirty times slower than θ leaves J above its start (`convergence/control/limit/timescales-swapped`).
"""


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or GTD2 and TDC."""
    rules = (rule,) if rule else (gtd2, tdc)
    return [*falls.claims(rules), *limits.claims(rules), *planted.controls()]
