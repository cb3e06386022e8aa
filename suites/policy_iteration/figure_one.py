"""Figure 1: policy iteration on CartPole, GTD2 and TDC against their distributional forms.

The paper gives neither step sizes nor activation, replay or length. So every rule and form is compared at the setting
that a search chose for it (`dgtd.suites.policy_iteration.search`), on lanes that the search has not seen.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.search import learner_at, run_spec
from dgtd.harness.judging.claims import FULL, Claim, Judge, Need, Setting
from dgtd.harness.judging.statistics import paired
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request, RunSpec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.suites.policy_iteration import law, search
from dgtd.suites.policy_iteration.search import STEPS, V0, V1, Form, chosen, shown
from dgtd.suites.returns import SMALLER, final_returns, varies_less

SOURCE = "Figure 1"
LANES, COHORT = 30, 10
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
    return [*made, *law.claims(at_its_best), *search.claims()]


# ---------------------------------------------------------------------- what the paper says


def figure(world: str, name: str, first: Form, second: Form, says: str, judge: Judge) -> Claim:
    """One statement, on paired lanes, each form at the point that its search chose."""

    def needs(setting: Setting) -> list[Need]:
        return [at_its_best(form, world, setting) for form in (first, second)]

    id_, what = f"policy_iteration/{world}/{name}", f"{shown(*first)} {says} {shown(*second)} on {world}"
    return Claim(id_, what, SOURCE, needs=needs, judge=judge, figure=True, profiles=FULL)


def at_its_best(form: Form, world: str, setting: Setting) -> Request:
    """Thirty lanes, ten for a quick look, on worlds and exploration that all forms share; not those of the search."""
    made = learner_at(chosen(form), *form, world, cohort=COHORT)
    lanes = COHORT if setting.profile == "ci" else LANES
    return Request(run_spec(world, made, STEPS, setting.seed, "figure 1"), lanes)


def early_returns(trial: Lanes) -> Floats:
    """[lanes]: the mean return over the first fifth of the steps."""
    early = (trial.times > 0) & (trial.times <= 0.2 * trial.times[-1])
    return trial.of("return")[early].mean(0)


def steadiness(trial: Lanes) -> Floats:
    """[lanes]: the rise from a lane's first tenth to its last, as a share of all ways up and down between tenths.

    1 for a path that only rises, 0 for one that ends where it began, −1 for one that only falls.
    """
    parts = np.array_split(trial.of("return")[trial.times > 0], TENTHS)
    path = np.array([part.mean(0) for part in parts])
    ways = np.abs(np.diff(path, axis=0)).sum(0)
    return np.where(ways > 0, (path[-1] - path[0]) / np.where(ways > 0, ways, 1.0), 0.0)


def compare(measure: Callable[[Any], Floats], what: str, trials: list[Any], setting: Setting) -> Finding:
    """The chance that a lane of the first form has less than its pair: below a half if the first has more."""
    first, second = map(measure, trials)
    found = paired(first, second, setting.false_alarm)
    words = f"chance that a lane {what}; means {first.mean():.3g} and {second.mean():.3g}"
    return below(found.better, 0.5, setting.false_alarm, words)


earns_more = partial(compare, final_returns, "earns less in the last fifth")
earns_more_early = partial(compare, early_returns, "earns less in the first fifth")
rises_more_steadily = partial(compare, steadiness, "rises less steadily")


def deviates_less(trials: list[Lanes], setting: Setting) -> Finding:
    """Of the return over the last fifth. What has learnt nothing varies little: the means are said, too."""
    first, second = map(final_returns, trials)
    return varies_less(first, second, f"; means {first.mean():.0f} and {second.mean():.0f}", setting)


# ---------------------------------------------------------------------- a policy that is never frozen


class EveryStep(Evaluators):
    """A control: the policy is what has been learnt so far."""

    def close(self, ended: NDArray[np.bool_], epsilon: float) -> None:
        """As if every step ended an evaluation."""
        super().close(ended, epsilon)
        self.policy[:] = self.theta


def every_step() -> list[Claim]:
    """Of both rules on values, at the settings that were chosen for frozen policies."""
    made, how = [], "with a policy that is frozen for 20 episodes than with one that changes at every step"
    source = "ours; the paper evaluates a policy for 20 episodes"
    for rule in ("gtd2", "tdc"):
        id_, says = f"policy_iteration/{V0}/{rule}-frozen-over-every-step", f"{shown(rule, 'value')} earns more {how}"
        more: dict[str, Any] = {"needs": partial(both, rule), "judge": frozen_earns_more, "figure": True}
        made.append(Claim(id_, f"{says}, on {V0}", source, **more, profiles=FULL))
    return made


def both(rule: str, setting: Setting) -> list[Need]:
    """The lanes of Figure 1, and the same lanes with a policy that changes all the time."""
    frozen = at_its_best((rule, "value"), V0, setting)
    return [frozen, *law.per_cohort(returns, frozen)]


def returns(spec: str, first: int, lanes: int) -> list[float]:
    """[lanes]: the mean return over the last fifth, of lanes whose policy is never frozen."""
    run = Iterating.of(RunSpec.from_json(spec))
    walk, times, earned = Walk(run, range(first, first + lanes), EveryStep), run.spec.times(), []
    for t in times:
        while walk.steps < t:
            walk.step()
        seen = walk.book.close(walk.lanes.w[:, 0])[:, 0]  # the first column is the return
        if t > 0.8 * times[-1]:
            earned.append(seen)
    return np.mean(earned, axis=0).tolist()


def frozen_earns_more(evidence: list[Any], setting: Setting) -> Finding:
    frozen, *others = evidence
    pair = [final_returns(frozen), np.concatenate(others)]
    return compare(np.asarray, "earns less in the last fifth", pair, setting)
