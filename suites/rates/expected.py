"""Proposition 2 without sampling: the exact expectation of MSPBE, ½ of which Err bounds, at horizons up to 10⁶.

There the start is still being forgotten: the exponents are on their way to −1, where `limits` finds them.

No Γ here: the ball would make the map nonlinear. With the proposition's steps the iterate stays inside it.
"""

from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2
from dgtd.harness.judging.claims import PROFILES, Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.oracle.theorem import at_horizon
from dgtd.harness.plugins import find_problem

SOURCE = "Proposition 2, corrected; ½ MSPBE ≤ Err"
PLACES = {
    "random_walk": "random_walk",
    "random_walk_dependent": "random_walk_dependent",
    "random_mdp": "random_mdp(gamma=0.5)",
}
MARGIN = -0.45
DIGITS = 6  # that twenty squarings leave on any machine
MARKOV = "random_walk"
TWICE = 2.0  # what correlated transitions may cost; they cost nothing here
DIMENSIONS, DRAWN, HORIZON = (2, 3, 4, 6, 8), 3, 100_000
GROWTH = 3.0  # of the constant in d


def claims(rule: Rule) -> list[Claim]:
    """About a linear rule; the controls and the cost of correlation are about GTD2."""
    made = [expected_exponent(rule, place) for place in PLACES] if rule.linear else []
    return [*made, *(correlated(place) for place in PLACES), no_rate(), constant()]


def problem_of(place: str, rule: Rule, iid: bool = True) -> tuple[Moments, Saddle, Floats]:
    """The recursion, the saddle-point problem that gives its steps, and the start at 0."""
    return of_problem(PLACES[place], rule, iid)


def of_problem(name: str, rule: Rule, iid: bool = True) -> tuple[Moments, Saddle, Floats]:
    problem = find_problem(name)
    independent = problem.mdp.with_(weights=problem.mdp.d)
    moments = Moments(rule, independent if iid else problem.mdp, problem.target())
    return moments, Saddle(independent, problem.target(), slack=1.1), np.zeros((1, problem.mdp.features.shape[1]))


def horizons(setting: Setting) -> list[int]:
    low, points = (1e4, 5) if setting.profile == "ci" else (1e3, 13)
    return [int(n) for n in np.geomspace(low, 1e6, points).round()]


# ---------------------------------------------------------------------- the exponent


def expected_exponent(rule: Rule, place: str) -> Claim:
    """With the proposition's steps."""
    id_ = f"rates/{place}/{rule.name}/expected-exponent"
    says = (
        f"{rule.name}: E MSPBE of the averaged iterate, computed exactly, falls like n^-½ or faster on {place}, "
        "on its way to n^-1"
    )
    check = partial(falls_like_a_root, rule, place, True, None)
    return Claim(id_, says, SOURCE, check, rule=rule, promise=Promise.RATE, seeded=False)


def no_rate() -> Claim:
    """The same check must fail where there is no rate."""
    says = "GTD2's last iterate at a constant step, taken for a rate of n^-½ on the random walk"
    check = partial(falls_like_a_root, gtd2, "random_walk", False, 0.1)
    return Claim("rates/control/expected/constant-step-last-iterate", says, SOURCE, check, control=True, seeded=False)


def falls_like_a_root(rule: Rule, place: str, average: bool, step: float | None, setting: Setting) -> Finding:
    """The slope of a line through exact points: nothing is sampled."""
    moments, saddle, zeros = problem_of(place, rule)
    ns, heights = horizons(setting), []
    for n in ns:
        size = saddle.step(n) if step is None else step
        found = at_horizon(moments, size, size, [n], metrics=("rmspbe",), average=average, theta=zeros)
        heights.append(float(found.of("rmspbe")[0]))
    slope = float(np.polyfit(np.log(ns), np.log(heights), 1)[0]) if np.all(np.isfinite(heights)) else np.inf
    slope = round(slope, DIGITS)
    words = f"exponent {slope:.3f} over n = {ns[0]:.0e} … {ns[-1]:.0e}; √E MSPBE ends at {np.sqrt(heights[-1]):.3g}"
    return exactly(slope, MARGIN, words, **_shown(ns, heights))


def _shown(ns: list[int], heights: list[float]) -> dict[str, Any]:
    return {"x": ns, "y": heights, "x_name": "n, steps", "y_name": "E MSPBE, exact"}


# ---------------------------------------------------------------------- what the assumption of independence is worth


def correlated(place: str) -> Claim:
    """The paper assumes independent transitions; episodes do not give them."""
    id_ = f"rates/{place}/gtd2/expected-markov"
    says = f"along episodes E MSPBE of the average is at most {TWICE:g} times that on independent transitions"
    source = "ours: Proposition 2 assumes independent transitions"
    check = partial(correlation_costs_little, place)
    return Claim(id_, says, source, check, seeded=False, profiles=PROFILES if place == MARKOV else ("full", "paper"))


def correlation_costs_little(place: str, setting: Setting) -> Finding:
    """The ratio of two exact numbers at one horizon, with the same steps."""
    n = 30_000 if setting.profile == "ci" or place != MARKOV else 300_000
    heights = []
    for iid in (True, False):
        moments, saddle, zeros = problem_of(place, gtd2, iid)
        size = saddle.step(n)
        found = moments.run(size, size, [n], metrics=("rmspbe",), average=True, theta=zeros)
        heights.append(float(found.of("rmspbe")[0]))
    ratio = round(heights[1] / heights[0], DIGITS)
    words = f"{ratio:.3f} times, at n = {n:,}: √E MSPBE is {np.sqrt(heights[1]):.4g} against {np.sqrt(heights[0]):.4g}"
    return exactly(ratio, TWICE, words)


# ---------------------------------------------------------------------- how the constant grows


def constant() -> Claim:
    """On random problems of one size."""
    id_ = "rates/random_mdp/gtd2/constant"
    says = f"√n E MSPBE grows with the number of features like d^{GROWTH:g} or slower, on random problems"
    source = "Proposition 2's constant M*"
    return Claim(id_, says, source, constant_grows_slowly, seeded=False, profiles=("full", "paper"))


def constant_grows_slowly(setting: Setting) -> Finding:
    """Exact constants of 15 problems at one horizon; slopes in log d, and in log d with the condition number of C."""
    rows = []
    for d in DIMENSIONS:
        for seed in range(DRAWN):
            moments, saddle, zeros = of_problem(f"random_mdp(states=20, features={d}, gamma=0.5, seed={seed})", gtd2)
            size = saddle.step(HORIZON)
            found = at_horizon(moments, size, size, [HORIZON], metrics=("rmspbe",), average=True, theta=zeros)
            height = float(found.of("rmspbe")[0]) * np.sqrt(HORIZON)
            rows.append((d, np.linalg.cond(saddle.C), height, saddle.M_star))
    logs = np.log(np.array(rows, dtype=float))
    alone, with_condition, of_bound = (
        np.linalg.lstsq(np.column_stack([logs[:, on], np.ones(len(logs))]), logs[:, of], rcond=None)[0]
        for on, of in (([0], 2), ([0, 1], 2), ([0], 3))
    )
    slope = round(float(alone[0]), DIGITS)
    words = (
        f"like d^{slope:.2f} over d = {DIMENSIONS[0]} … {DIMENSIONS[-1]} (M* like d^{of_bound[0]:.2f}); with the "
        f"condition number of C beside it like d^{with_condition[0]:.2f} cond^{with_condition[1]:.2f}"
    )
    means = [float(np.exp(logs[logs[:, 0] == np.log(d), 2].mean())) for d in DIMENSIONS]
    return exactly(slope, GROWTH, words, x=list(DIMENSIONS), y=means, x_name="features", y_name="√n E MSPBE, exact")
