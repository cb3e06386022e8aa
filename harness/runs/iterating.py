"""Policy iteration as a run: lanes act by the policy they evaluate, and learn each transition or replayed ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from algorithms.checks import Floats, shape
from algorithms.fast.acting import Choice
from algorithms.fast.network_batches import Lesson
from algorithms.fast.small import SmallEngine
from algorithms.policy_iteration import Evaluators
from algorithms.replay import Replay
from algorithms.targets import CdfTarget
from harness.runs.acting import LOOK, NAMES, InWorld
from harness.runs.acting_spec import Iteration
from harness.runs.bookkeeping import Book, uniforms
from harness.runs.checkpoints import Keeper
from harness.runs.predictors import check_plain
from harness.runs.spec import RunSpec
from harness.runs.trial import Trial


@dataclass(frozen=True, eq=False)
class Iterating(InWorld):
    """Lanes of policy iteration."""

    @staticmethod
    def of(spec: RunSpec) -> Iterating:
        """With its network and its scale checked against the world."""
        made = Iterating.entering(spec, spec.learner.iteration)
        shape("scale", made.scale, (made.world.observations,))
        if spec.learner.predictor.kind != "mlp":
            raise ValueError(f"policy iteration needs a network, as in 'mlp(50)', got {spec.learner.predictor.kind!r}")
        if spec.learner.predictor.single:
            raise ValueError("policy iteration runs in float64, got a predictor in float32")
        check_plain(replace(spec.learner.predictor, pinned=False))
        return made

    @property
    def how(self) -> Iteration:
        """How it iterates."""
        assert self.spec.learner.iteration is not None
        return self.spec.learner.iteration

    @cached_property
    def scale(self) -> Floats:
        """What observations are divided by."""
        return np.array(self.how.scale or np.ones(self.world.observations))

    @cached_property
    def engine(self) -> SmallEngine:
        """The network over (s, a)."""
        predictor = self.spec.learner.predictor
        sizes = (self.world.observations + self.world.actions, *predictor.hidden)
        return SmallEngine(self.rule, sizes, self.target, activation=predictor.activation, pinned=predictor.pinned)

    def evaluators(self, seeds: range, kind: type[Evaluators] = Evaluators) -> Evaluators:
        """The lanes of these seeds, before their first step; of another kind for controls."""
        theta = self.spec.learner.spread * self.engine.init(self.weights(seeds))
        batch = self.how.batch if self.how.capacity else 1
        return kind(self.engine, theta, self.world.actions, self.how.episodes, self.how.epsilon(0), batch)

    def simulate(self, seeds: range, tick: Callable[[], None], keeper: Keeper | None = None) -> Trial:
        """Act until the last of the probe's times. These runs are short: they start again rather than keep anything."""
        times, lanes = self.spec.times(), len(seeds)
        walk = Walk(self, seeds)
        curves = np.full((len(times), lanes, len(NAMES)), np.nan)
        for i, t in enumerate(times):
            while walk.done < t:
                walk.step()
                if walk.done % LOOK == 0:
                    tick()
            curves[i] = walk.book.close(walk.lanes.w[:, 0])
            tick()
        return Trial(times, curves, walk.lanes.died, NAMES, self._laws(walk.lanes))

    def _laws(self, lanes: Evaluators) -> Floats:
        """[lanes, states · n]: the last law of the greedy action."""
        if not isinstance(self.target, CdfTarget):
            return np.zeros((len(lanes.theta), 0))
        import torch

        from algorithms.fast.mlp import MlpEngine

        inputs = []
        for state in self.states / self.scale:
            x = np.tile(state, (len(lanes.theta), 1))
            inputs.append(lanes.inputs(x, lanes.values(x).argmax(1)))
        shape_of = self.engine
        twin = MlpEngine(
            self.rule, shape_of.sizes[:-1], self.target, activation=shape_of.activation_name, pinned=shape_of.pinned
        )
        weights = [torch.as_tensor(layer) for layer in shape_of.layers(lanes.theta)]
        return twin.predict(weights, torch.as_tensor(np.stack(inputs, 1))).flatten(1).numpy()


class Walk:
    """Lanes on their way: where they are, the action each will take there, and what has been earned."""

    def __init__(self, run: Iterating, seeds: range, kind: type[Evaluators] = Evaluators) -> None:
        self.run, self.how, self.done = run, run.how, 0
        self.lanes = run.evaluators(seeds, kind)
        self.world = run.world.make(run.streams(seeds, "world"))
        self.book = Book(len(seeds), self.how.gamma)
        self._explores, self._draws = run.streams(seeds, "exploration"), np.empty((len(seeds), 4))
        self._replay = None
        if self.how.capacity:
            self._replay = Replay(run.streams(seeds, "replay"), self.how.capacity, run.world.observations)
        self._afresh = run.streams(seeds, "next actions")
        self._schedule = run.spec.learner.schedule.make()
        uniforms(self._explores, self._draws)
        self._next = self._choose(self._seen(), 2)

    def _seen(self) -> Floats:
        return self.world.observation / self.run.scale

    def _choose(self, x: Floats, column: int) -> Choice:
        """By two of the four draws of this step: the last two begin an episode, and every lane draws them always."""
        return self.lanes.act(x, self._draws[:, column], self._draws[:, column + 1], self.how.behave)

    def step(self) -> None:
        """One transition of every lane: the next action is drawn before it is learnt, by the policy that acts."""
        lanes, how = self.lanes, self.how
        x, (action, _, worth) = self._seen(), self._next
        moved = self.world.step(action)
        x_next, ended = moved.observation / self.run.scale, moved.terminated | moved.truncated
        self.book.enter(moved.reward, ended, worth)
        discount = np.where(moved.terminated, 0.0, how.gamma)
        uniforms(self._explores, self._draws)
        following = self._choose(x_next, 0)
        self.done += 1
        if self._replay is None:
            ratio = np.where(moved.terminated, 1.0, following.rho)  # nothing follows: there is nothing to weigh
            at, to = lanes.inputs(x, action), lanes.inputs(x_next, following.action)
            lesson = Lesson(at[:, None], to[:, None], moved.reward[:, None], discount[:, None], ratio[:, None])
        else:
            self._replay.add(x, action, moved.reward, discount, x_next)
            lesson = self._replayed(self._replay)
        self._learn(lesson)
        lanes.close(ended, how.epsilon(self.done))
        self._next = following
        if ended.any():  # a new episode begins, by a policy that may be new
            lanes.act_again(following, ended, self._seen(), self._draws[:, 2], self._draws[:, 3], how.behave)

    def _learn(self, lesson: Lesson) -> None:
        learner = self.run.spec.learner
        slower, quicker = (float(part[0]) for part in self._schedule.factors(self.done - 1, 1))
        radius = np.inf if learner.radius is None else learner.radius
        self.lanes.learn(lesson, learner.alpha * slower, learner.beta * quicker, radius, self.done - 1)

    def _replayed(self, replay: Replay) -> Lesson:
        """Drawn transitions, their next actions from the policy under evaluation as it is now."""
        drawn, lanes, count = replay.draw(self.how.batch), self.lanes, self.how.batch
        draws = np.empty((len(lanes.theta), 2 * count))
        uniforms(self._afresh, draws)
        explore, choice = (draws[:, first::2].ravel() for first in (0, 1))
        x_next = drawn.x_next.reshape(-1, drawn.x_next.shape[2]).astype(float)
        following = lanes.act(x_next, explore, choice).action.reshape(-1, count)
        at, to = lanes.inputs(drawn.x, drawn.action), lanes.inputs(drawn.x_next, following)
        return Lesson(at, to, drawn.reward, drawn.discount, np.ones(drawn.action.shape))
