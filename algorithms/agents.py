"""Agents as rows of a table, rule × target × metric × bootstrap × optimiser of θ × optimiser of w; policy iteration.

| agent                     | rule         | target | metric | bootstrap     | θ    | w           |
|---------------------------|--------------|--------|--------|---------------|------|-------------|
| distributional Greedy-GQ  | greedy_gq(η) | cdf    | cramer | itself        | Adam | SGD or Adam |
| Greedy-GQ                 | greedy_gq(η) | value  | –      | itself        | Adam | SGD or Adam |
| DQN                       | td           | value  | –      | frozen(every) | Adam | –           |
| C51                       | td           | cdf    | kl     | frozen(every) | Adam | –           |

C51 is semi-gradient TD in another metric: KL's cotangent of F, pulled through softmax, is p − m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, Integers, whole
from dgtd.algorithms.fast import acting
from dgtd.algorithms.fast.acting import Choice, Exploration, choose, encoded
from dgtd.algorithms.fast.network_batches import Lesson, Update, learner_for
from dgtd.algorithms.fast.replayed import Network, ReplayEngine, ReplayModule
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.names import look_up
from dgtd.algorithms.replay import State, Transitions, joined, part_of, refill
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import OPTIMISERS, Adam, Sgd, optimiser
from dgtd.algorithms.targets import Target

Engine = ReplayEngine | ReplayModule


@dataclass(frozen=True)
class Agent:
    """One row. `frozen`: the network that is bootstrapped from is renewed every so many steps; 0: it is θ itself.

    network   a function that makes a network of one's own, with convolutions perhaps, instead of `hidden` layers
    """

    rule: Rule
    target: Target
    metric: str = "cramer"
    frozen: int = 0
    theta: str = "adam"
    w: str = "sgd"
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    network: Network | None = None

    def __post_init__(self) -> None:
        whole("frozen", self.frozen, 0)
        for name in (self.theta, self.w):
            look_up("optimiser", name, OPTIMISERS)

    def engine(self, observations: int, actions: int, dtype: torch.dtype = torch.float32) -> Engine:
        """Its networks in a world."""
        made: Engine
        if self.network is not None:
            made = ReplayModule(self.rule, self.network, observations, self.target, self.metric, dtype, actions)
        else:
            made = ReplayEngine(
                self.rule, (observations, *self.hidden), self.target, self.metric, dtype,
                activation=self.activation, actions=actions,
            )  # fmt: skip
        if self.frozen and made.follows:
            raise ValueError(
                f"rule {self.rule.name!r} follows the gradient of its own next prediction, so that can't be frozen"
            )
        return made


class Players:
    """Lanes of one agent: weights, a frozen copy if it has one, and optimisers. `act` and `learn` are all they do."""

    def __init__(self, agent: Agent, engine: Engine, weights: Any, alpha: Any, beta: Any) -> None:
        self.agent, self.engine = agent, engine
        self.theta, self.w = weights, np.zeros_like(weights)
        self.frozen = weights.copy() if agent.frozen else None
        self.of_theta = optimiser(agent.theta, alpha, self.theta)
        self.of_w = optimiser(agent.w, beta, self.w) if engine.uses_w else None
        self.died: Integers = np.full(len(weights), -1)

    @staticmethod
    def start(
        agent: Agent,
        observations: int,
        actions: int,
        streams: Sequence[np.random.Generator],
        alpha: Any,
        beta: Any,
        dtype: torch.dtype = torch.float32,
    ) -> Players:
        """Random weights, from each lane's own stream; step sizes are numbers or [lanes]."""
        engine = agent.engine(observations, actions, dtype)
        return Players(agent, engine, engine.start(streams), alpha, beta)

    def act(self, observation: Any, explore: Floats, choice: Floats, epsilon: float) -> tuple[Integers, Floats]:
        """ε-greedy actions, and the best one's value. explore, choice  [lanes]: uniform draws of each lane's own."""
        values = self.engine.values(self.theta, observation)
        random = (choice * self.engine.actions).astype(np.int64)
        return np.where(explore < epsilon, random, values.argmax(-1)), values.max(-1)

    def learn(self, drawn: Transitions, step: int) -> None:
        """One update of every lane; a lane whose numbers are not finite is dated, and disturbs no other."""
        g_theta, g_w, health = self.engine.gradients(self.theta, self.w, drawn, self.frozen)
        sick = (health != 0) & (self.died < 0)
        self.died[sick] = step
        self.of_theta.step(self.theta, g_theta)
        if self.of_w is not None:
            self.of_w.step(self.w, -g_w)

    def renew(self, step: int) -> None:
        """Freeze a new copy if it is time."""
        if self.frozen is not None and step % self.agent.frozen == 0:
            self.frozen[:] = self.theta

    def state(self) -> State:
        """All that learning changes; the arrays themselves, not copies."""
        return self._weights() | joined(**{name: each.state() for name, each in self._optimisers().items()})

    def restore(self, saved: State) -> None:
        """Go on from a state, in place: the engine keeps views of the weights."""
        refill(self._weights(), saved)
        for name, each in self._optimisers().items():
            each.restore(part_of(saved, name))

    def _weights(self) -> State:
        frozen = {} if self.frozen is None else {"frozen": self.frozen}
        return {"theta": self.theta, "w": self.w, "died": self.died} | frozen

    def _optimisers(self) -> dict[str, Adam | Sgd]:
        return {"of_theta": self.of_theta} | ({} if self.of_w is None else {"of_w": self.of_w})


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
        sizes, decay = (np.full(lanes, alpha), np.full(lanes, beta)), self.engine.rule.w_decay
        update = Update(*sizes, decay, radius, now, self.died, np.empty((lanes, 1)))
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
