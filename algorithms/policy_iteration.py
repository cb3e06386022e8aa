"""Policy iteration: lanes evaluate a frozen ε-greedy policy for some episodes, then what they learnt is the next one.

A network sees an observation and an action, (s, a), and predicts one value or law of what follows. The policy that is
evaluated is greedy in a copy of the network that was taken when the evaluation began, and keeps the ε it began with.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers, whole
from algorithms.engines import batch_values
from algorithms.engines.network_batches import BatchLearner, Lesson, Update
from algorithms.engines.small import SmallEngine


class Evaluators:
    """Lanes of one rule, each with the policy that it evaluates. `episodes`: how many until the next policy."""

    def __init__(self, engine: SmallEngine, theta: Floats, actions: int, episodes: int, epsilon: float) -> None:
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
        self._learner = BatchLearner(engine)
        net = engine.network
        self._stack = batch_values.Stack(net.width, net.activation, net.head, 1, net.support)

    def inputs(self, x: Floats, action: Integers) -> Floats:
        """(s, a) as the network sees it: the observation [..., k], then the action one-hot."""
        return np.concatenate([x, np.eye(self.actions)[action]], axis=-1)

    def values(self, x: Floats) -> Floats:
        """[lanes, actions]: what the policy's network says of each action at x [lanes, k]."""
        at = [self.inputs(x, np.full(len(x), action)) for action in range(self.actions)]
        flat = self.policy[:, 0]
        return np.stack([batch_values.values(flat, each, self._stack)[:, 0] for each in at], axis=1)

    def act(self, x: Floats, explore: Floats, choice: Floats, behave: float = 0.0) -> tuple[Integers, Floats, Floats]:
        """(actions, their ratios ρ = π/b, the greedy value); explore and choice  [lanes]: each lane's own draws.

        The behaviour b explores with the policy's ε, or with `behave` where that is more.
        """
        values = self.values(x)
        greedy, wider = values.argmax(1), np.maximum(self.epsilon, behave)
        random = (choice * self.actions).astype(np.int64)
        action = np.where(explore < wider, random, greedy)
        of_policy, of_behaviour = (
            each / self.actions + (1.0 - each) * (action == greedy) for each in (self.epsilon, wider)
        )
        return action, of_policy / of_behaviour, values.max(1)

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
