"""Learners of worlds as runs: what a name such as `dqn` or `greedy_gq(0.5)` stands for, with settings seen to work."""

from __future__ import annotations

from typing import Any

from algorithms.checks import whole
from algorithms.rules import PUBLISHED
from harness.runs.acting_spec import Control
from harness.runs.rule_files import reference
from harness.runs.spec import MOST_STEPS, Learner, Place, PredictorSpec, Probe, RunSpec, States
from harness.worlds.world import find_world

NETWORK = PredictorSpec("mlp", (64, 64), "relu")
ATOMS = 40
ALPHA, BETA = 5e-4, 0.01
COHORT = 10  # lanes of a world that run together: a long cohort is a long wait after a kill
# Where returns lie, for the atoms of laws. CartPole's discounted return is at most 1/(1 − γ); ViZDoom's is the paper's.
RANGES = {
    "cartpole-v0": (0.0, 100.0), "cartpole-v1": (0.0, 100.0),
    "gym:LunarLander-v3": (-400.0, 300.0), "vizdoom-defend-the-center": (-10.0, 20.0),
}  # fmt: skip
POINTS = 50


def shown(name: str, target: str) -> str:
    """What a reader calls the agent."""
    if name in PUBLISHED:
        return name.upper()
    return f"distributional {name}" if target == "cdf" else name


def learner(
    name: str,
    world: str,
    target: str = "cdf",
    alpha: float = ALPHA,
    beta: float = BETA,
    atoms: int = ATOMS,
    projection: str = "cramer",
    predictor: PredictorSpec = NETWORK,
    cohort: int = COHORT,
    **control: Any,
) -> Learner:
    """An agent by name: a published one, or a rule (a user's too) that bootstraps from itself."""
    row = PUBLISHED.get(name)
    low, high = RANGES.get(world, (-100.0, 100.0))
    settings: dict[str, Any] = {"v_min": low, "v_max": high}
    if row is not None:
        name, target = row.rule, row.target
        settings |= {"metric": row.metric, "frozen": row.frozen}
    if predictor.kind not in ("mlp", "module"):
        known = "'mlp(64,64,relu)' or file.py:function"
        raise ValueError(f"a learner in a world must be a network, as in {known}, got {predictor.kind!r}")
    made = Control.given(**settings | control)
    return Learner(
        reference(name, PUBLISHED), alpha, beta, target, atoms, projection, predictor=predictor, cohort=cohort,
        control=made,
    )  # fmt: skip


def checkpoints(steps: int) -> tuple[int, ...]:
    """Evenly spaced: returns are means over the episodes between two."""
    whole("steps", steps, 1, MOST_STEPS)
    count = min(POINTS, steps)
    return tuple(dict.fromkeys(round(steps * i / count) for i in range(count + 1)))


def run_spec(
    world: str, made: Learner, steps: int, seed: int = 0, purpose: str = "lanes", states: States = ()
) -> RunSpec:
    """A run in a world, from its first step on; laws are kept at these states, or where all is 0."""
    find_world(world)
    return RunSpec(Place(world), made, Probe(checkpoints(steps), states=states), seed, (("purpose", purpose),))
