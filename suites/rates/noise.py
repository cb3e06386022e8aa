"""Noise, sampled where there is nothing else: from θ* and w = 0 the run without noise stays where it is.

From 0 the median Err at n = 10⁴ and 10⁵ is that of the run without noise to 5 %, so a sampler without any noise has the
exponents of `sampled` too. Here it has Err = 0, and how large Err must be is exact (harness/oracle/averages.py).
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2, td
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import Sampler
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.judging.claims import Claim, Need, Needs, Setting
from dgtd.harness.judging.statistics import Interval, magnitude, mean_interval
from dgtd.harness.judging.verdicts import Finding, below, unlikely
from dgtd.harness.oracle.saddle import Saddle
from dgtd.harness.runs.work import Job
from dgtd.suites.rates.expected import PLACES, problem_of
from dgtd.suites.rates.parts import noise_of

SOURCE = "Proposition 2: its noise alone"
LANES = 1024
STEPS = {"ci": 4_000, "full": 100_000, "paper": 100_000}
FAULTY_LANES, FAULTY_STEPS = 256, 2_000
AMOUNT = 0.25  # how far from the exact E MSPBE the sampled mean may be, as a share
GAUSSIAN, WITHIN = 0.9, 0.2  # the middle of √(2/π) and 1, and how far from it the sampled share may be
LOST = 1e100  # what stands for a number that overflowed
MEAN, FOUR, TWICE, SHARED = "mean update", "four at a time", "each twice", "one for all lanes"


def claims(each: Rule) -> list[Claim]:
    """About a linear rule; the controls are loops with wrong transitions, and a rule without w."""
    where = [*product(PLACES, ("noise", "noise-slack")), ("random_walk", "noise-centre")] if each.linear else []
    return [*(alone(each, place, kind) for place, kind in where), *controls()]


# ---------------------------------------------------------------------- runs from θ*


def engine_runs(rule: Rule, place: str, problem: str, steps: int, lanes: int, seed: int) -> dict[str, Any]:
    """Lanes of the engine, without Γ."""
    _, saddle, _ = problem_of(place, rule)
    mdp, step = saddle.mdp, saddle.step(steps)
    engine = LinearEngine(rule, mdp.table, mdp.features, ValueTarget())
    state = engine.start(mdp.theta_td[None], streams(problem, steps, lanes, seed))
    engine.run(state, steps, step, step, average=True)
    return measured(saddle, state.theta_mean, state.w_mean)


def faulty_runs(place: str, problem: str, steps: int, lanes: int, seed: int, draws: str) -> dict[str, Any]:
    """GTD2 written out, with a fault in which transitions a step sees: what the judges must not let pass."""
    _, saddle, _ = problem_of(place, gtd2)
    mdp, step = saddle.mdp, saddle.step(steps)
    table, x, d = mdp.table, mdp.features[mdp.table.state], mdp.features.shape[1]
    ahead = x - table.discount[:, None] * mdp.features[table.next_state]
    A = ((table.rho[:, None] * x)[:, :, None] * ahead[:, None, :]).reshape(-1, d * d)
    C, b = (x[:, :, None] * x[:, None, :]).reshape(-1, d * d), (table.rho * table.reward)[:, None] * x
    sampler = Sampler(table, streams(problem, steps, 1 if draws == SHARED else lanes, seed))
    one, share = np.eye(len(x)), np.tile(mdp.mass, (lanes, 1))  # of each transition in a lane's step
    theta = np.tile(mdp.theta_td, (lanes, 1))
    w, sums = np.zeros_like(theta), np.zeros((2, *theta.shape))
    for t in range(steps):
        sums += np.stack([theta, w])
        if draws != MEAN and (draws != TWICE or t % 2 == 0):
            share = np.broadcast_to(one[sampler.draw(4 if draws == FOUR else 1)].mean(0), share.shape)
        A_now, C_now = ((share @ each).reshape(lanes, d, d) for each in (A, C))
        g_theta, g_w = -np.einsum("lij,li->lj", A_now, w), share @ b
        g_w = g_w - np.einsum("lij,lj->li", A_now, theta) - np.einsum("lij,lj->li", C_now, w)
        theta, w = theta - step * g_theta, w + step * g_w
    return measured(saddle, sums[0, :, None] / steps, sums[1, :, None] / steps)


def streams(problem: str, steps: int, lanes: int, seed: int) -> Any:
    """Of these runs alone."""
    return lane_streams(seed, range(lanes), problem=problem, purpose="noise", horizon=steps)


def measured(saddle: Saddle, theta: Floats, w: Floats) -> dict[str, Any]:
    """MSPBE and Err of each lane's average, and the lanes' mean of θ̄; what overflowed counts as LOST."""
    mdp = saddle.mdp
    with np.errstate(all="ignore"):
        push = mdp.b - theta[:, 0] @ mdp.A.T
        mspbe, err = ((push @ mdp.C_inverse) * push).sum(1), saddle.error_of(theta, w)
        middle = theta[:, 0].mean(0)
    found = {"mspbe": mspbe, "err": err, "centre": middle}
    return {name: np.nan_to_num(values, nan=LOST, posinf=LOST).tolist() for name, values in found.items()}


def runs(rule: Rule, place: str, steps: int, setting: Setting) -> list[Need]:
    """As evidence."""
    where: dict[str, Any] = {"place": place, "problem": PLACES[place]}
    return [Job.of(engine_runs, rule, **where, steps=steps, lanes=LANES, seed=setting.seed)]


def alone(rule: Rule, place: str, kind: str) -> Claim:
    """Lanes that start at θ*."""
    says, judge = {
        # A sampler with half the noise, or one that uses each transition twice, has another amount.
        "noise": ("the sampled average has the exact E MSPBE, to a quarter,", is_as_large),
        # Lanes that share their transitions have one error, which no mean over lanes makes smaller.
        "noise-centre": ("the lanes' averages lie around θ*, independently of each other,", is_centred),
        # Through w̄: a rule without w has only squares.
        "noise-slack": (
            "what the slack adds to the sampled Err is E R‖Aᵀw̄‖ of a nearly Gaussian w̄ with the exact covariance,",
            reaches_err,
        ),
    }[kind]
    return Claim(
        f"rates/{place}/{rule.name}/{kind}", f"{rule.name}: started at θ*, {says} on {place}", SOURCE,
        needs=lambda setting: runs(rule, place, STEPS[setting.profile], setting),
        judge=partial(judge, rule, place, None), rule=rule, promise=Promise.RATE,
    )  # fmt: skip


def is_as_large(rule: Rule, place: str, steps: int | None, evidence: list[Any], setting: Setting) -> Finding:
    """The mean over lanes, over the exact expectation; how far from 1 its interval is on either side."""
    n = steps or STEPS[setting.profile]
    values = np.array(evidence[0]["mspbe"])
    exact = noise_of(rule, place, n).mspbe
    ratio = share(values, exact, setting)
    words = f"{ratio:.3f} times the exact E MSPBE, {exact:.3g} at n = {n:,}"
    return below(distance(ratio, 1.0, values), AMOUNT, setting.false_alarm, words)


def share(values: Floats, exact: float, setting: Setting) -> Interval:
    """The mean of the values over an exact one; infinite if that is 0, as it is for a rule that never moves w."""
    if exact <= 0:
        return Interval(np.inf, np.inf, np.inf, len(values))
    return mean_interval(values / exact, 2 * setting.false_alarm)


def distance(found: Interval, wanted: float, values: Floats) -> Interval:
    """|x − wanted| of an interval of x; infinite if x is, or if a lane was lost."""
    if not ((values < LOST).all() and np.isfinite(found.estimate)):
        return Interval(np.inf, np.inf, np.inf, found.n)
    return magnitude(Interval(found.estimate - wanted, found.low - wanted, found.high - wanted, found.n))


def is_centred(rule: Rule, place: str, steps: int | None, evidence: list[Any], setting: Setting) -> Finding:
    """χ² of the lanes' mean with the exact covariance: N xᵀV⁻¹x has one degree of freedom per feature."""
    moments, _, _ = problem_of(place, rule)
    n, lanes, d = steps or STEPS[setting.profile], len(evidence[0]["mspbe"]), moments.size
    middle = moments.start(np.array([evidence[0]["centre"]])).ravel()  # from θ*
    height = float(lanes * middle @ np.linalg.solve(noise_of(rule, place, n).covariance, middle))
    words = f"χ² = {height:.3g} of the mean of {lanes:,} averages, with {d} degrees of freedom, at n = {n:,}"
    return unlikely(float(stats.chi2.sf(height, d)), setting.false_alarm, lanes, words)


def reaches_err(rule: Rule, place: str, steps: int | None, evidence: list[Any], setting: Setting) -> Finding:
    """E Err = E squares + R E‖Aᵀw̄‖, since E w̄ = 0. For a Gaussian x, E‖x‖ is between √(2/π) and 1 times √E‖x‖²."""
    n, (_, saddle, _) = steps or STEPS[setting.profile], problem_of(place, rule)
    exact, errors = noise_of(rule, place, n), np.array(evidence[0]["err"])
    full = saddle.R * exact.along
    ratio = share(errors - exact.squares, full, setting)
    words = f"{ratio:.3f} times R√E‖Aᵀw̄‖² = {full:.3g}, and the squares are {exact.squares:.3g}, at n = {n:,}"
    return below(distance(ratio, GAUSSIAN, errors), WITHIN, setting.false_alarm, words)


def controls() -> Iterator[Claim]:
    """Loops whose transitions are wrong, and a rule that has no w, and so no slack."""
    large, centred, slack_of_td = (
        partial(judge, gtd2, "random_walk", steps)
        for judge, steps in ((is_as_large, FAULTY_STEPS), (is_centred, FAULTY_STEPS), (reaches_err, STEPS["ci"]))
    )
    where: dict[str, Any] = {"place": "random_walk", "problem": PLACES["random_walk"]}

    def faulty(draws: str) -> Needs:
        return Job.seeded(faulty_runs, **where, draws=draws, steps=FAULTY_STEPS, lanes=FAULTY_LANES)

    for name, says, needs, judge in (
        ("noise/none", "the mean update in place of a transition", faulty(MEAN), large),
        ("noise/half", "the mean of four transitions in place of one", faulty(FOUR), large),
        ("noise/each-twice", "each transition used in two steps", faulty(TWICE), large),
        ("noise-centre/one-for-all", "the same transitions in every lane", faulty(SHARED), centred),
        ("noise-slack/td", "TD in place of GTD2", partial(runs, td, "random_walk", STEPS["ci"]), slack_of_td),
    ):
        yield Claim(f"rates/control/{name}", f"{says}, on the random walk", SOURCE, None, needs, judge, control=True)
