"""Policy iteration: lanes act by the policy they evaluate, and learn each transition or replayed ones."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.checks import Floats, shape
from dgtd.algorithms.fast.acting import Choice
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.network_batches import Lesson
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.replay import Replay, State
from dgtd.algorithms.targets import CdfTarget, target_class
from dgtd.harness.places.world import find_world
from dgtd.harness.runs.acting_spec import Iteration
from dgtd.harness.runs.predictors import Words, check_plain, published
from dgtd.harness.runs.spec import Learner, PredictorSpec, RunSpec
from dgtd.harness.runs.trainers.world import InWorld, Playing, uniforms

HIDDEN = {"value": (30,), "cdf": (50,)}  # the paper's networks for Figure 1


class Iterating(InWorld):
    """Lanes of policy iteration."""

    alphas: ClassVar[tuple[float, ...]] = (0.01, 0.03, 0.1, 0.3)  # step sizes of SGD, if a search chooses
    ratios: ClassVar[tuple[float, ...]] = (1.0,)  # β/α
    sweep_seeds: ClassVar[int] = 5
    alpha, beta, atoms, cohort = 0.03, 0.03, 30, 10
    searched: ClassVar[dict[str, int]] = {"capacity": 10_000, "batch": 8}  # settings where a search chooses: a replay

    @staticmethod
    def learner(words: Words, kind: str = "") -> Learner:
        """A rule that evaluates policies; the network sees observations in the world's scale, or as they are."""
        if published(words.rule) is not None:
            raise ValueError(
                f"{words.rule.name!r} is an agent with a policy of its own: policy iteration takes a rule, as in 'gtd2'"
            )
        how = Iteration.given(**{"scale": find_world(words.place).scale} | words.settings)
        target_class(words.target)
        own = Iterating
        return words.learner(
            alpha=own.alpha, beta=own.beta, atoms=own.atoms, cohort=own.cohort, iteration=how,
            predictor=words.predictor or PredictorSpec("mlp", HIDDEN[words.target]),
        )  # fmt: skip

    @classmethod
    def of(cls, spec: RunSpec) -> Iterating:
        """With its network and its scale checked against the world."""
        made = cls.entering(spec, spec.learner.iteration)
        shape("scale", made.scale, (made.world.observations,))
        if spec.learner.predictor.kind != "mlp":
            raise ValueError(f"policy iteration needs a network, as in 'mlp(50)', got {spec.learner.predictor.kind!r}")
        if spec.learner.predictor.single:
            raise ValueError("policy iteration runs in float64, got a predictor in float32")
        check_plain(replace(spec.learner.predictor, pinned=False))
        return made

    @cached_property
    def scale(self) -> Floats:
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

    def start(self, seeds: range) -> Walk:
        return Walk(self, seeds)

    def advance(self, state: Walk, steps: int) -> None:
        for _ in range(steps):
            state.step()

    def measure(self, state: Walk) -> Floats:
        return state.book.close(state.lanes.w[:, 0])

    def laws(self, state: Walk) -> Floats:
        """[lanes, states · n]: the last law of the greedy action."""
        lanes = state.lanes
        if not isinstance(self.target, CdfTarget):
            return np.zeros((len(lanes.theta), 0))
        inputs = []
        for place in self.states / self.scale:
            x = np.tile(place, (len(lanes.theta), 1))
            inputs.append(lanes.inputs(x, lanes.values(x).argmax(1)))
        return self.predicted(lanes.theta, np.stack(inputs, 1)).reshape(len(lanes.theta), -1)

    def predicted(self, theta: Floats, inputs: Floats) -> Floats:
        """[lanes, inputs, n]: what networks θ say of inputs [lanes, inputs, k]."""
        engine = self.engine
        twin = MlpEngine(
            self.rule, engine.sizes[:-1], self.target, activation=engine.activation_name, pinned=engine.pinned
        )
        weights = [torch.as_tensor(layer) for layer in engine.layers(theta)]
        return twin.predict(weights, torch.as_tensor(inputs)).numpy()


class Walk(Playing):
    """Lanes on their way: where they are, the action each will take there, and what has been earned."""

    def __init__(self, run: Iterating, seeds: range, kind: type[Evaluators] = Evaluators) -> None:
        super().__init__(run, seeds)
        self.run, self.how = run, run.how
        self.lanes = run.evaluators(seeds, kind)
        self.died = self.lanes.died
        self._draws = np.empty((len(seeds), 4))
        self._replay = None
        if self.how.capacity:
            self._replay = Replay(run.streams(seeds, "replay"), self.how.capacity, run.world.observations)
            self.kept["replay"] = self._replay
        self._afresh = run.streams(seeds, "next actions")
        self._schedule = run.spec.learner.schedule.make()
        uniforms(self.explores, self._draws)
        self._next = self._choose(self._seen(), 2)

    def own(self) -> dict[str, State]:
        """With weights and policies, the next actions and what they were drawn from."""
        names = ("theta", "w", "policy", "epsilon", "seen", "improved", "died")
        drawn: State = {"afresh": self._afresh, "draws": self._draws} | self._next._asdict()
        return {"own": super().own()["own"] | drawn, "lanes": {name: getattr(self.lanes, name) for name in names}}

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
        uniforms(self.explores, self._draws)
        following = self._choose(x_next, 0)
        self.steps += 1
        if self._replay is None:
            ratio = np.where(moved.terminated, 1.0, following.rho)  # nothing follows: there is nothing to weigh
            at, to = lanes.inputs(x, action), lanes.inputs(x_next, following.action)
            lesson = Lesson(at[:, None], to[:, None], moved.reward[:, None], discount[:, None], ratio[:, None])
        else:
            self._replay.add(x, action, moved.reward, discount, x_next)
            lesson = self._replayed(self._replay)
        self._learn(lesson)
        lanes.close(ended, how.epsilon(self.steps))
        self._next = following
        if ended.any():  # a new episode begins, by a policy that may be new
            lanes.act_again(following, ended, self._seen(), self._draws[:, 2], self._draws[:, 3], how.behave)

    def _learn(self, lesson: Lesson) -> None:
        learner = self.run.spec.learner
        slower, quicker = (float(part[0]) for part in self._schedule.factors(self.steps - 1, 1))
        radius = np.inf if learner.radius is None else learner.radius
        self.lanes.learn(lesson, learner.alpha * slower, learner.beta * quicker, radius, self.steps - 1)

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
