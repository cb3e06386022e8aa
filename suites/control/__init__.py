"""Control: agents make the published updates, and learn where they act (Algorithm 3; Figure 3).

ci decides what can be decided in a minute: the updates, and that an agent earns more than random actions do. Rankings
are in the full and paper profiles, and are findings about a figure (`dgtd.suites.control.figure_three`).
"""

from dgtd.algorithms.rule import Rule
from dgtd.harness.judging.claims import Claim
from dgtd.suites.control import figure_three, learning, published, seconds


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the paper's agents; a user's rule is held to Algorithm 3's form by the suite `gradients`."""
    if rule is not None:
        return []
    made = [*published.claims(), *published.written_out(), *learning.claims(), *published.updates()]
    return [*made, *learning.beliefs(), *learning.step_sizes(), *seconds.claims(), *figure_three.claims()]
