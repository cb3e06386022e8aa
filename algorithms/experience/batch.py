"""A batch of transitions, as `directions` and `step` of every engine take it."""

from dataclasses import dataclass

from algorithms.checks import Floats, Integers, finite, shape
from algorithms.targets import Shift


@dataclass(frozen=True)
class Batch:
    """Transitions for `directions` and `step`:  x, x_next  [lanes, batch, k]   rho  [lanes, batch].

    action and next_action  [lanes, batch]  pick an output of networks that have one per action.
    """

    x: Floats
    x_next: Floats
    shift: Shift
    rho: Floats
    action: Integers | None = None
    next_action: Integers | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", finite("x", self.x))
        object.__setattr__(self, "x_next", finite("x_next", self.x_next))
        object.__setattr__(self, "rho", finite("rho", self.rho))
        shape("x", self.x, (None, None, None))
        shape("x_next", self.x_next, self.x.shape)
        shape("rho", self.rho, self.x.shape[:2])
        shape("shift.row", self.shift.row, (*self.x.shape[:2], None))
