"""The laws that a run keeps are those of its last weights, at the states that were asked for. Part of `control`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from algorithms.checks import Floats
from algorithms.engines.replayed import ReplayEngine
from algorithms.streams import generator
from harness.compare import agents, policy_iteration
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly, largest
from harness.runs.acting import Acting
from harness.runs.iterating import Iterating
from harness.runs.spec import PredictorSpec
from suites.control.algorithm_three import cumulated

PLACE, RULE, LANES, ATOMS, STEPS = "cartpole-v0", "gtd2", 2, 7, 40
NETWORK = PredictorSpec("mlp", (6, 5), "tanh")
STILL = 1e-30  # a step size that moves no weight of order 1
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
    worst = largest(0.0, *(np.abs(ours - theirs) for ours, theirs in zip(*kept(states, setting), strict=True)))
    return exactly(worst, SINGLE, f"laws of {LANES} lanes at {len(states)} states are off by {worst:.1e}")


def of_an_agent(states: Floats, setting: Setting) -> tuple[Floats, Floats]:
    """What is kept, and what the first weights say: nothing is learnt in so few steps."""
    made = agents.learner(RULE, PLACE, "cdf", atoms=ATOMS, predictor=NETWORK, cohort=LANES, v_max=10.0)
    acting = Acting.of(run_of(made, states, setting))
    engine = acting.agent.engine(4, 2)
    assert isinstance(engine, ReplayEngine)
    theta = acting.players(range(LANES)).theta.astype(float)
    expected = [[law(engine.shapes, flat, x, 2) for x in states] for flat in theta]
    return acting.simulate(range(LANES), lambda: None).law, np.reshape(expected, (LANES, -1))


def of_policy_iteration(states: Floats, setting: Setting) -> tuple[Floats, Floats]:
    """The same for the action with the larger mean; the network sees observations in units, then the action."""
    made = policy_iteration.learner(RULE, PLACE, "cdf", STILL, STILL, ATOMS, predictor=NETWORK, cohort=LANES)
    iterating = Iterating.of(run_of(made, states, setting))
    shapes = [(rows + 1, columns) for rows, columns in pairwise(iterating.engine.sizes)]
    expected = []
    for flat in iterating.evaluators(range(LANES)).theta[:, 0]:
        for x in states / np.array(policy_iteration.SCALES[PLACE]):
            each = [law(shapes, flat, np.concatenate([x, action]), 1) for action in np.eye(2)]
            expected.append(min(each, key=np.sum))  # atoms are evenly spaced: the less F, the larger the mean
    return iterating.simulate(range(LANES), lambda: None).law, np.reshape(expected, (LANES, -1))


def law(shapes: Sequence[tuple[int, int]], flat: Floats, x: Floats, actions: int) -> Floats:
    """[actions, atoms − 1]: F at all atoms but the last, where it is 1."""
    return cumulated(shapes, torch.tensor(flat), x, actions).numpy()[:, :-1]


def run_of(made: Any, states: Floats, setting: Setting) -> Any:
    """A short run."""
    return agents.run_spec(PLACE, made, STEPS, setting.seed, "laws", tuple(map(tuple, states.tolist())))
