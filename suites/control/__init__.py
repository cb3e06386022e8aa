"""Control: agents make the published updates, and learn where they act (Algorithm 3; Figure 3).

ci decides what can be decided in a minute: the updates, and that an agent earns more than random actions do. Rankings
are in the full and paper profiles, and are findings about a figure (`dgtd.suites.control.figure_three`).
"""

from dgtd.algorithms.rule import Rule
from dgtd.harness.judging.claims import Claim
from dgtd.suites.control import (
    algorithm_three,
    cut_off,
    figure_three,
    learning,
    published,
    seconds,
    step_sizes,
    updates,
)


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the paper's agents; a user's rule is held to Algorithm 3's form by the suite `gradients`."""
    if rule is not None:
        return []
    parts = (published, algorithm_three, learning, updates, cut_off, step_sizes, seconds, figure_three)
    return [claim for part in parts for claim in part.claims()]
