"""Policy iteration: lanes evaluate a frozen ε-greedy policy for some episodes, then what they learnt is the next one.

A network sees an observation and an action, (s, a), and predicts one value or law of what follows. The policy that is
evaluated is greedy in a copy of the network that was taken when the evaluation began, and keeps the ε it began with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers, whole
from algorithms.fast import acting
from algorithms.fast.acting import Choice, Exploration, choose, encoded
from algorithms.fast.network_batches import Lesson, Update, learner_for
from algorithms.fast.small import SmallEngine


class Evaluators:
    """Lanes of one rule, each with the policy that it evaluates.

    episodes   how many until the next policy      batch   how many transitions a lesson has
    """

    def __init__(
        self, engine: SmallEngine, theta: Floats, actions: int, episodes: int, epsilon: float, batch: int = 1
    ) -> None:
        whole("episodes", episodes, 1)
        whole("actions", actions, 2)
        self.engine, self.actions, self.episodes = engine, actions, episodes
        self.theta, self.w = theta, np.zeros_like(theta)
        self.policy = theta.copy()
        lanes = len(theta)
        self.epsilon = np.full(lanes, float(epsilon))
        self.seen: Integers = np.zeros(lanes, dtype=np.int64)  # episodes of the evaluation under way
        self.improved: Integers = np.zeros(lanes, dtype=np.int64)
        self.died: Integers = np.full(lanes, -1)
        self._learner = learner_for(engine, batch)
        net = engine.network
        self._stack = acting.Stack(net.width, net.activation, net.head, 1, net.support)
        self._room = np.empty((3, net.width.max())), np.empty(len(net.support)), np.empty(1)
        self._all: NDArray[np.bool_] = np.ones(lanes, dtype=np.bool_)

    def inputs(self, x: Floats, action: Integers) -> Floats:
        """(s, a) as the network sees it: the observation [..., k], then the action one-hot."""
        return encoded(x, action, self.actions)

    def values(self, x: Floats) -> Floats:
        """[lanes, actions]: what the policy's network says of each action at x [lanes, k]."""
        at = [self.inputs(x, np.full(len(x), action)) for action in range(self.actions)]
        flat = self.policy[:, 0]
        return np.stack([acting.values(flat, each, self._stack)[:, 0] for each in at], axis=1)

    def act(self, x: Floats, explore: Floats, choice: Floats, behave: float = 0.0) -> Choice:
        """Actions, their ratios ρ = π/b, the greedy value; explore and choice  [rows]: each lane's own draws.

        x  [rows, k] has as many rows of each lane, lane by lane. The behaviour b explores with the policy's ε, or with
        `behave` where that is more.
        """
        rows = len(x)
        out = Choice(np.empty(rows, dtype=np.int64), np.empty(rows), np.empty(rows))
        everywhere = self._all if rows == len(self._all) else np.ones(rows, dtype=np.bool_)
        self.act_again(out, everywhere, x, explore, choice, behave)
        return out

    def act_again(
        self, out: Choice, which: NDArray[np.bool_], x: Floats, explore: Floats, choice: Floats, behave: float = 0.0
    ) -> None:
        """The same in these rows only, written over what they chose before."""
        how = Exploration(self.epsilon, behave)
        choose(self.policy[:, 0], x, explore, choice, how, self._stack, which, *self._room, out)

    def learn(self, lesson: Lesson, alpha: float, beta: float, radius: float, now: int) -> None:
        """One update of every lane."""
        lanes = len(self.theta)
        update = Update(np.full(lanes, alpha), np.full(lanes, beta), self.engine.rule.w_decay, radius, now, self.died)
        self._learner.learn(self.theta, self.w, lesson, update)

    def close(self, ended: NDArray[np.bool_], epsilon: float) -> None:
        """Episodes ended in these lanes [lanes]; where it was the last of an evaluation, the policy is improved."""
        self.seen += ended
        due = self.seen >= self.episodes
        if due.any():
            self.policy[due] = self.theta[due]
            self.epsilon[due] = epsilon
            self.seen[due] = 0
            self.improved += due
