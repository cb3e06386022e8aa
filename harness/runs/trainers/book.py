"""What is drawn and written down at every step of lanes in a world, compiled: numpy takes several times as long."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.draws import uniform
from algorithms.fast.compiling import Flags1, Floats1, Floats2, Number, Streams, compiled
from algorithms.state import State, refill

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
    """One step of every lane."""
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
        """The arrays themselves, not copies."""
        return {name: part for name, part in vars(self).items() if name != "gamma"}

    def restore(self, saved: State) -> None:
        """Go on from a state."""
        refill(self.state(), saved)
