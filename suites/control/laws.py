"""The laws that a run keeps are those of its last weights, at the states that were asked for. Part of `control`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from algorithms.checks import Floats
from algorithms.fast.replayed import ReplayEngine
from algorithms.streams import generator
from harness.experiment.learners import agent_learner, iterating_learner, run_spec
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from harness.runs.spec import PredictorSpec
from harness.runs.trainers.agent import Acting
from harness.runs.trainers.policy_iteration import Iterating, Walk
from harness.runs.trainers.trainer import train
from suites.control.algorithm_three import cumulated
from suites.control.physics import Looking

PLACE, RULE, LANES, ATOMS = "cartpole-v0", "gtd2", 2, 7
STEPS = 128
NETWORK = PredictorSpec("mlp", (6, 5), "tanh")
SINGLE = 1e-6  # agents have weights in single precision


def claims() -> list[Claim]:
    """An agent's, and policy iteration's."""
    return [
        Claim(
            id=f"control/laws/{name}",
            says=f"the laws that {who} keeps are the network's at the states that were asked for",
            source="Figures 1 and 3",
            check=partial(laws_differ, kept),
        )
        for name, who, kept in (
            ("agent", "an agent", of_an_agent),
            ("policy-iteration", "policy iteration", of_policy_iteration),
        )
    ]


def laws_differ(kept: Any, setting: Setting) -> Finding:
    """At random states, against the network written out."""
    states = generator(setting.seed, suite="control", which="laws").normal(0.0, 0.1, (3, 4))
    ours, theirs = kept(states, setting)
    wrong = int((~np.isclose(ours, theirs, rtol=0.0, atol=SINGLE)).sum())
    return exactly(wrong, 0.0, f"of {ours.size} numbers, laws of {LANES} lanes at {len(states)} states, {wrong} differ")


def of_an_agent(states: Floats, setting: Setting) -> tuple[Floats, Floats]:
    """What is kept, and what the weights say that a checkpoint has after the last step."""
    made = agent_learner(
        RULE, PLACE, "cdf", 0.01, 0.01, ATOMS, predictor=NETWORK, cohort=LANES, v_max=10.0, begin=16, batch=8, every=1
    )
    acting, keeper = Acting.of(run_of(made, states, setting)), Looking(Path("nowhere"), {})
    kept = train(acting, range(LANES), lambda: None, keeper).law
    engine = acting.agent.engine(4, 2)
    assert isinstance(engine, ReplayEngine)
    theta = keeper.seen["players/theta"].astype(float)
    expected = [[law(engine.shapes, flat, x, 2) for x in states] for flat in theta]
    return kept, np.reshape(expected, (LANES, -1))


def of_policy_iteration(states: Floats, setting: Setting) -> tuple[Floats, Floats]:
    """The same for the action with the larger mean; the network sees observations in units, then the action."""
    made = iterating_learner(RULE, PLACE, "cdf", 0.1, 0.1, ATOMS, predictor=NETWORK, cohort=LANES, episodes=1)
    iterating = Iterating.of(run_of(made, states, setting))
    shapes = [(rows + 1, columns) for rows, columns in pairwise(iterating.engine.sizes)]
    walk = Walk(iterating, range(LANES))
    while walk.steps < STEPS:
        walk.step()
    expected = []
    for learnt, policy in zip(walk.lanes.theta[:, 0], walk.lanes.policy[:, 0], strict=True):
        for x in states / iterating.scale:
            seen = [np.concatenate([x, action]) for action in np.eye(2)]
            # Atoms are evenly spaced: the less F, the larger the mean. The policy's network chooses.
            best = int(np.argmin([law(shapes, policy, each, 1).sum() for each in seen]))
            expected.append(law(shapes, learnt, seen[best], 1))
    return train(iterating, range(LANES), lambda: None).law, np.reshape(expected, (LANES, -1))


def run_of(made: Any, states: Floats, setting: Setting) -> Any:
    """A short run."""
    return run_spec(PLACE, made, STEPS, setting.seed, "laws", tuple(map(tuple, states.tolist())))


def law(shapes: Sequence[tuple[int, int]], flat: Floats, x: Floats, actions: int) -> Floats:
    """[actions, atoms − 1]: F at all atoms but the last, where it is 1."""
    return cumulated(shapes, torch.tensor(flat), x, actions).numpy()[:, :-1]
