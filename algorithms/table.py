"""Everything that can happen in a finite problem, as one table; the sampler that feeds every engine; batches."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, Integers, at_least, finite, flags, integers, shape, whole, within
from dgtd.algorithms.streams import Sampling, draw_outcomes, start_states
from dgtd.algorithms.targets import Affine, Shift


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


@dataclass(frozen=True)
class TransitionTable:
    """Outcomes grouped by state: state s owns rows offsets[s] … offsets[s+1] − 1.

    probability  [outcomes]  of the outcome in its state, under the behaviour policy
    discount     [outcomes]  γ, and 0 where the episode ends
    rho          [outcomes]  importance ratio of the action behind the outcome
    start        [states]    where episodes start; where every transition starts if `iid`
    """

    offsets: Integers
    probability: Floats
    next_state: Integers
    reward: Floats
    discount: Floats
    rho: Floats
    ends: NDArray[np.bool_]
    start: Floats
    iid: bool = False
    _threshold: Floats = field(init=False, repr=False, compare=False)
    _alias: Integers = field(init=False, repr=False, compare=False)
    _start_threshold: Floats = field(init=False, repr=False, compare=False)
    _start_alias: Integers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Copies: what is checked here is what the compiled code will read, whatever becomes of the caller's arrays.
        for name in ("probability", "reward", "discount", "rho", "start"):
            object.__setattr__(self, name, finite(name, getattr(self, name)).copy())
        for name in ("offsets", "next_state"):
            object.__setattr__(self, name, integers(name, getattr(self, name)))
        object.__setattr__(self, "ends", flags("ends", self.ends))
        if not isinstance(self.iid, bool | np.bool_):
            raise ValueError(f"iid must be True or False, got {self.iid!r}")
        outcomes = self.probability.size
        for name in ("probability", "next_state", "reward", "discount", "rho", "ends"):
            shape(name, getattr(self, name), (outcomes,))
        self._check_offsets(outcomes)
        shape("start", self.start, (self.states,))
        within("discount", self.discount, 0.0, 1.0)
        within("next_state", self.next_state, 0, self.states - 1)
        if (self.rho < 0).any():
            raise ValueError(f"rho must not be negative, got {self.rho.min()}")
        threshold, alias = np.empty(outcomes), np.empty(outcomes, dtype=np.int64)
        for state, (low, high) in enumerate(zip(self.offsets[:-1], self.offsets[1:], strict=True)):
            name = f"probability of the outcomes of state {state}"
            threshold[low:high], alias[low:high] = alias_table(name, self.probability[low:high])
        start_threshold, start_alias = alias_table("start", self.start)
        object.__setattr__(self, "_threshold", threshold)
        object.__setattr__(self, "_alias", alias)
        object.__setattr__(self, "_start_threshold", start_threshold)
        object.__setattr__(self, "_start_alias", start_alias)

    def _check_offsets(self, outcomes: int) -> None:
        """The compiled sampler reads rows offsets[s] … offsets[s+1] − 1, and looks at no length."""
        offsets = self.offsets
        shape("offsets", offsets, (None,))
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != outcomes:
            raise ValueError(f"offsets must go from 0 to the number of outcomes, {outcomes}, got {_ends(offsets)}")
        empty = np.flatnonzero(np.diff(offsets) <= 0)
        if len(empty):
            raise ValueError(f"offsets must rise, so that every state has an outcome: state {empty[0]} has none")

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.offsets) - 1

    @property
    def state(self) -> Integers:
        """[outcomes]: the state that each outcome belongs to."""
        return np.repeat(np.arange(self.states), np.diff(self.offsets))

    def sampling(self) -> Sampling:
        """What the compiled sampler reads."""
        return Sampling(
            self.iid, self.offsets, self._threshold, self._alias, self.next_state, self.ends,
            self._start_threshold, self._start_alias,
        )  # fmt: skip

    def batch(self, outcome: Integers, inputs: Floats, target: Affine) -> Batch:
        """The transitions with these outcome numbers [lanes, batch], with `inputs` [states, k] for x."""
        outcome, last = integers("outcome", outcome), len(self.probability) - 1
        if outcome.size and not (outcome.min() >= 0 and outcome.max() <= last):
            raise ValueError(f"outcome must be in [0, {last}], got {outcome.min()} … {outcome.max()}")
        shift = target.shift(self.reward, self.discount).take(outcome)
        x, x_next = inputs[self.state[outcome]], inputs[self.next_state[outcome]]
        return Batch(x, x_next, shift, self.rho[outcome])


@dataclass
class Sampler:
    """Lanes that walk a table, each on its own stream [lanes, 4]: a lane's transitions depend on nothing else.

    state  [lanes]  the current state of each lane
    """

    table: TransitionTable
    streams: NDArray[np.uint64]
    state: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.streams = np.array(self.streams, dtype=np.uint64, order="C")
        shape("streams", self.streams, (None, 4))
        self.state = np.zeros(self.lanes, dtype=np.int64)
        start_states(self.streams, self.table.sampling(), self.state)

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return len(self.streams)

    def check(self) -> None:
        """The states are what compiled code indexes with, and a caller may have set them."""
        shape("streams", self.streams, (None, 4))
        shape("state", self.state, (self.lanes,))
        if self.lanes and not (self.state.min() >= 0 and self.state.max() < self.table.states):
            found = f"{self.state.min()} … {self.state.max()}"
            raise ValueError(f"state must be in [0, {self.table.states - 1}], got {found}")

    def draw(self, steps: int) -> Integers:
        """The next outcome numbers, [steps, lanes]."""
        whole("steps", steps, 0)
        self.check()
        out = np.empty((steps, self.lanes), dtype=np.int64)
        draw_outcomes(self.streams, self.table.sampling(), self.state, out)
        return out


def _ends(values: Integers) -> str:
    return f"{values[0]} … {values[-1]}" if len(values) else "no numbers"


def alias_table(name: str, probability: Floats) -> tuple[Floats, Integers]:
    """Walker's alias table: one uniform number picks an outcome in O(1), however many there are."""
    n = len(probability)
    if n == 0:
        raise ValueError(f"{name} must not be empty")
    if (probability < 0).any():
        raise ValueError(f"{name} must not be negative, got {probability.min()}")
    if abs(probability.sum() - 1.0) > 1e-9:
        raise ValueError(f"{name} must sum to 1, got {probability.sum():.12g}")
    scaled = probability / probability.sum() * n
    threshold, alias = np.ones(n), np.arange(n)
    small = [i for i in range(n) if scaled[i] < 1.0]
    large = [i for i in range(n) if scaled[i] >= 1.0]
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = scaled[low], high
        scaled[high] -= 1.0 - scaled[low]
        if scaled[high] < 1.0:
            small.append(large.pop())
    for rest in small:  # rounding left them slightly below 1; those near 0 must never be drawn
        threshold[rest] = 1.0 if scaled[rest] > 0.5 else 0.0
    return threshold, alias
