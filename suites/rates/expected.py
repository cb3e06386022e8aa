"""Proposition 2 without sampling: the exact expectation of MSPBE, ½ of which Err bounds.

At horizons up to 10⁶ the start is still being forgotten: the exponents are on their way to −1. Later they settle there,
with LSTD's constant, and the −½ is the bound's alone. With steps that are held constant the start is forgotten like
1/n², and what is left is noise:

    n·E MSPBE → tr(C⁻¹Σ)(1 + O(α))        Σ the covariance of ρδφ at the TD fixed point (harness/oracle/lstd.py)

With the proposition's steps, α ∝ n^-½, the start and the noise both fall like 1/n. No Γ here: the ball would make the
map nonlinear. With the proposition's steps the iterate stays inside it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2
from dgtd.harness.judging.claims import FULL, PROFILES, Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle.averages import Quieter, at_horizon
from dgtd.harness.oracle.lstd import lstd
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.plugins import find_problem

SOURCE = "Proposition 2, corrected; ½ MSPBE ≤ Err"
OURS = "ours; Polyak & Juditsky 1992"
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
SETTLED = (10**9, 10**10, 10**11)
# α = β, and the n of the limit. ρ is large on the random problem, so its steps are small and forget later.
STEPS = {
    "random_walk": ((0.2, 0.05, 0.0125), 10**9),
    "random_walk_dependent": ((0.2, 0.05, 0.0125), 10**9),
    "random_mdp": ((0.0125, 0.0125 / 4, 0.0125 / 16), 10**10),
}
CLOSE, SETTLED_DIGITS = 0.02, 4  # of the exponent, and of the constant


def claims(rule: Rule) -> Iterator[Claim]:
    """About a linear rule; the controls, the cost of correlation and the constant's growth are about GTD2."""
    root = "E MSPBE of the averaged iterate, computed exactly, falls like n^-½ or faster on {}, on its way to n^-1"
    yield from about(rule, SOURCE, ("expected-exponent", root, falls_like_a_root))
    for place in PLACES:  # the paper assumes independent transitions; episodes do not give them
        id_, profiles = f"rates/{place}/gtd2/expected-markov", PROFILES if place == MARKOV else FULL
        says = f"along episodes E MSPBE of the average is at most {TWICE:g} times that on independent transitions"
        source, check = "ours: Proposition 2 assumes independent transitions", partial(correlation_costs_little, place)
        yield Claim(id_, says, source, check, seeded=False, profiles=profiles)
    id_ = "rates/control/expected/constant-step-last-iterate"
    check = partial(falls_like_a_root, gtd2, "random_walk", average=False, step=0.1)
    says = "GTD2's last iterate at a constant step, taken for a rate of n^-½ on the random walk"
    yield Claim(id_, says, SOURCE, check, control=True, seeded=False)
    id_, source = "rates/random_mdp/gtd2/constant", "Proposition 2's constant M*"
    says = f"√n E MSPBE grows with the number of features like d^{GROWTH:g} or slower, on random problems"
    yield Claim(id_, says, source, constant_grows_slowly, seeded=False, profiles=FULL)
    yield from settled(rule)


def about(rule: Rule, source: str, *said: tuple[str, str, Callable[..., Finding]]) -> Iterator[Claim]:
    """On each place what is said of a linear rule, (name, sentence, check); all exact."""
    for place in PLACES if rule.linear else ():
        for name, says, check in said:
            id_, what, seen = f"rates/{place}/{rule.name}/{name}", says.format(place), partial(check, rule, place)
            yield Claim(id_, f"{rule.name}: {what}", source, seen, rule=rule, promise=Promise.RATE, seeded=False)


def settled(rule: Rule) -> Iterator[Claim]:
    """Exponent and constant in the limit; the controls are GTD2 with less noise, and without an average."""
    minus_one = (
        "E MSPBE of the average falls like n^-1 on {}, with steps held constant and with the proposition's: n^-½ is "
        "what the bound shows, not what happens"
    )
    lstds = "n·E MSPBE of the average goes to LSTD's tr(C⁻¹Σ) times 1 + O(α), on {}"  # its own asymptotic variance
    yield from about(rule, OURS, ("settled-exponent", minus_one, is_minus_one), ("lstd", lstds, is_lstds))
    constant, exponent = "n·E MSPBE, taken for LSTD's", "E MSPBE at constant steps, taken for −1"
    last = "E MSPBE of the last iterate, taken for −1"
    for name, says, wrong in (
        ("lstd/without-noise", constant, partial(is_lstds, share=0.0)),
        ("lstd/half-the-noise", constant, partial(is_lstds, share=0.5)),
        ("settled-exponent/without-noise", exponent, partial(is_minus_one, share=0.0)),
        ("settled-exponent/last-iterate", last, partial(is_minus_one, average=False)),
    ):
        what = f"GTD2, {name.partition('/')[2].replace('-', ' ')} on the random walk: {says}"
        seen = partial(wrong, gtd2, "random_walk")
        yield Claim(f"rates/control/{name}", what, OURS, seen, control=True, seeded=False)


def problem_of(place: str, rule: Rule, iid: bool = True) -> tuple[Moments, Saddle, Floats]:
    """The recursion, the saddle-point problem that gives its steps, and the start at 0."""
    return of_problem(PLACES[place], rule, iid)


def of_problem(name: str, rule: Rule, iid: bool = True) -> tuple[Moments, Saddle, Floats]:
    problem = find_problem(name)
    independent = problem.mdp.with_(weights=problem.mdp.d)
    moments = Moments(rule, independent if iid else problem.mdp, problem.target())
    return moments, Saddle(independent, problem.target(), slack=1.1), np.zeros((1, problem.mdp.features.shape[1]))


def heights(moments: Moments, step: float, ns: tuple[int, ...], theta: Floats, average: bool = True) -> Floats:
    """E MSPBE at each n, from θ."""
    return at_horizon(moments, step, step, ns, metrics=("rmspbe",), average=average, theta=theta).of("rmspbe")


def falls_like_a_root(
    rule: Rule, place: str, setting: Setting, average: bool = True, step: float | None = None
) -> Finding:
    """The slope of a line through exact points, with the proposition's steps or another: nothing is sampled."""
    moments, saddle, zeros = problem_of(place, rule)
    low, points = (1e4, 5) if setting.profile == "ci" else (1e3, 13)
    ns = [int(n) for n in np.geomspace(low, 1e6, points).round()]
    found = [float(heights(moments, step or saddle.step(n), (n,), zeros, average)[0]) for n in ns]
    slope = float(np.polyfit(np.log(ns), np.log(found), 1)[0]) if np.all(np.isfinite(found)) else np.inf
    slope = round(slope, DIGITS)
    words = f"exponent {slope:.3f} over n = {ns[0]:.0e} … {ns[-1]:.0e}; √E MSPBE ends at {np.sqrt(found[-1]):.3g}"
    return exactly(slope, MARGIN, words, x=ns, y=found, x_name="n, steps", y_name="E MSPBE, exact")


def correlation_costs_little(place: str, setting: Setting) -> Finding:
    """The ratio of two exact numbers at one horizon, with the same steps."""
    n = 30_000 if setting.profile == "ci" or place != MARKOV else 300_000
    found = []
    for iid in (True, False):
        moments, saddle, zeros = problem_of(place, gtd2, iid)
        size = saddle.step(n)
        found.append(moments.run(size, size, [n], metrics=("rmspbe",), average=True, theta=zeros).of("rmspbe")[0])
    independent, along = map(float, found)
    ratio = round(along / independent, DIGITS)
    words = f"{ratio:.3f} times, at n = {n:,}: √E MSPBE is {np.sqrt(along):.4g} against {np.sqrt(independent):.4g}"
    return exactly(ratio, TWICE, words)


def constant_grows_slowly(setting: Setting) -> Finding:
    """Exact constants of 15 problems at one horizon; slopes in log d, and in log d with the condition number of C."""
    rows = []
    for d in DIMENSIONS:
        for seed in range(DRAWN):
            moments, saddle, zeros = of_problem(f"random_mdp(states=20, features={d}, gamma=0.5, seed={seed})", gtd2)
            height = float(heights(moments, saddle.step(HORIZON), (HORIZON,), zeros)[0])
            rows.append((d, np.linalg.cond(saddle.C), height * np.sqrt(HORIZON), saddle.M_star))
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


# ---------------------------------------------------------------------- the limit: exponent and constant


def quieter(moments: Moments, share: float) -> Moments:
    """The same recursion with a share of the noise."""
    return moments if share == 1.0 else Quieter(moments.rule, moments.mdp, moments.target, share)


def is_minus_one(rule: Rule, place: str, setting: Setting, share: float = 1.0, average: bool = True) -> Finding:
    """Local exponents from decade to decade, of three constant steps and of the proposition's."""
    moments, saddle, zeros = problem_of(place, rule)
    moments = quieter(moments, share)
    held = [heights(moments, step, SETTLED, zeros, average) for step in STEPS[place][0]]
    theirs = [float(heights(moments, saddle.step(n), (n,), zeros, average)[0]) for n in SETTLED]
    local = np.diff(np.log([*held, np.array(theirs)]), axis=1) / np.diff(np.log(SETTLED))
    worst = round(float(np.abs(local + 1).max()), SETTLED_DIGITS)
    of_steps = ", ".join(f"{row[np.argmax(np.abs(row + 1))]:.2f}" for row in local)
    words = (
        f"local exponents {of_steps} (the farthest from −1 over n = 10⁹ … 10¹¹) at α = "
        f"{', '.join(f'{step:.3g}' for step in STEPS[place][0])} and the proposition's"
    )
    shown: dict[str, Any] = {"x": list(SETTLED), "y": theirs, "x_name": "n, steps", "y_name": "E MSPBE, exact"}
    return exactly(worst, CLOSE, words, **shown)


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
    return exactly(round(abs(at_zero - 1), SETTLED_DIGITS), CLOSE, words, **shown)
