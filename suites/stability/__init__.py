"""Off-policy stability: where semi-gradient TD diverges, GTD2 and TDC must not, and their objective must fall."""

from __future__ import annotations

from algorithms.rule import Promise, Rule
from algorithms.rules import gtd2, td, tdc, tdrc
from harness.judging.claims import Claim
from suites.stability import exact
from suites.stability.lanes import FALLEN, RULES, STEPS, Watched, bounded, certificate, falls, grid, td_control
from suites.stability.spiral import spiral

# Shown at the top of docs/claims.md: what could not be confirmed, or only in part.
UNCONFIRMED = """
- **Independent transitions matter.** The paper assumes them (Assumption 1). Along a trajectory on θ → 2θ, GTD2 with
  ρδ − u diverges at α = 0.01, β = 0.2, where on independent transitions it is stable; ρ(δ − u) does not feel the
  difference (`stability/two_state/value/trajectory/…`).
"""
# And what else was found.
FOUND = """
- TDRC's mean, with the customary κ = 1, diverges on θ → 2θ however small the steps: it grows like 0.2(1 − 2.7/(2.5
  + κ)), so κ must stay below 0.2 (`dgtd certify "tdrc(1)" --problem two_state --alpha 0.02 --beta 0.1`, and
  `tdrc(0.1)`).
- **The further behaviour is from the target policy, the smaller the steps must be.** On θ → 2θ the largest stable α
  (with β = α, exact) falls like ρ^-1.0 for GTD2 and ρ^-1.3 for TDC between ρ = 8 and 64
  (`stability/two_state/value/…/large-rho`).
"""


def claims(rule: Rule | None = None) -> list[Claim]:
    """Bounded and falling, on every counterexample and its lift; semi-gradient TD is the control."""
    made: list[Claim] = []
    for problem, steps in STEPS.items():
        for target in ("value", "cdf"):
            for each in (rule,) if rule else RULES:
                for i, (alpha, beta) in enumerate(steps):
                    place = Watched(each, problem, target, alpha, beta, fallen=FALLEN[problem, target][i])
                    profiles = ("ci", "full", "paper") if i == 0 else ("full", "paper")
                    made.append(bounded(place, profiles))
                    if Promise.DESCENDS in each.promises:
                        made.append(falls(place, profiles))
                    if each.linear and target == "value":
                        made.append(certificate(place, profiles))
                if each.linear:
                    made.append(grid(each, problem, target))
            if rule is None:  # promises nothing here: it diverges on θ → 2θ, and the certificate must say so
                made.append(grid(tdrc(1.0), problem, target))
            made.append(td_control(problem, target))
    made += [spiral(each) for each in ((rule,) if rule else (gtd2, tdc))]
    made.append(spiral(td, control=True))
    return [*made, *exact.claims((rule,) if rule else RULES)]
