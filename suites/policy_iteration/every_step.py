"""Policy iteration whose policy is never frozen: a control of what is frozen, and a finding on what freezing earns."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.agents import Evaluators
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.verdicts import Finding
from dgtd.harness.runs.job import Job
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.suites.policy_iteration.figure_one import at_its_best, compare
from dgtd.suites.policy_iteration.search import V0, shown
from dgtd.suites.returns import final_returns


class EveryStep(Evaluators):
    """A control: the policy is what has been learnt so far."""

    def close(self, ended: NDArray[np.bool_], epsilon: float) -> None:
        """As if every step ended an evaluation."""
        super().close(ended, epsilon)
        self.policy[:] = self.theta


def claims() -> list[Claim]:
    """Of both rules on values, at the settings that were chosen for frozen policies."""
    return [
        Claim(
            id=f"policy_iteration/{V0}/{rule}-frozen-over-every-step",
            says=f"{shown(rule, 'value')} earns more with a policy that is frozen for 20 episodes than with one that "
            f"changes at every step, on {V0}",
            source="ours; the paper evaluates a policy for 20 episodes",
            needs=partial(both, rule),
            judge=earns_more,
            figure=True,
            profiles=("full", "paper"),
        )
        for rule in ("gtd2", "tdc")
    ]


def both(rule: str, setting: Setting) -> list[Need]:
    """The lanes of Figure 1, and the same lanes with a policy that changes all the time."""
    frozen = at_its_best((rule, "value"), V0, setting)
    size = frozen.spec.learner.cohort
    firsts = range(0, frozen.seeds, size)
    return [frozen, *(Job.of(returns, spec=frozen.spec.to_json(), first=first, lanes=size) for first in firsts)]


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


def earns_more(evidence: list[Any], setting: Setting) -> Finding:
    frozen, *others = evidence
    pair = [final_returns(frozen), np.concatenate(others)]
    return compare(np.asarray, "earns less in the last fifth", pair, setting)
