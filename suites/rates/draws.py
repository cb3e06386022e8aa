"""Mirror-Prox with two transitions per step, or with one used twice: the second learns something else.

A step looks ahead, and steps from where it was with the field at the midpoint. Ours draws a transition for each. If
both fields are of one transition, they are correlated: at θ*, where w = 0, the midpoint's w is s·ρδφ, and Âᵀ of the
same transition does not average it away. The mean update then rests elsewhere, at a distance in proportion to the step.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle.averages import resting_point
from dgtd.harness.plugins import find_problem
from dgtd.suites.rates.expected import of_problem

SOURCE = "Juditsky et al. 2011; ours, on published code of proximal GTD2"
PLACES = ("random_walk", "collision")
STEP, SMALLER = 0.1, (0.01, 0.001, 0.0001)
ROUNDING = 1e-8  # of the mean update at 0; it is at 1e-15
LIMIT = 0.01  # of the exponent of the bias in the step, between the two smallest ones
DIGITS = 4


def claims() -> Iterator[Claim]:
    """About GTD2's field; all exact, by enumeration of the transitions."""
    for place in PLACES:
        says = f"with two transitions per step, Mirror-Prox's mean update vanishes at θ* on {place}"
        check = partial(vanishes, place, 2)
        yield Claim(f"rates/{place}/mirror-prox/rests", says, SOURCE, check, seeded=False)
        says = (
            "with one transition used twice per step, Mirror-Prox's mean update vanishes at another point than θ*, at "
            f"a distance in proportion to the step, on {place}"
        )
        id_, check = f"rates/{place}/mirror-prox/one-transition-twice", partial(rests_elsewhere, place)
        yield Claim(id_, says, SOURCE, check, seeded=False)
    id_, once = "rates/control/mirror-prox-rests/one-transition-twice", partial(vanishes, PLACES[0], 1)
    says = "with one transition, used twice, per step, Mirror-Prox's mean update vanishes at θ* on random_walk"
    yield Claim(id_, says, SOURCE, once, control=True, seeded=False)


def vanishes(place: str, draws: int, setting: Setting) -> Finding:
    """At θ* and w = 0."""
    star = find_problem(place).mdp.theta_td[None]
    size = share_of_update(place, star, np.zeros_like(star), STEP, draws)
    pairs = "transitions" if draws == 1 else "pairs of transitions"
    return exactly(size, ROUNDING, f"at θ* it is {size:.1e} of that at 0, over all {pairs}, at a step of {STEP:g}")


def mean_update(place: str, theta: Floats, w: Floats, step: float, draws: int) -> Floats:
    """E of the engine's Mirror-Prox step at (θ, w), over all transitions: nothing of `resting_point` is used."""
    mdp, target = find_problem(place).mdp, ValueTarget()
    count = len(mdp.mass)
    first = np.repeat(np.arange(count), 1 if draws == 1 else count)
    second = first if draws == 1 else np.tile(np.arange(count), count)
    chance = mdp.mass[first] if draws == 1 else mdp.mass[first] * mdp.mass[second]
    theta, w = (np.tile(part, (len(first), 1, 1)) for part in (theta, w))
    ahead, then = (mdp.table.batch(each[:, None], mdp.features, target) for each in (first, second))
    g_theta, g_w = directions(gtd2, theta, w, ahead)
    g_theta, g_w = directions(gtd2, theta - step * g_theta, w + step * g_w, then)
    return chance @ np.concatenate([-step * g_theta[:, 0], step * g_w[:, 0]], axis=1)


def share_of_update(place: str, theta: Floats, w: Floats, step: float, draws: int) -> float:
    """‖mean update‖ as a share of that at θ = w = 0."""
    here, at_0 = (mean_update(place, *point, step, draws) for point in ((theta, w), (0 * theta, 0 * w)))
    return float(np.linalg.norm(here) / np.linalg.norm(at_0))


def rests_elsewhere(place: str, setting: Setting) -> Finding:
    """The distance at four steps; its exponent in the step is 1 where the step is small.

    By two ways: the fixed point of the enumerated map, and the engine's fields there.
    """
    moments, _, _ = of_problem(place, gtd2)
    star = find_problem(place).mdp.theta_td
    size, away, left = float(np.linalg.norm(star)), [], []
    for step in (STEP, *SMALLER):
        theta, w = resting_point(moments, step, draws=1)
        left.append(share_of_update(place, theta, w, step, draws=1))
        away.append(float(np.linalg.norm(theta - star)) / size)
    exponent = float(np.log(away[-2] / away[-1]) / np.log(SMALLER[-2] / SMALLER[-1]))
    words = (
        f"θ rests {', '.join(f'{each:.2%}' for each in away)} of ‖θ*‖ away from θ* at steps of "
        f"{', '.join(f'{each:g}' for each in (STEP, *SMALLER))}: like step^{exponent:.2f} at last; "
        f"the engine's mean update there is {max(left):.0e} of that at 0"
    )
    worst = round(abs(exponent - 1), DIGITS) if max(left) <= ROUNDING else np.inf
    return exactly(worst, LIMIT, words, x=[STEP, *SMALLER], y=away, x_name="step", y_name="‖θ − θ*‖ over ‖θ*‖")
