"""A learner in a world: lanes act, replay and learn; what is measured is what they earn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from algorithms.agents import Agent, Players
from algorithms.checks import Floats
from algorithms.fast.replayed_module import ReplayModule
from algorithms.replay import Replay
from algorithms.rule import Rule
from algorithms.state import State, joined, part_of, refill
from algorithms.streams import generators, lane_streams
from algorithms.targets import CdfTarget, Target, target_class
from harness.plugins import answering
from harness.runs.acting_spec import Acts, Control
from harness.runs.bookkeeping import Book, uniforms
from harness.runs.checkpoints import Keeper
from harness.runs.predictors import check_plain, shown, users_module
from harness.runs.rule_files import resolve
from harness.runs.spec import RunSpec
from harness.runs.trial import Trial
from harness.worlds.world import Resumable, World, WorldInfo, find_world

# return, length: of episodes that ended since the last checkpoint (the last known where none did; NaN before the first)
# value: what the greedy action was thought to be worth where episodes began; earned: what it was worth, discounted
# episodes: that ended since the start
NAMES = ("return", "length", "value", "earned", "w_norm", "episodes")
LOOK = 64  # steps between two looks at the clock and at Ctrl-C


@dataclass(frozen=True, eq=False)
class InWorld:
    """What the lanes of a run in a world share, however they learn."""

    spec: RunSpec
    world: WorldInfo
    rule: Rule
    target: Target

    @classmethod
    def entering(cls, spec: RunSpec, how: Acts | None) -> Self:
        """From data to something that runs."""
        assert how is not None
        learner, world = spec.learner, find_world(spec.place.problem)
        for state in spec.probe.states:
            if len(state) != world.observations:
                raise ValueError(f"states of {world.name!r} have {world.observations} numbers, got {len(state)}")
        target = target_class(learner.target).over((how.v_min, how.v_max), learner.atoms, learner.projection)
        if spec.probe.states and not isinstance(target, CdfTarget):
            raise ValueError(f"states are where laws are kept: the target must be 'cdf', got {learner.target!r}")
        return cls(spec, world, resolve(learner.rule), target)

    @property
    def states(self) -> Floats:
        """[states, k]: where the last laws are kept. CartPole stands upright and at rest where every number is 0."""
        return np.array(self.spec.probe.states or [np.zeros(self.world.observations)])

    def _axes(self, what: str) -> dict[str, Any]:
        """Named, so that learners share worlds, exploration and first weights lane by lane: lanes are pairs."""
        return dict(self.spec.axes) | {"world": self.spec.place.problem, "stream": what}

    def streams(self, seeds: range, what: str) -> Any:
        """[lanes, 4], for compiled draws."""
        return lane_streams(self.spec.root_seed, seeds, **self._axes(what))

    def weights(self, seeds: range) -> list[np.random.Generator]:
        """What first weights are drawn from."""
        return generators(self.spec.root_seed, seeds, **self._axes("weights"))


@dataclass(frozen=True, eq=False)
class Acting(InWorld):
    """An agent's lanes."""

    @staticmethod
    def of(spec: RunSpec) -> Acting:
        """With its networks checked against the world."""
        made = Acting.entering(spec, spec.learner.control)
        check_plain(spec.learner.predictor)
        engine = made.agent.engine(made.world.observations, made.world.actions)
        if isinstance(engine, ReplayModule):
            with answering(f"predictor {shown(spec.learner.predictor)!r}"):
                engine.tried()
        return made

    @property
    def control(self) -> Control:
        """How it acts and replays."""
        assert self.spec.learner.control is not None
        return self.spec.learner.control

    @cached_property
    def agent(self) -> Agent:
        """The row of the table."""
        predictor, control = self.spec.learner.predictor, self.control
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

    def simulate(self, seeds: range, tick: Callable[[], None], keeper: Keeper | None = None) -> Trial:
        """Act until the last of the probe's times; with a keeper, from where its checkpoint is."""
        control, times, lanes = self.control, self.spec.times(), len(seeds)
        play, keeper = self._entered(seeds, keeper)
        players, world, replay, book = play.players, play.world, play.replay, play.book
        explores, draws = play.explores, np.empty((lanes, 2))
        done = play.done
        for i, t in list(enumerate(times))[play.closed :]:
            while done < t:
                uniforms(explores, draws)
                seen = world.observation.copy()  # a world may write where it wrote before
                actions, worth = players.act(seen, draws[:, 0], draws[:, 1], control.epsilon(done))
                moved = world.step(actions)
                book.enter(moved.reward, moved.terminated | moved.truncated, worth)
                discount = np.where(moved.terminated, 0.0, control.gamma)
                replay.add(seen, actions, moved.reward, discount, moved.observation)
                done += 1
                if done >= control.begin and done % control.every == 0:
                    players.learn(replay.draw(control.batch), done)
                players.renew(done)
                if done % LOOK == 0:
                    tick()
                    if keeper is not None and keeper.due():
                        play.done, play.closed = done, i
                        keeper.write(done, play.state())
            play.curves[i] = book.close(players.w)
            tick()
        return Trial(times, play.curves, players.died, NAMES, self._laws(players))

    def _laws(self, players: Players) -> Floats:
        """[lanes, states · actions · n]: the last law of every action."""
        lanes = len(players.theta)
        if not isinstance(self.target, CdfTarget):
            return np.zeros((lanes, 0))
        found = players.engine.laws(players.theta, np.broadcast_to(self.states, (lanes, *self.states.shape)).copy())
        return found.reshape(lanes, -1).astype(float)

    def _entered(self, seeds: range, keeper: Keeper | None) -> tuple[_Play, Keeper | None]:
        """The lanes as their checkpoint has them, or before their first step. Some worlds can't be kept."""
        play = _Play(self, seeds)
        if keeper is None or not isinstance(play.world, Resumable):
            return play, None
        saved = keeper.load()
        if saved is None:
            return play, keeper
        try:
            play.restore(saved)
        except (ValueError, TypeError, KeyError, IndexError) as error:  # arrays that are missing, or of another shape
            keeper.reject(str(error))
            return _Play(self, seeds), keeper  # half of the other may have been put back
        keeper.accept(play.done)
        return play, keeper


class _Play:
    """All of a cohort that changes from step to step: what a checkpoint holds.

    done   steps taken        closed   rows of the curves that are complete
    """

    def __init__(self, acting: Acting, seeds: range) -> None:
        control, lanes = acting.control, len(seeds)
        self.players = acting.players(seeds)
        self.world: World = acting.world.make(acting.streams(seeds, "world"))
        self.replay = Replay(acting.streams(seeds, "replay"), control.capacity, acting.world.observations)
        self.explores = acting.streams(seeds, "exploration")
        self.book = Book(lanes, control.gamma)
        self.curves = np.full((len(acting.spec.probe.times), lanes, len(NAMES)), np.nan)
        self.done = self.closed = 0

    def state(self) -> State:
        """The arrays themselves, not copies."""
        assert isinstance(self.world, Resumable)
        return joined(
            players=self.players.state(), world=self.world.state(), replay=self.replay.state(), book=self.book.state(),
            own=self._own(),
        )  # fmt: skip

    def restore(self, saved: State) -> None:
        """Go on from a state; ValueError if it is not of such lanes."""
        assert isinstance(self.world, Resumable)
        self.players.restore(part_of(saved, "players"))
        self.world.restore(part_of(saved, "world"))
        self.replay.restore(part_of(saved, "replay"))
        self.book.restore(part_of(saved, "book"))
        own = self._own()
        refill(own, part_of(saved, "own"))
        self.done, self.closed = int(own["done"]), int(own["closed"])

    def _own(self) -> State:
        numbers = {"done": np.array(self.done), "closed": np.array(self.closed)}
        return {"explores": self.explores, "curves": self.curves} | numbers
