"""Policy iteration: a policy is evaluated as it is frozen, evaluation has the right fixed point, and TDC learns.

ci decides what can be decided in a minute. What the paper says of Figure 1 is in the full and paper profiles
(`dgtd.suites.policy_iteration.figure_one`), as findings.
"""

from dgtd.algorithms.rule import Rule
from dgtd.harness.judging.claims import Claim
from dgtd.suites.policy_iteration import evaluation, figure_one


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the learner and the paper's rules; a user's rule is held to its own promises elsewhere."""
    if rule is not None:
        return []
    return [*evaluation.claims(), *figure_one.claims(), *figure_one.every_step()]
