"""How the suites name the runs that they need."""

from __future__ import annotations

from typing import Any

from algorithms.rule import Rule
from harness.judging.claims import Setting
from harness.runs.rule_files import reference_of
from harness.runs.spec import Learner, PlaceSpec, Probe, Request, RunSpec


def request(
    rule: Rule,
    problem: str,
    seeds: int,
    setting: Setting,
    purpose: str,
    times: Any,
    alpha: float,
    beta: float,
    *,
    metrics: tuple[str, ...] = (),
    iid: bool = False,
    axes: tuple[tuple[str, str | int], ...] = (),
    **learner: Any,
) -> Request:
    """Lanes of a rule on a problem; `purpose` names their streams, so that no two claims share one by chance."""
    spec = RunSpec(
        PlaceSpec(problem, iid),
        Learner(reference_of(rule), alpha, beta, **learner),
        Probe(tuple(int(t) for t in times), metrics),
        setting.seed,
        (("purpose", purpose), *axes),
    )
    return Request(spec, seeds)
