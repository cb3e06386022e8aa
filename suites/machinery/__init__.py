"""The machinery itself: statistics, verdicts, ledger, store, runs and comparisons, on data with known answers."""

from __future__ import annotations

from algorithms.rule import Rule
from harness.judging.claims import Claim
from suites.machinery import (
    agents,
    comparison,
    fingerprints,
    intervals,
    ledger,
    runs,
    significance,
    store,
    sweeps,
    verdicts,
)

ROOMS = (intervals, significance, verdicts, ledger, store, runs, fingerprints, sweeps, comparison, agents)


def claims(rule: Rule | None = None) -> list[Claim]:
    """They depend on no rule, so that nothing is said of a user's."""
    return [] if rule is not None else [claim for room in ROOMS for claim in room.claims()]
