"""Worlds for the suite `control`: one whose answer is known, and two that lie about how an episode ended."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.replay import State, refill
from dgtd.harness.places.cartpole import PAINT, WOOD, CartPole, drawn, frame
from dgtd.harness.places.world import Moved, WorldInfo

LIMIT = 200
ROUND = 10  # steps of an episode on the treadmill


class DeafCartPole(CartPole):
    """CartPole that calls a fall a time limit: whoever learns there bootstraps through termination."""

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action."""
        moved = super().step(actions)
        return moved._replace(terminated=np.zeros_like(moved.terminated), truncated=moved.terminated | moved.truncated)


def picture() -> Any:
    """[400, 600, 3]: a belt on two rollers, and somebody who walks and stays where they are."""

    def draw(axes: Any) -> None:
        axes.set(xlim=(-2.4, 2.4), ylim=(-1.2, 2.0))
        axes.plot([-1.5, 1.5], [0, 0], color=PAINT, linewidth=28, solid_capstyle="round")
        axes.plot([-1.5, 1.5], [0, 0], "o", color="#8184cb", markersize=14)
        for start, end in (((0, 0.65), (-0.25, 0.2)), ((0, 0.65), (0.25, 0.2)), ((0, 0.65), (0, 1.3))):
            axes.plot(*zip(start, end, strict=True), color=WOOD, linewidth=8, solid_capstyle="round")
        axes.plot([0], [1.5], "o", color=WOOD, markersize=22)

    return drawn(draw)


def cartpole_deaf() -> WorldInfo:
    words = "CartPole-v0 that says truncated where the pole falls: a control, nothing can be learnt from values"
    return WorldInfo("cartpole-deaf", words, 4, 2, LIMIT, lambda streams: DeafCartPole(streams, LIMIT), frame=frame)


class Treadmill:
    """One place, which no action leaves; +1 per step. Episodes are cut off, or, if it `ends`, are said to terminate.

    What an action is worth is 1/(1 − γ). Whoever takes the cut for an end believes that a tenth of all steps are the
    last ones, since nothing tells them apart: 1/(1 − 0.9γ).
    """

    actions = 2

    def __init__(self, streams: NDArray[np.uint64], ends: bool = False) -> None:
        self.ends = ends
        self.age = np.zeros(len(streams), dtype=np.int64)
        self.observation = np.ones((len(streams), 1), dtype=np.float32)

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane stays where it is."""
        self.age += 1
        over = self.age >= ROUND
        self.age[over] = 0
        never = np.zeros_like(over)
        return Moved(self.observation, np.ones(len(over)), *((over, never) if self.ends else (never, over)))

    def state(self) -> State:
        """How old the episodes are."""
        return {"age": self.age}

    def restore(self, saved: State) -> None:
        """Go on from a state."""
        refill(self.state(), saved)


def treadmill() -> WorldInfo:
    words = f"one place, +1 per step, cut off after {ROUND} steps: an action is worth 1/(1 − γ)"
    return WorldInfo("treadmill", words, 1, 2, ROUND, Treadmill, frame=picture)


def treadmill_ends() -> WorldInfo:
    words = "the treadmill that says terminated where it is cut off: a control, values are too small"
    made = partial(Treadmill, ends=True)
    return WorldInfo("treadmill-ends", words, 1, 2, ROUND, made, frame=picture)
