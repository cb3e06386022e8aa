"""One sampler feeds every engine: a lane's transitions depend on its stream alone."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Integers, shape
from algorithms.engines import kernels
from algorithms.experience.table import TransitionTable


@dataclass
class Sampler:
    """Lanes walking a table, each on its own stream [lanes, 4]; `state` [lanes] is where they are."""

    table: TransitionTable
    streams: NDArray[np.uint64]
    state: Integers = field(init=False)

    def __post_init__(self) -> None:
        shape("streams", self.streams, (None, 4))
        self.streams = np.array(self.streams, dtype=np.uint64, order="C")
        self.state = np.zeros(self.lanes, dtype=np.int64)
        kernels.start_states(self.streams, *self.table.sampling()[-2:], self.state)

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return len(self.streams)

    def draw(self, steps: int) -> Integers:
        """The next outcome numbers, [steps, lanes]."""
        out = np.empty((steps, self.lanes), dtype=np.int64)
        kernels.draw_outcomes(self.streams, self.state, self.table.iid, self.table.sampling(), out)
        return out
