"""Agents as rows of a table: rule × target × metric × bootstrap × optimiser of θ × optimiser of w.

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

from algorithms.checks import Floats, Integers, whole
from algorithms.fast.replayed import ReplayEngine
from algorithms.fast.replayed_module import Network, ReplayModule
from algorithms.names import look_up
from algorithms.optimisers import OPTIMISERS, Adam, Sgd, optimiser
from algorithms.replay import Transitions
from algorithms.rule import Rule
from algorithms.state import State, joined, part_of, refill
from algorithms.targets import Target

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
