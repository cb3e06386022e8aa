"""Figure 1: policy iteration on CartPole, GTD2 and TDC against their distributional forms.

The paper gives neither step sizes nor activation, replay or length. So every rule and form is searched over the same
points (`harness.compare.space`) on lanes of their own, and compared at the best of them on fresh lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from algorithms.checks import Floats
from harness.compare.agents import run_spec
from harness.compare.space import learner_at, points
from harness.judging.claims import Claim, Judge, Need, Setting
from harness.judging.statistics import Interval, paired, proportion_interval
from harness.judging.verdicts import Finding, below
from harness.runs.spec import Request
from harness.runs.trial import Trial
from suites.figure_three import SMALLER, final_returns, varies_less

Form = tuple[str, str]  # a rule, and the target: value or cdf

SOURCE = "Figure 1"
V0, V1 = "cartpole-v0", "cartpole-v1"
FORMS = (("gtd2", "value"), ("tdc", "value"), ("gtd2", "cdf"), ("tdc", "cdf"))
STEPS, LANES, COHORT = 20_000, 30, 10
SEARCHED, SEARCH_LANES = 16, 4
# The best of 16 points for each form on v0, four lanes a point on seeds of their own. Found, and found again, by
#     dgtd suite policy_iteration --profile paper --claim policy_iteration/cartpole-v0/value \
#       --claim policy_iteration/cartpole-v0/cdf
CHOSEN = {("gtd2", "value"): 7, ("tdc", "value"): 4, ("gtd2", "cdf"): 4, ("tdc", "cdf"): 6}
LEARNS = 60.0  # random actions earn 22; what has learnt something earns more than this in the last fifth
TENTHS = 10  # of the steps: what a lane's path is looked at in


def claims() -> list[Claim]:
    """What the paper says of the figure, on both worlds; and the search."""
    made = []
    for world in (V0, V1):
        made += [
            figure(world, "distributional-gtd2-over-distributional-tdc", ("gtd2", "cdf"), ("tdc", "cdf"),
                   "earns more than", earns_more),
            figure(world, "distributional-gtd2-over-gtd2", ("gtd2", "cdf"), ("gtd2", "value"), "earns more than",
                   earns_more),
            figure(world, "distributional-tdc-over-tdc", ("tdc", "cdf"), ("tdc", "value"), "earns more than",
                   earns_more),
            figure(world, "distributional-tdc-early-lead", ("tdc", "cdf"), ("gtd2", "cdf"),
                   "earns more in the first fifth of the steps than", earns_more_early),
        ]  # fmt: skip
        for rule in ("gtd2", "tdc"):
            made += [
                figure(world, f"distributional-{rule}-varies-less", (rule, "cdf"), (rule, "value"),
                       f"has at most {SMALLER:g} of the variance over seeds of", deviates_less),
                figure(world, f"distributional-{rule}-rises-more-steadily", (rule, "cdf"), (rule, "value"),
                       "rises more steadily than", rises_more_steadily),
            ]  # fmt: skip
    return made + [search(*form) for form in FORMS]


def shown(rule: str, target: str) -> str:
    """What a reader calls it."""
    return f"distributional {rule.upper()}" if target == "cdf" else rule.upper()


# ---------------------------------------------------------------------- what the paper says


def figure(world: str, name: str, first: Form, second: Form, says: str, judge: Judge) -> Claim:
    """One statement, on paired lanes, each form at the point that its search chose."""
    return Claim(
        id=f"policy_iteration/{world}/{name}",
        says=f"{shown(*first)} {says} {shown(*second)} on {world}",
        source=SOURCE,
        needs=lambda setting: [at_its_best(form, world, setting) for form in (first, second)],
        judge=judge,
        figure=True,
        profiles=("full", "paper"),
    )


def at_its_best(form: Form, world: str, setting: Setting) -> Request:
    """Thirty lanes, on worlds and exploration that all forms share; not those of the search."""
    made = learner_at(points(SEARCHED)[CHOSEN[form]], *form, world, cohort=COHORT)
    return Request(run_spec(world, made, STEPS, setting.seed, "figure 1"), LANES)


def early_returns(trial: Trial) -> Floats:
    """[lanes]: the mean return over the first fifth of the steps."""
    early = (trial.times > 0) & (trial.times <= 0.2 * trial.times[-1])
    return trial.of("return")[early].mean(0)


def steadiness(trial: Trial) -> Floats:
    """[lanes]: the rise from a lane's first tenth to its last, as a share of all ways up and down between tenths.

    1 for a path that only rises, 0 for one that ends where it began, −1 for one that only falls.
    """
    parts = np.array_split(trial.of("return")[trial.times > 0], TENTHS)
    path = np.array([part.mean(0) for part in parts])
    ways = np.abs(np.diff(path, axis=0)).sum(0)
    return np.where(ways > 0, (path[-1] - path[0]) / np.where(ways > 0, ways, 1.0), 0.0)


def compare(measure: Callable[[Trial], Floats], what: str, trials: list[Trial], setting: Setting) -> Finding:
    """The chance that a lane of the first form has less than its pair: below a half if the first has more."""
    first, second = map(measure, trials)
    found = paired(first, second, setting.false_alarm)
    words = f"chance that a lane {what}; means {first.mean():.3g} and {second.mean():.3g}"
    interval = Interval(found.better.estimate, found.better.low, found.better.high, found.n)
    return below(interval, 0.5, setting.false_alarm, words)


earns_more = partial(compare, final_returns, "earns less in the last fifth")
earns_more_early = partial(compare, early_returns, "earns less in the first fifth")
rises_more_steadily = partial(compare, steadiness, "rises less steadily")


def deviates_less(trials: list[Trial], setting: Setting) -> Finding:
    """Of the return over the last fifth. What has learnt nothing varies little: the means are said, too."""
    first, second = map(final_returns, trials)
    return varies_less(first, second, f"; means {first.mean():.0f} and {second.mean():.0f}", setting)


# ---------------------------------------------------------------------- the search


def search(rule: str, target: str) -> Claim:
    """The whole search of one form, on v0: how much of the space works, and which point is best."""
    return Claim(
        id=f"policy_iteration/{V0}/{target}/{rule}/search",
        says=f"{shown(rule, target)} learns on {V0} at half or more of {SEARCHED} settings",
        source="ours; the paper gives no step sizes",
        needs=partial(searched, rule, target),
        judge=partial(how_much_works, target),
        figure=True,
        profiles=("paper",),
    )


def searched(rule: str, target: str, setting: Setting) -> list[Need]:
    """Every point, with a few lanes of its own."""
    return [
        Request(
            run_spec(V0, learner_at(point, rule, target, V0, cohort=SEARCH_LANES), STEPS, setting.seed, "search"),
            SEARCH_LANES,
        )
        for point in points(SEARCHED)
    ]


def how_much_works(target: str, trials: list[Trial], setting: Setting) -> Finding:
    """The share of points whose mean return over the last fifth is not above LEARNS."""
    means = np.array([final_returns(trial).mean() for trial in trials])
    idle = proportion_interval(int((means <= LEARNS).sum()), len(means), 2 * setting.false_alarm)
    order = np.argsort(-means, kind="stable")
    best = [f"{i} ({means[i]:.0f}: {points(len(means))[i].shown(target)})" for i in order[:3]]
    words = f"{int((means > LEARNS).sum())} of {len(means)} settings earn more than {LEARNS:g}; best: {'; '.join(best)}"
    return below(idle, 0.5, setting.false_alarm, words, returns=means.tolist())
