"""Where E MSPBE of the average goes, exactly: its exponent is −1 and its constant LSTD's. The −½ is the bound's alone.

With steps that are held constant the start is forgotten like 1/n², and what is left is noise:

    n·E MSPBE → tr(C⁻¹Σ)(1 + O(α))        Σ the covariance of ρδφ at the TD fixed point (harness/oracle/lstd.py)

With the proposition's steps, α ∝ n^-½, the start and the noise both fall like 1/n.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle.averages import Quieter
from dgtd.harness.oracle.lstd import lstd
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.oracle.theorem import at_horizon
from dgtd.suites.rates.expected import PLACES, problem_of

SOURCE = "ours; Polyak & Juditsky 1992"
SETTLED = (10**9, 10**10, 10**11)
# α = β, and the n of the limit. ρ is large on the random problem, so its steps are small and forget later.
STEPS = {
    "random_walk": ((0.2, 0.05, 0.0125), 10**9),
    "random_walk_dependent": ((0.2, 0.05, 0.0125), 10**9),
    "random_mdp": ((0.0125, 0.0125 / 4, 0.0125 / 16), 10**10),
}
MARGIN = 0.02  # of the exponent, and of the constant
DIGITS = 4


def claims(rule: Rule) -> list[Claim]:
    """About a linear rule; the controls are GTD2 with less noise than there is, and without an average."""
    made = [made_of(rule, place) for place in PLACES for made_of in (exponent, constant)] if rule.linear else []
    for share, name in ((0.0, "without-noise"), (0.5, "half-the-noise")):
        made.append(control(f"lstd/{name}", "n·E MSPBE, taken for LSTD's", partial(is_lstds, share=share)))
    without = partial(is_minus_one, share=0.0)
    made.append(control("settled-exponent/without-noise", "E MSPBE at constant steps, taken for −1", without))
    last = partial(is_minus_one, average=False)
    return [*made, control("settled-exponent/last-iterate", "E MSPBE of the last iterate, taken for −1", last)]


def quieter(moments: Moments, share: float) -> Moments:
    """The same recursion with a share of the noise."""
    return moments if share == 1.0 else Quieter(moments.rule, moments.mdp, moments.target, share)


def control(name: str, says: str, check: Callable[..., Finding]) -> Claim:
    """The check on GTD2 on the random walk, with one thing wrong."""
    what = f"GTD2, {name.partition('/')[2].replace('-', ' ')} on the random walk: {says}"
    seen = partial(check, gtd2, "random_walk")
    return Claim(f"rates/control/{name}", what, SOURCE, seen, control=True, seeded=False)


# ---------------------------------------------------------------------- the exponent


def exponent(rule: Rule, place: str) -> Claim:
    """Once it has settled."""
    id_ = f"rates/{place}/{rule.name}/settled-exponent"
    says = (
        f"{rule.name}: E MSPBE of the average falls like n^-1 on {place}, with steps held constant and with the "
        "proposition's: n^-½ is what the bound shows, not what happens"
    )
    return Claim(id_, says, SOURCE, partial(is_minus_one, rule, place), rule=rule, promise=Promise.RATE, seeded=False)


def is_minus_one(rule: Rule, place: str, setting: Setting, share: float = 1.0, average: bool = True) -> Finding:
    """Local exponents from decade to decade, of three constant steps and of the proposition's."""
    moments, saddle, zeros = problem_of(place, rule)
    moments = quieter(moments, share)
    held = [heights(moments, step, SETTLED, zeros, average) for step in STEPS[place][0]]
    theirs = [float(heights(moments, saddle.step(n), (n,), zeros, average)[0]) for n in SETTLED]
    local = np.diff(np.log([*held, np.array(theirs)]), axis=1) / np.diff(np.log(SETTLED))
    worst = round(float(np.abs(local + 1).max()), DIGITS)
    of_steps = ", ".join(f"{row[np.argmax(np.abs(row + 1))]:.2f}" for row in local)
    words = (
        f"local exponents {of_steps} (the farthest from −1 over n = 10⁹ … 10¹¹) at α = "
        f"{', '.join(f'{step:.3g}' for step in STEPS[place][0])} and the proposition's"
    )
    shown: dict[str, Any] = {"x": list(SETTLED), "y": theirs, "x_name": "n, steps", "y_name": "E MSPBE, exact"}
    return exactly(worst, MARGIN, words, **shown)


def heights(moments: Moments, step: float, ns: tuple[int, ...], theta: Floats, average: bool = True) -> Floats:
    """E MSPBE at each n."""
    return at_horizon(moments, step, step, ns, metrics=("rmspbe",), average=average, theta=theta).of("rmspbe")


# ---------------------------------------------------------------------- the constant


def constant(rule: Rule, place: str) -> Claim:
    """LSTD's own asymptotic variance."""
    id_ = f"rates/{place}/{rule.name}/lstd"
    says = f"{rule.name}: n·E MSPBE of the average goes to LSTD's tr(C⁻¹Σ) times 1 + O(α), on {place}"
    return Claim(id_, says, SOURCE, partial(is_lstds, rule, place), rule=rule, promise=Promise.RATE, seeded=False)


def is_lstds(rule: Rule, place: str, setting: Setting, share: float = 1.0) -> Finding:
    """Ratios at three steps; from the two smaller ones, where a straight line through them meets α = 0."""
    moments, _, zeros = problem_of(place, rule)
    limit = lstd(moments.mdp)
    assert limit is not None
    steps, n = STEPS[place]
    ratios = [n * float(heights(quieter(moments, share), step, (n,), zeros)[0]) / limit.limit for step in steps]
    at_zero = ratios[2] + (ratios[2] - ratios[1]) * steps[2] / (steps[1] - steps[2])
    words = (
        f"n·E MSPBE is {', '.join(f'{ratio:.3f}' for ratio in ratios)} times tr(C⁻¹Σ) = {limit.limit:.3g} at α = β = "
        f"{', '.join(f'{step:.3g}' for step in steps)} and n = {n:.0e}; {at_zero:.3f} times where a line meets α = 0"
    )
    shown: dict[str, Any] = {"x": list(steps), "y": ratios, "x_name": "α = β", "y_name": "n·E MSPBE over LSTD's"}
    return exactly(round(abs(at_zero - 1), DIGITS), MARGIN, words, **shown)
