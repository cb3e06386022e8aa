"""What every learner in a world shares: named streams, the book of its episodes, and where its laws are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dgtd.algorithms.checks import Floats, whole
from dgtd.algorithms.fast.compiling import Flags1, Floats1, Floats2, Number, Streams, compiled
from dgtd.algorithms.replay import State, joined, part_of, refill
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.streams import generators, lane_streams, uniform
from dgtd.algorithms.targets import CdfTarget, Target, target_class
from dgtd.harness.places.world import Resumable, World, WorldInfo, find_world
from dgtd.harness.runs.acting_spec import Acts
from dgtd.harness.runs.rule_files import resolve
from dgtd.harness.runs.spec import MOST_STEPS, RunSpec

# Columns of the episode under way: its return, its length, what it was thought to be worth, what it was worth so far,
# and the discount of the next reward. The first four are what is reported of it.
TOTAL, LENGTH, THOUGHT, DISCOUNTED, POWER = range(5)


@compiled(Streams, Floats2)
def uniforms(streams, out):
    """out [lanes, count] ← each lane's own draws."""
    for lane in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[lane, i] = uniform(streams[lane])


@compiled(Floats2, Floats2, Floats1, Number, Floats1, Flags1, Floats1)
def _enter(episode, sums, count, gamma, reward, ended, worth):
    for lane in range(reward.shape[0]):
        at = episode[lane]
        if at[LENGTH] == 0:
            at[THOUGHT] = worth[lane]
        at[TOTAL] += reward[lane]
        at[LENGTH] += 1
        at[DISCOUNTED] += at[POWER] * reward[lane]
        at[POWER] *= gamma
        if ended[lane]:
            for i in range(POWER):
                sums[lane, i] += at[i]
            count[lane] += 1
            at[TOTAL], at[LENGTH], at[DISCOUNTED], at[POWER] = 0.0, 0.0, 0.0, 1.0


class Book:
    """Episodes as they go by, per lane."""

    def __init__(self, lanes: int, gamma: float) -> None:
        self.gamma = gamma
        self.episode = np.zeros((lanes, POWER + 1))
        self.episode[:, POWER] = 1.0
        self.sums, self.count = np.zeros((lanes, POWER)), np.zeros(lanes)
        self.last = np.full((lanes, POWER), np.nan)  # nothing is known before the first episode has ended
        self.ended = np.zeros(lanes)  # episodes so far

    @property
    def length(self) -> Floats:
        """[lanes]: steps of the episode under way."""
        return self.episode[:, LENGTH]

    def enter(self, reward: Floats, ended: Any, worth: Floats) -> None:
        """One step, from where the best action was thought to be `worth` so much."""
        _enter(self.episode, self.sums, self.count, self.gamma, reward, ended, worth)

    def close(self, w: Any) -> Floats:
        """[lanes, names] since the last time; w  [lanes, d]."""
        some = self.count > 0
        self.last[some] = self.sums[some] / self.count[some, None]
        self.ended += self.count
        self.sums[:], self.count[:] = 0.0, 0.0
        norm = np.sqrt((w.astype(float) ** 2).sum(1))
        return np.concatenate([self.last, norm[:, None], self.ended[:, None]], axis=1)

    def state(self) -> State:
        return {name: part for name, part in vars(self).items() if name != "gamma"}

    def restore(self, saved: State) -> None:
        refill(self.state(), saved)


# return, length: of episodes that ended since the last checkpoint (the last known where none did; NaN before the first)
# value: what the greedy action was thought to be worth where episodes began; earned: what it was worth, discounted
# episodes: that ended since the start
NAMES = ("return", "length", "value", "earned", "w_norm", "episodes")
POINTS = 50


class Playing:
    """Lanes on their way through a world: what is the same however they learn."""

    def __init__(self, run: InWorld, seeds: range) -> None:
        self.world: World = run.world.make(run.streams(seeds, "world"))
        self.book = Book(len(seeds), run.how.gamma)
        self.explores = run.streams(seeds, "exploration")
        self.kept: dict[str, Resumable] = {"book": self.book}  # what has a state of its own
        self.steps = 0

    def own(self) -> dict[str, State]:
        """Other arrays that change, by part; the arrays themselves, not copies."""
        return {"own": {"explores": self.explores}}

    def parts(self) -> dict[str, State]:
        """All that changes, beside the world."""
        return {name: part.state() for name, part in self.kept.items()} | self.own()

    def restore(self, saved: State) -> None:
        for name, part in self.kept.items():
            part.restore(part_of(saved, name))
        for name, arrays in self.own().items():
            refill(arrays, part_of(saved, name))


@dataclass(frozen=True, eq=False)
class InWorld:
    """A learner in a world, however it learns."""

    names: ClassVar[tuple[str, ...]] = NAMES

    spec: RunSpec
    world: WorldInfo
    rule: Rule
    target: Target

    @classmethod
    def entering(cls, spec: RunSpec, how: Acts | None) -> Self:
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
    def how(self) -> Any:
        """The learner's control or its iteration: it has one of the two."""
        return self.spec.learner.control or self.spec.learner.iteration

    @staticmethod
    def times(steps: int) -> tuple[int, ...]:
        """Checkpoints, evenly spaced: returns are means over the episodes between two."""
        whole("steps", steps, 1, MOST_STEPS)
        count = min(POINTS, steps)
        return tuple(dict.fromkeys(round(steps * i / count) for i in range(count + 1)))

    @property
    def states(self) -> Floats:
        """[states, k]: where the last laws are kept; where every observation is 0, unless the probe says where."""
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

    def arrays(self, state: Any) -> State | None:
        """None where the world can't be left and entered again."""
        if not isinstance(state.world, Resumable):
            return None
        return joined(world=state.world.state(), **state.parts())

    def restore(self, state: Any, saved: State) -> None:
        state.world.restore(part_of(saved, "world"))
        state.restore(saved)
