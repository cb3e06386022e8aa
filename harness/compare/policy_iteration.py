"""Policy iteration by name: the paper's networks and ranges for Figure 1, as far as it gives them."""

from __future__ import annotations

from typing import Any

from algorithms.rules import PUBLISHED
from algorithms.targets import target_class
from harness.runs.acting_spec import Iteration
from harness.runs.rule_files import reference
from harness.runs.spec import Learner, PredictorSpec, StepSchedule

NAME = "policy-iteration"
ATOMS = 30
HIDDEN = {"value": (30,), "cdf": (50,)}
ALPHA, BETA = 0.03, 0.03
COHORT = 10
CONSTANT = StepSchedule()
_CARTPOLE = (2.4, 3.0, 0.21, 3.0)  # where an episode ends, and about what speeds reach
SCALES = {"cartpole-v0": _CARTPOLE, "cartpole-v1": _CARTPOLE}


def learner(
    name: str,
    world: str,
    target: str = "value",
    alpha: float = ALPHA,
    beta: float = BETA,
    atoms: int = ATOMS,
    projection: str = "cramer",
    predictor: PredictorSpec | None = None,
    schedule: StepSchedule = CONSTANT,
    radius: float | None = None,
    cohort: int = COHORT,
    **iteration: Any,
) -> Learner:
    """A rule that evaluates policies; the network sees observations in units of `SCALES`, or as they are."""
    if name in PUBLISHED:
        raise ValueError(f"{name!r} is an agent with a policy of its own: policy iteration takes a rule, as in 'gtd2'")
    how = Iteration.given(**{"scale": SCALES.get(world, ())} | iteration)
    target_class(target)
    network = predictor or PredictorSpec("mlp", HIDDEN[target])
    return Learner(
        reference(name), alpha, beta, target, atoms, projection, schedule, radius, predictor=network, cohort=cohort,
        iteration=how,
    )  # fmt: skip
