"""What an agent does between two looks at its world: act, update, renew its frozen copy, replay. Part of `control`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from scipy import stats

from algorithms import rules
from algorithms.agents import Agent, Players
from algorithms.batch import Batch
from algorithms.checks import Floats
from algorithms.fast.mlp import MlpEngine
from algorithms.fast.replayed import ReplayEngine
from algorithms.replay import Replay, Transitions
from algorithms.streams import generator, generators, lane_streams
from algorithms.targets import CdfTarget, ValueTarget
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly

LANES, INPUTS, ACTIONS, BATCH = 2, 4, 2, 5
HIDDEN = (6, 5)
FROZEN, UPDATES = 5, 12  # a copy that is renewed twice
RATES = (1e-2, 0.05)
CAPACITY, ADDED, DRAWS = 3, 5, 600
LAW = CdfTarget(0, 10, 7)
AGENTS = {
    "dqn": Agent(rules.td, ValueTarget(), frozen=FROZEN, hidden=HIDDEN),
    "c51": Agent(rules.td, LAW, "kl", frozen=FROZEN, hidden=HIDDEN),
    "greedy_gq(0.5)": Agent(rules.greedy_gq(0.5), LAW, hidden=HIDDEN),
}


def claims() -> list[Claim]:
    """Each agent's updates, then what they share."""
    made = [
        Claim(
            id=f"control/updates/{name}",
            says=f"{UPDATES} updates of {name} are Adam's on θ"
            + (f", bootstrapping from a copy renewed every {FROZEN} steps" if agent.frozen else " and ascent on w"),
            source="Kingma & Ba 2015; Mnih et al. 2015; paper, Algorithm 3",
            check=partial(updates_are_adams, name),
        )
        for name, agent in AGENTS.items()
    ]
    for name, says, source, check in (
        ("acts", "agents act by the means of their own laws, biases included", "Algorithm 3", values_are_means),
        (
            "curvature",
            "a rule with curvature has it in a replayed batch too: GTD2's directions are the mlp engine's",
            "appendix",
            directions_are_mlps,
        ),
        ("replay", "replay draws each of the last transitions equally often, and no others", "Mnih et al. 2015", draws),
    ):
        made.append(Claim(id=f"control/{name}", says=says, source=source, check=check, seeded=check is not draws))
    return made


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


def values_are_means(setting: Setting) -> Finding:
    """Of a value and of a law, for three actions, against the head's own predictions."""
    errors = []
    x = generator(setting.seed, suite="control", which="acts").normal(size=(LANES, INPUTS)).astype(np.float32)
    for target in (ValueTarget(), LAW):
        engine = ReplayEngine(rules.td, (INPUTS, *HIDDEN), target, dtype=torch.float64, actions=3)
        theta = engine.start(generators(setting.seed, range(LANES), suite="control", which="acts"))
        laws = engine.laws(theta, x[:, None])[:, 0]
        means = laws[..., 0] if laws.shape[-1] == 1 else np.diff(laws, prepend=0.0, append=1.0) @ LAW.support
        errors.append(np.abs(engine.values(theta, x) - means).max() / np.abs(means).max())
    worst = float(np.max(errors))
    return exactly(worst, 1e-10, f"values of {LANES} lanes and 3 actions are off by {worst:.1e}")


def directions_are_mlps(setting: Setting) -> Finding:
    """G_θ and G_w of GTD2, whose θ feels how the activations bend."""
    rng = generator(setting.seed, suite="control", which="curvature")
    drawn, sizes = transitions(rng), (INPUTS, *HIDDEN)
    engine = ReplayEngine(rules.gtd2, sizes, LAW, dtype=torch.float64, actions=ACTIONS, activation="tanh")
    plain = MlpEngine(rules.gtd2, sizes, LAW, actions=ACTIONS, activation="tanh")
    theta = engine.start(generators(setting.seed, range(LANES), suite="control", which="curvature"))
    w = rng.normal(size=theta.shape)
    shift = LAW.shift(drawn.reward, drawn.discount)
    batch = Batch(
        drawn.x.astype(float), drawn.x_next.astype(float), shift, np.ones(drawn.reward.shape), drawn.action
    )  # the next action is greedy, as in replay
    expected = plain.directions(engine.layers(theta), engine.layers(w), batch)
    found = engine.gradients(theta, w, drawn)[:2]
    errors = [
        np.abs(ours - np.concatenate([part.flatten(1).numpy() for part in theirs], axis=1)).max()
        for ours, theirs in zip(found, expected, strict=True)
    ]
    worst = float(np.max(errors))
    return exactly(worst, 1e-10, f"directions of {LANES} lanes are off by {worst:.1e}")


def draws(setting: Setting) -> Finding:
    """Draws of what was never added or is gone, and of parts that do not belong together; χ² of the counts.

    Then whether the second lane draws the same alone, and whether its next draws are others.
    """
    together, alone = filled_replay(0, LANES), filled_replay(1, LANES)
    drawn, more, own = together.draw(DRAWS), together.draw(DRAWS), alone.draw(DRAWS)
    first = np.array([[0], [100]]) + ADDED - CAPACITY
    age = np.round(drawn.x[..., 0] - first).astype(int)
    torn = (drawn.x_next != drawn.x + 1000).any(-1) | (drawn.reward != drawn.x[..., 0])
    lost = int((torn | (age < 0) | (age >= CAPACITY)).sum())
    counts = np.stack([np.bincount(np.clip(each, 0, CAPACITY - 1), minlength=CAPACITY) for each in age])
    p = float(stats.chi2.sf(((counts - DRAWS / CAPACITY) ** 2 / (DRAWS / CAPACITY)).sum(), LANES * (CAPACITY - 1)))
    other = int((own.x[0] != drawn.x[1]).sum()) + int((more.x == drawn.x).all())
    words = (
        f"{lost} of {LANES * DRAWS} draws are not stored transitions, {other} depend on other lanes or repeat; counts "
        f"{counts.tolist()}, p of their χ² {p:.2g}"
    )
    return exactly(lost + other + float(p < 1e-9), 0.0, words)


def filled_replay(low: int, high: int) -> Replay:
    """Of these lanes: the transitions of lane i are numbered from 100 i."""
    lanes = np.arange(low, high)
    replay = Replay(lane_streams(0, range(low, high), suite="control", which="replay"), CAPACITY, 1)
    for step in range(ADDED):
        at = (100 * lanes[:, None] + step).astype(np.float32)
        replay.add(at, lanes, at[:, 0], 0.9 * (lanes == 0), at + 1000)
    return replay
