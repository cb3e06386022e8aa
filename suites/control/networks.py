"""A user's network learns as ours do: the directions of the same weights are those of the compiled engine."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from algorithms.fast.replayed import ReplayEngine
from algorithms.fast.replayed_module import ReplayModule
from algorithms.streams import generator, generators
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly, largest
from suites.control.updates import ACTIONS, AGENTS, HIDDEN, INPUTS, LANES, transitions

EXACT = 1e-11


def claims() -> list[Claim]:
    """One for each agent."""
    return [
        Claim(
            id=f"control/network/{name}",
            says=f"{name} with a torch.nn.Module has the directions and values that it has with the compiled network",
            source="Mnih et al. 2015; Bellemare et al. 2017; paper, Algorithm 3",
            check=partial(directions_differ, name),
        )
        for name in AGENTS
    ]


def layers(inputs: int, outputs: int) -> torch.nn.Module:
    """As torch's users write it."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN[0]), torch.nn.Tanh(), torch.nn.Linear(*HIDDEN), torch.nn.Tanh(),
        torch.nn.Linear(HIDDEN[1], outputs),
    )  # fmt: skip


def in_torchs_order(engine: ReplayEngine, flat: Any) -> Any:
    """[lanes, d] with each layer's weights as [out, in], then its biases."""
    parts = [[layer[:, :-1].transpose(1, 2).flatten(1), layer[:, -1]] for layer in engine.layers(flat)]
    return torch.cat([part for pair in parts for part in pair], 1).numpy().copy()


def directions_differ(name: str, setting: Setting) -> Finding:
    """G_θ, G_w and the values of actions, on random weights and transitions; DQN and C51 with a frozen copy."""
    agent, rng = AGENTS[name], generator(setting.seed, suite="control", network=name)
    ours = ReplayEngine(
        agent.rule, (INPUTS, *HIDDEN), agent.target, agent.metric, torch.float64, actions=ACTIONS, activation="tanh"
    )
    users = ReplayModule(agent.rule, layers, INPUTS, agent.target, agent.metric, torch.float64, ACTIONS)
    theta, frozen = (ours.start(generators(setting.seed, range(LANES), suite="control", copy=i)) for i in range(2))
    w, drawn = rng.normal(size=theta.shape), transitions(rng)
    expected = ours.gradients(theta, w, drawn, frozen if agent.frozen else None)
    at = [in_torchs_order(ours, part) for part in (theta, w, frozen)]
    found = users.gradients(at[0], at[1], drawn, at[2] if agent.frozen else None)
    worst = largest(0.0, np.abs(found[0] - in_torchs_order(ours, expected[0])))
    if ours.uses_w:
        worst = largest(worst, np.abs(found[1] - in_torchs_order(ours, expected[1])))
    worst = largest(worst, np.abs(users.values(at[0], drawn.x[:, 0]) - ours.values(theta, drawn.x[:, 0])))
    return exactly(worst, EXACT, f"directions and values of {LANES} lanes are off by {worst:.1e}")
