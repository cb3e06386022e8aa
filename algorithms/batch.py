"""A batch of transitions, as `directions` and `step` of every engine take it."""

from dataclasses import dataclass

from algorithms.checks import Floats, Integers, at_least, finite, integers, shape
from algorithms.targets import Shift


@dataclass(frozen=True)
class Batch:
    """Transitions for `directions` and `step`:  x, x_next  [lanes, batch, k]   rho  [lanes, batch].

    The module engine takes pictures too: x  [lanes, batch, channels, height, width].
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
        shape("x", self.x, (None,) * max(3, self.x.ndim))
        shape("x_next", self.x_next, self.x.shape)
        shape("rho", self.rho, self.x.shape[:2])
        self.shift.check(self.x.shape[:2])
        for name in ("action", "next_action"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, integers(name, getattr(self, name)))
                shape(name, getattr(self, name), self.x.shape[:2])
                at_least(f"smallest {name}", getattr(self, name).min(initial=0), 0)
