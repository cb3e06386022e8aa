"""Agents that are stopped and go on: a checkpoint holds all that the next step depends on."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.rules import PUBLISHED
from harness.experiment.learners import agent_learner, run_spec
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from harness.runs.checkpoints import Keeper
from harness.runs.lanes import Lanes
from harness.runs.trainers.agent import Acting
from harness.runs.trainers.trainer import train

PLACE, LANES, STEPS = "cartpole-v0", 3, 640
OTHER = "gym:CartPole-v1"  # gymnasium's environments can't be copied: they are brought back by their actions
AGENTS = ("dqn", "c51", "greedy_gq(0.5)")


class StoppedError(Exception):
    """As by a kill."""


class EveryLook(Keeper):
    """Writes whenever it is asked: how often others do depends on the clock."""

    def due(self) -> bool:
        """Always."""
        return True


def claims() -> list[Claim]:
    """One for each agent, and one for another kind of world."""
    return [
        Claim(
            id=f"control/resumed/{name}{'' if world == PLACE else f'/{world}'}",
            says=f"{name} on {world}: lanes that are stopped and go on from their checkpoint take the steps of lanes "
            "that are not",
            source="ours",
            check=partial(parts_ways, name, world),
        )
        for name, world in (*((name, PLACE) for name in AGENTS), (AGENTS[0], OTHER))
    ]


def parts_ways(name: str, world: str, setting: Setting) -> Finding:
    """Numbers of the curves and of the last laws that differ: the same bits, or a checkpoint forgot something."""
    frozen: dict[str, Any] = {"frozen": 150} if name in PUBLISHED else {}
    made = agent_learner(
        name, world, alpha=1e-3, cohort=LANES, explore_steps=STEPS // 2, batch=8, begin=100, capacity=300, **frozen
    )
    acting, seeds = Acting.of(run_spec(world, made, STEPS, setting.seed, "resumed")), range(LANES)
    looks: list[int] = []
    whole = train(acting, seeds, lambda: looks.append(0))
    every, half = len(looks), len(looks) // 2

    def stop() -> None:
        looks.pop()
        if len(looks) < half:
            raise StoppedError

    with tempfile.TemporaryDirectory() as folder:
        keeper = partial(EveryLook, Path(folder) / "lanes", {"run": "resumed", "seeds": [0, LANES]}, 0.0, _say_nothing)
        with suppress(StoppedError):
            train(acting, seeds, stop, keeper())
        more: list[int] = []
        again = train(acting, seeds, lambda: more.append(0), keeper())
    if len(more) > 0.8 * every:
        return exactly(STEPS, 0, "steps that were taken again: the checkpoint was not believed")
    words = f"numbers that differ after {STEPS} steps of {LANES} lanes, stopped half way"
    return exactly(_differ(whole, again), 0, words)


def _say_nothing(line: str) -> None:
    """A claim prints nothing of its own."""


def _differ(one: Lanes, other: Lanes) -> int:
    pairs = ((one.curves, other.curves), (one.law, other.law), (one.died, other.died))
    return sum(int((~np.isclose(a, b, rtol=0, atol=0, equal_nan=True)).sum()) for a, b in pairs)
