"""Policy iteration online: the compiled network engine against the same loop with the mlp engine's torch steps.

Both are the same run, of which the test makes sure. CPU time, calls alternate. In the torch loop networks act and
learn in torch; the compiled world, the draws and the books are ours in both.
"""

import time

import numpy as np
import pytest
import torch

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.table import Batch
from dgtd.harness.experiment.search import iterating_learner, run_spec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from tests.benchmarks.lines import report

WORLD, LANES, STEPS = "cartpole-v0", 30, 200


class InTorch(Evaluators):
    """Lanes that act by MlpEngine.predict and learn by MlpEngine.step, one transition each."""

    def __init__(self, *given):
        super().__init__(*given)
        engine = self.engine
        self.twin = MlpEngine(engine.rule, engine.sizes[:-1], engine.target, activation=engine.activation_name)
        self.weights = [torch.as_tensor(layer.copy()) for layer in engine.layers(self.theta)]
        self.auxiliary = self.twin.zeros(self.weights)
        self.frozen = [layer.clone() for layer in self.weights]

    def act_again(self, out, which, x, explore, choice, behave=0.0):
        both = np.stack([self.inputs(x, np.full(len(x), action)) for action in range(self.actions)], axis=1)
        law, target = self.twin.predict(self.frozen, torch.as_tensor(both)), self.engine.target
        values = (target.v_max - target.spacing * law.sum(-1)).numpy()
        action = np.where(explore < self.epsilon, (choice * self.actions).astype(np.int64), values.argmax(1))
        for part, new in zip(out, (action, 1.0, values.max(1)), strict=True):
            part[:] = np.where(which, new, part)

    def learn(self, lesson, alpha, beta, radius, now):
        shift = self.engine.target.shift(lesson.reward, lesson.discount)
        self.twin.step(self.weights, self.auxiliary, Batch(lesson.x, lesson.x_next, shift, lesson.rho), alpha, beta)

    def close(self, ended, epsilon):
        due = self.seen + ended >= self.episodes
        for frozen, layer in zip(self.frozen, self.weights, strict=True):
            frozen[due] = layer[due]
        super().close(ended, epsilon)


def walks(rule, **options):
    run = Iterating.of(run_spec(WORLD, iterating_learner(rule, WORLD, "cdf", cohort=LANES, **options), 20_000, seed=3))
    return Walk(run, range(LANES)), Walk(run, range(LANES), InTorch)


def seconds(walk):
    start = time.process_time()
    for _ in range(STEPS):
        walk.step()
    return time.process_time() - start


@pytest.mark.benchmark(group="policy iteration")
@pytest.mark.parametrize("rule", ["gtd2", "tdc"])
def test_online_against_the_mlp_engines_steps(benchmark, rule):
    torch.set_num_threads(1)
    ours, theirs = walks(rule)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(9)]
    assert ours.lanes.improved.min() > 0  # policies have changed, and both are still the same run
    np.testing.assert_allclose(theirs.lanes.engine.flat(theirs.lanes.weights), ours.lanes.theta, atol=1e-8)
    ratio = float(np.median([a / b for a, b in pairs]))
    report(benchmark, f"compiled / mlp engine, {rule} cdf, 6-50-30, 30 lanes online", ratio, "≤ 0.2")
    for name, at in (("compiled", 0), ("mlp engine", 1)):
        report(benchmark, f"{name}, µs of CPU per lane-step", 1e6 * min(p[at] for p in pairs) / STEPS / LANES, "-")
    benchmark(ours.step)
    assert ratio <= 0.2
