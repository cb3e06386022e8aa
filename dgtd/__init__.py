"""dgtd turns what a paper says of a temporal-difference algorithm into claims that a machine checks.

    result = dgtd.compare(["gtd2", "tdc"], problems=["baird", "boyan"])
    result.winners, result.summary, result.frame

The command line's names are strings here; a rule may also be a function with `@dgtd.rule`, a problem a `dgtd.Problem`.
`dgtd.algorithms`, `dgtd.harness` and `dgtd.suites` are the rooms behind it.
"""

from typing import TYPE_CHECKING

from dgtd.algorithms.names import lazily

if TYPE_CHECKING:
    from dgtd.algorithms.rule import Cotangents, Promise, Rule, rule
    from dgtd.calls import certify, curve, explain, problem, run, suite, sweep, world
    from dgtd.comparing import Result, compare
    from dgtd.harness.oracle.mdp import FiniteMDP
    from dgtd.harness.oracle.problem import Problem
    from dgtd.learning import Learner, learn

__all__ = [
    "Cotangents", "FiniteMDP", "Learner", "Problem", "Promise", "Result", "Rule", "certify", "compare", "curve",
    "explain", "learn", "problem", "rule", "run", "suite", "sweep", "world",
]  # fmt: skip

# `pytest -p dgtd` adds the suites' options; without it pytest knows nothing of us.
pytest_plugins = ["dgtd.harness.judging.pytest_plugin"]

_get = lazily(
    __name__,
    {
        **dict.fromkeys(("Cotangents", "Promise", "Rule", "rule"), "algorithms.rule"),
        **dict.fromkeys(("certify", "curve", "explain", "problem", "run", "suite", "sweep", "world"), "calls"),
        **dict.fromkeys(("Result", "compare"), "comparing"),
        **dict.fromkeys(("Learner", "learn"), "learning"),
        "FiniteMDP": "harness.oracle.mdp", "Problem": "harness.oracle.problem",
    },
)  # fmt: skip


def __getattr__(name: str) -> object:
    return _get(name)


def __dir__() -> list[str]:
    return [*__all__, "algorithms", "harness", "suites"]
