"""Figure 1: policy iteration on CartPole, GTD2 and TDC against their distributional forms.

The paper gives neither step sizes nor activation, replay or length. So every rule and form is searched over the same
points (`harness.compare.space`) on lanes of their own, and compared at the best of them on fresh lanes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from harness.compare.agents import run_spec
from harness.compare.space import learner_at, points
from harness.judging.claims import Claim, Need, Setting
from harness.judging.statistics import proportion_interval
from harness.judging.verdicts import Finding, below
from harness.runs.spec import Request
from harness.runs.trial import Trial
from suites.figure_three import final_returns

SOURCE = "Figure 1"
V0, V1 = "cartpole-v0", "cartpole-v1"
FORMS = (("gtd2", "value"), ("tdc", "value"), ("gtd2", "cdf"), ("tdc", "cdf"))
STEPS, SEARCHED, SEARCH_LANES = 20_000, 16, 4
LEARNS = 60.0  # random actions earn 22; what has learnt something earns more than this in the last fifth


def claims() -> list[Claim]:
    """The search."""
    return [search(*form) for form in FORMS]


def shown(rule: str, target: str) -> str:
    """What a reader calls it."""
    return f"distributional {rule.upper()}" if target == "cdf" else rule.upper()


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
