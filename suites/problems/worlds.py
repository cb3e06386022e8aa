"""Worlds that are wrong on purpose: controls of the suite `control`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.worlds.cartpole import CartPole, frame
from harness.worlds.world import Moved, WorldInfo

LIMIT = 200


class DeafCartPole(CartPole):
    """CartPole that calls a fall a time limit: whoever learns there bootstraps through termination."""

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action."""
        moved = super().step(actions)
        return moved._replace(terminated=np.zeros_like(moved.terminated), truncated=moved.terminated | moved.truncated)


def cartpole_deaf() -> WorldInfo:
    """For `dgtd.worlds`."""
    words = "CartPole-v0 that says truncated where the pole falls: a control, nothing can be learnt from values"
    return WorldInfo("cartpole-deaf", words, 4, 2, LIMIT, lambda streams: DeafCartPole(streams, LIMIT), frame=frame)
