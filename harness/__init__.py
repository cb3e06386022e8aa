"""Runs and judges: from a problem to evidence, and from evidence to a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgtd.algorithms.names import lazily

if TYPE_CHECKING:
    from dgtd.harness.judging.claims import Claim, Setting
    from dgtd.harness.judging.verdicts import Finding, Verdict, exactly
    from dgtd.harness.oracle.mdp import FiniteMDP
    from dgtd.harness.oracle.problem import Problem
    from dgtd.harness.plugins import find_problem
    from dgtd.harness.runs.spec import RunSpec
    from dgtd.harness.runs.store import Store

__all__ = [
    "Claim", "Finding", "FiniteMDP", "Problem", "RunSpec", "Setting", "Store", "Verdict", "exactly", "find_problem",
]  # fmt: skip

__getattr__ = lazily(
    __name__,
    {
        "Claim": "judging.claims", "Setting": "judging.claims", "Finding": "judging.verdicts",
        "Verdict": "judging.verdicts", "exactly": "judging.verdicts", "FiniteMDP": "oracle.mdp",
        "Problem": "oracle.problem", "find_problem": "plugins", "RunSpec": "runs.spec", "Store": "runs.store",
    },
)  # fmt: skip
