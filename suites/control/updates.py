"""What an agent does with a batch: update its weights and renew its frozen copy. Part of `control`."""

from functools import partial
from typing import Any

import numpy as np
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.streams import generator, generators
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly

LANES, INPUTS, ACTIONS, BATCH = 2, 4, 2, 5
HIDDEN = (6, 5)
FROZEN, UPDATES = 5, 12  # a copy that is renewed twice
RATES = (1e-2, 0.05)
LAW = CdfTarget(0, 10, 7)
AGENTS = {
    "dqn": Agent(rules.td, ValueTarget(), frozen=FROZEN, hidden=HIDDEN),
    "c51": Agent(rules.td, LAW, "kl", frozen=FROZEN, hidden=HIDDEN),
    "greedy_gq(0.5)": Agent(rules.greedy_gq(0.5), LAW, hidden=HIDDEN),
}


def claims() -> list[Claim]:
    """Each agent's updates."""
    return [
        Claim(
            id=f"control/updates/{name}",
            says=f"{UPDATES} updates of {name} are Adam's on θ"
            + (f", bootstrapping from a copy renewed every {FROZEN} steps" if agent.frozen else " and ascent on w"),
            source="Kingma & Ba 2015; Mnih et al. 2015; paper, Algorithm 3",
            check=partial(updates_are_adams, name),
        )
        for name, agent in AGENTS.items()
    ]


def transitions(rng: Any) -> Transitions:
    """Rewards on and off the grid, some of them the last of their episode."""
    x, x_next = rng.normal(size=(2, LANES, BATCH, INPUTS)).astype(np.float32)
    reward = rng.choice([-0.7, 0.0, 1.0, 2.35], (LANES, BATCH))
    return Transitions(
        x, x_next, rng.integers(ACTIONS, size=(LANES, BATCH)), reward, rng.choice([0.0, 0.9], (LANES, BATCH))
    )


def updates_are_adams(name: str, setting: Setting) -> Finding:
    """θ and w after some updates, against Adam written out on the engine's own directions."""
    agent, rng = AGENTS[name], generator(setting.seed, suite="control", updates=name)
    streams = generators(setting.seed, range(LANES), suite="control", updates=name)
    players = Players.start(agent, INPUTS, ACTIONS, streams, *RATES, torch.float64)
    engine = agent.engine(INPUTS, ACTIONS, torch.float64)
    theta, frozen, w = players.theta.copy(), players.theta.copy(), np.zeros_like(players.theta)
    moments = [np.zeros_like(theta), np.zeros_like(theta)]
    for step in range(1, UPDATES + 1):
        drawn = transitions(rng)
        players.learn(drawn, step)
        players.renew(step)
        g_theta, g_w, _ = engine.gradients(theta.copy(), w, drawn, frozen if agent.frozen else None)
        if engine.uses_w:
            w = w + RATES[1] * g_w
        theta = theta - RATES[0] * adam(moments, g_theta, step)
        if agent.frozen and step % agent.frozen == 0:
            frozen = theta.copy()
    worst = float(np.max([np.abs(players.theta - theta).max(), np.abs(players.w - w).max()]))
    return exactly(worst, 1e-9, f"after {UPDATES} updates of {LANES} lanes θ and w are off by {worst:.1e}")


def adam(moments: list[Floats], g: Floats, step: int) -> Floats:
    """Kingma & Ba's Algorithm 1: the direction of a step, and both moments in place."""
    for i, (keep, part) in enumerate(((0.9, g), (0.999, g * g))):
        moments[i] = keep * moments[i] + (1 - keep) * part
    first, second = moments[0] / (1 - 0.9**step), moments[1] / (1 - 0.999**step)
    return np.asarray(first / (np.sqrt(second) + 1e-8))
