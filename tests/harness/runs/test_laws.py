"""The laws that a run keeps are those of its last weights, at the states that were asked for."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from dgtd.algorithms.replay import State
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.experiment.search import agent_learner, iterating_learner, run_spec
from dgtd.harness.oracle.literal import Network
from dgtd.harness.runs.checkpoints import Keeper
from dgtd.harness.runs.spec import PredictorSpec
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.harness.runs.trainers.trainer import train

PLACE, LANES, ATOMS = "cartpole-v0", 2, 7
STEPS = 128  # a checkpoint is taken at the last one
HIDDEN = (6, 5)
NETWORK = PredictorSpec("mlp", HIDDEN, "tanh")
STATES = np.random.default_rng(0).normal(0.0, 0.1, (3, 4))


@dataclass
class Looking(Keeper):
    """A keeper that writes nothing to disk: it holds the last state that it was given."""

    seen: State = field(default_factory=dict)

    def load(self) -> None:
        """Nothing was kept before."""

    def due(self) -> bool:
        return True

    def write(self, step: int, state: State) -> None:
        """A copy: the lanes go on."""
        self.seen = {name: np.array(array) for name, array in state.items()}


def run_of(made):
    return run_spec(PLACE, made, STEPS, 0, "laws", tuple(map(tuple, STATES.tolist())))


def law(inputs, flat, x, actions):
    """[actions, atoms − 1]: F at all atoms but the last, where it is 1."""
    formula = Network((inputs, *HIDDEN), CdfTarget(0, 10, ATOMS), actions=actions)
    theta, x = torch.as_tensor(np.asarray(flat, dtype=float)), torch.as_tensor(x)
    return np.stack([formula.at(action)(theta, x).numpy() for action in range(actions)])


def test_an_agents_laws_are_the_networks_after_the_last_step():
    made = agent_learner(
        "gtd2", PLACE, "cdf", 0.01, 0.01, ATOMS, predictor=NETWORK, cohort=LANES, v_max=10.0, begin=16, batch=8, every=1
    )
    keeper = Looking(Path("nowhere"), {})
    kept = train(Acting.of(run_of(made)), range(LANES), lambda: None, keeper).law
    expected = [[law(4, theta, x, 2) for x in STATES] for theta in keeper.seen["lanes/players/theta"]]
    np.testing.assert_allclose(kept, np.reshape(expected, (LANES, -1)), rtol=0, atol=1e-6)  # in single precision


def test_policy_iterations_laws_are_of_the_action_that_its_policy_chooses():
    """The network sees observations in units, then the action; what was learnt may choose otherwise."""
    made = iterating_learner("gtd2", PLACE, "cdf", 0.1, 0.1, ATOMS, predictor=NETWORK, cohort=LANES, episodes=1)
    iterating = Iterating.of(run_of(made))
    walk, expected = Walk(iterating, range(LANES)), []
    while walk.steps < STEPS:
        walk.step()
    for learnt, policy in zip(walk.lanes.theta[:, 0], walk.lanes.policy[:, 0], strict=True):
        for x in STATES / iterating.scale:
            seen = [np.concatenate([x, action]) for action in np.eye(2)]
            # Atoms are evenly spaced: the less F, the larger the mean.
            best = int(np.argmin([law(6, policy, each, 1).sum() for each in seen]))
            expected.append(law(6, learnt, seen[best], 1))
    kept = train(iterating, range(LANES), lambda: None).law
    np.testing.assert_allclose(kept, np.reshape(expected, (LANES, -1)), rtol=0, atol=1e-6)
