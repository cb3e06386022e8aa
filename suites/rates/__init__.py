"""Proposition 2: the averaged, projected linear iterate has Err = O(n^-½). With the step and the bound corrected."""

from __future__ import annotations

from algorithms.rule import Rule
from algorithms.rules import gtd2
from harness.judging.claims import Claim
from suites.rates import expected, sampled, tails

# Shown at the top of docs/claims.md: what could not be confirmed, or only in part.
UNCONFIRMED = """
- **Proposition 2's bound says nothing at any n we ran.** It holds in every run, and it is some 300 times the median
  Err; standing still at the origin does better until n ≈ 6·10⁶ to 3·10⁷ on the smallest problems
  (`rates/…/bound/…`, VACUOUS). The statement itself had to be corrected first ([reading the
  paper](reading-the-paper.md), 1 to 4).
"""
# And what else was found.
FOUND = """
- With horizon-dependent constant steps the averaged iterate falls faster than n^-½ on most of our problems
  (exponents −0.5 to −0.8): the start is still being forgotten, and noise is not yet all there is. The exact
  expectation says the same without sampling: E MSPBE, at most twice Err, falls with exponents −0.62 to −0.98
  (`rates/…/expected-exponent`).
- Correlated transitions cost nothing on the random walk: along episodes E MSPBE of the average is that on independent
  transitions to half a per cent (`rates/random_walk/gtd2/expected-markov`).
- In the full profile: Err's quantiles grow no faster than log 1/δ, within error, with ρ up to 12; the 99.9 % quantile
  is 1.14 times the median at ρ = 1.2 and 1.35 times at ρ = 12 (`rates/…/tails`). The exact expectation with a term for
  its exact variance covers every level measured, at 1.16 to 1.36 times the true quantile, where Proposition 2's bound
  is at 389 to 1110 times (`rates/…/expected-bound/…`). √n E MSPBE grows like d^1.4 on random problems, M* like d^0.6
  (`rates/random_mdp/gtd2/constant`).
"""


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about GTD2; Mirror-Prox, the bound and the controls are about GTD2's field."""
    each = rule or gtd2
    return [*sampled.claims(each), *expected.claims(each), tails.gaussian(), *tails.claims()]
