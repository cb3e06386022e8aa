"""Agents: lanes act in a world, replay what they saw and learn; what is measured is what they earn."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.replayed import ReplayModule
from dgtd.algorithms.replay import Replay
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.places.world import find_world
from dgtd.harness.plugins import answering
from dgtd.harness.runs.acting_spec import Control
from dgtd.harness.runs.predictors import Words, check_plain, published, shown, users_module
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Learner, PredictorSpec, RunSpec, StepSchedule
from dgtd.harness.runs.trainers.world import InWorld, Playing, uniforms

NETWORK = PredictorSpec("mlp", (64, 64), "relu")


class Playful(Playing):
    """An agent's lanes, with their replay."""

    def __init__(self, run: Acting, seeds: range) -> None:
        super().__init__(run, seeds)
        self.players = run.players(seeds)
        self.replay = Replay(run.streams(seeds, "replay"), run.how.capacity, run.world.observations)
        self.draws = np.empty((len(seeds), 2))
        self.died = self.players.died
        self.kept |= {"players": self.players, "replay": self.replay}


class Acting(InWorld):
    """An agent's lanes."""

    alphas: ClassVar[tuple[float, ...]] = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)  # rates of Adam, if a search chooses
    ratios: ClassVar[tuple[float, ...]] = ()  # w's rate is not searched
    sweep_seeds: ClassVar[int] = 5
    alpha, beta, atoms, cohort = 5e-4, 0.01, 40, 10  # a long cohort is a long wait after a kill

    @staticmethod
    def learner(words: Words, kind: str = "") -> Learner:
        """An agent: a published one, or a rule (a user's too) that bootstraps from itself."""
        rule, target = words.rule, words.target
        low, high = find_world(words.place).returns
        settings: dict[str, Any] = {"v_min": low, "v_max": high}
        if (row := published(rule)) is not None:
            rule, target = reference(row.rule), row.target
            settings |= {"metric": row.metric, "frozen": row.frozen}
        predictor = words.predictor or NETWORK
        if predictor.kind not in ("mlp", "module"):
            known = "'mlp(64,64,relu)' or file.py:function"
            raise ValueError(f"a learner in a world must be a network, as in {known}, got {predictor.kind!r}")
        if words.schedule != StepSchedule():
            raise ValueError(f"agents have optimisers and no schedule, got {words.schedule.name!r}")
        return words.learner(
            rule=rule, target=target, alpha=Acting.alpha, beta=Acting.beta, atoms=Acting.atoms, cohort=Acting.cohort,
            predictor=predictor, control=Control.given(**settings | words.settings), radius=None,
        )  # fmt: skip

    @classmethod
    def of(cls, spec: RunSpec) -> Acting:
        """With its networks checked against the world."""
        if spec.learner.control is None:
            raise ValueError(f"{spec.learner.rule.name!r} is to act, and its learner has no control")
        made = cls.entering(spec, spec.learner.control)
        check_plain(spec.learner.predictor)
        engine = made.agent.engine(made.world.observations, made.world.actions)
        if isinstance(engine, ReplayModule):
            with answering(f"predictor {shown(spec.learner.predictor)!r}"):
                engine.tried()
        return made

    @cached_property
    def agent(self) -> Agent:
        predictor, control = self.spec.learner.predictor, self.how
        network = None if predictor.file is None else partial(users_module, predictor)
        return Agent(
            self.rule, self.target, control.metric, control.frozen, control.theta_optimiser, control.w_optimiser,
            predictor.hidden, predictor.activation, network,
        )  # fmt: skip

    def players(self, seeds: range) -> Players:
        """The lanes of these seeds, before their first step."""
        learner, world = self.spec.learner, self.world
        return Players.start(
            self.agent, world.observations, world.actions, self.weights(seeds), learner.alpha, learner.beta
        )

    def start(self, seeds: range) -> Playful:
        return Playful(self, seeds)

    def advance(self, state: Playful, steps: int) -> None:
        control, players, world, replay = self.how, state.players, state.world, state.replay
        draws, done = state.draws, state.steps
        for done in range(state.steps + 1, state.steps + steps + 1):
            uniforms(state.explores, draws)
            seen = world.observation.copy()  # a world may write where it wrote before
            actions, worth = players.act(seen, draws[:, 0], draws[:, 1], control.epsilon(done - 1))
            moved = world.step(actions)
            state.book.enter(moved.reward, moved.terminated | moved.truncated, worth)
            discount = np.where(moved.terminated, 0.0, control.gamma)
            replay.add(seen, actions, moved.reward, discount, moved.observation)
            if done >= control.begin and done % control.every == 0:
                players.learn(replay.draw(control.batch), done)
            players.renew(done)
        state.steps = done

    def measure(self, state: Playful) -> Floats:
        return state.book.close(state.players.w)

    def laws(self, state: Playful) -> Floats:
        """[lanes, states · actions · n]: the last law of every action."""
        players, lanes = state.players, len(state.died)
        if not isinstance(self.target, CdfTarget):
            return np.zeros((lanes, 0))
        found = players.engine.laws(players.theta, np.broadcast_to(self.states, (lanes, *self.states.shape)).copy())
        return found.reshape(lanes, -1).astype(float)
