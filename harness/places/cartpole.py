"""CartPole, compiled: gymnasium's physics to the last bit (Barto, Sutton, Anderson 1983), starts by lane."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.fast.compiling import (
    Flags1,
    Floats1,
    Floats2,
    Integer,
    Integers1,
    Singles2,
    Streams,
    compiled,
    inlined,
)
from dgtd.algorithms.replay import State, refill
from dgtd.algorithms.streams import lane_streams, uniform
from dgtd.harness.places.world import Moved, WorldInfo

GRAVITY, CART, POLE, LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
TOTAL, LEVER = POLE + CART, POLE * LENGTH
FAR, STEEP = 2.4, 12 * 2 * math.pi / 360
_SINGLE, _FLAG = np.dtype(np.float32), np.dtype(np.bool_)
PAINT, WOOD = "#1a1a1a", "#ca9865"  # gymnasium's colours
AXLE, STICK = 0.3, 1.0  # in pictures: of the axle over the track, and the pole's length
START = 0.05  # an episode starts within this of upright and at rest


class Lanes(NamedTuple):
    """state  [lanes, 4]: x, its speed, the angle, its speed   age  [lanes]: steps since the episode began."""

    state: Floats2
    age: Integers1
    streams: Streams


class Step(NamedTuple):
    """What a step writes, [lanes]."""

    reward: Floats1
    terminated: Flags1
    truncated: Flags1


@inlined()
def _begin(lanes, lane):
    for i in range(4):
        lanes.state[lane, i] = -START + 2 * START * uniform(lanes.streams[lane])
    lanes.age[lane] = 0


@inlined()
def _show(lanes, lane, out):
    for i in range(4):
        out[lane, i] = np.float32(lanes.state[lane, i])


@compiled(Lanes, Singles2)
def begin(lanes, now):
    for lane in range(lanes.age.shape[0]):
        _begin(lanes, lane)
        _show(lanes, lane, now)


@compiled(Floats2, Integers1, Streams, Integers1, Integer, Singles2, Singles2, Floats1, Flags1, Flags1, bare=True)
def move(state, age, streams, actions, limit, following, now, reward, terminated, truncated):
    """Euler's step of every lane: `following` is where it led, `now` where the lane is, perhaps in a new episode.

    It takes the fields of its record one by one: to look at a record takes numba longer than to move thirty lanes.
    """
    lanes = Lanes(state, age, streams)
    for lane in range(actions.shape[0]):
        x, x_dot, theta, theta_dot = state[lane, 0], state[lane, 1], state[lane, 2], state[lane, 3]
        force = FORCE if actions[lane] == 1 else -FORCE
        cosine, sine = math.cos(theta), math.sin(theta)
        temp = (force + LEVER * (theta_dot * theta_dot) * sine) / TOTAL
        turn = (GRAVITY * sine - cosine * temp) / (LENGTH * (4.0 / 3.0 - POLE * (cosine * cosine) / TOTAL))
        push = temp - LEVER * turn * cosine / TOTAL
        x, x_dot = x + TAU * x_dot, x_dot + TAU * push
        theta, theta_dot = theta + TAU * theta_dot, theta_dot + TAU * turn
        state[lane, 0], state[lane, 1], state[lane, 2], state[lane, 3] = x, x_dot, theta, theta_dot
        age[lane] += 1
        fell = x < -FAR or x > FAR or theta < -STEEP or theta > STEEP
        reward[lane] = 1.0
        terminated[lane] = fell
        truncated[lane] = not fell and age[lane] >= limit
        _show(lanes, lane, following)
        if fell or age[lane] >= limit:
            _begin(lanes, lane)
        _show(lanes, lane, now)


class CartPole:
    """Lanes of CartPole that are cut off after `limit` steps."""

    actions = 2

    def __init__(self, streams: NDArray[np.uint64], limit: int) -> None:
        count = len(streams)
        self.limit = limit
        self.lanes = Lanes(np.zeros((count, 4)), np.zeros(count, dtype=np.int64), np.array(streams))
        self.observation = np.zeros((count, 4), dtype=np.float32)
        self._move = move.dispatcher  # not through a method: a call of it takes a tenth of a step
        begin(self.lanes, self.observation)

    def step(self, actions: NDArray[np.int64]) -> Moved:
        """Every lane takes its action. Plain names and no records: each costs as much as three lanes' physics."""
        shape, empty = self.observation.shape, np.empty
        following, now = empty(shape, _SINGLE), empty(shape, _SINGLE)
        reward, terminated, truncated = empty(shape[0]), empty(shape[0], _FLAG), empty(shape[0], _FLAG)
        state, age, streams = self.lanes
        self._move(state, age, streams, actions, self.limit, following, now, reward, terminated, truncated)
        self.observation = now
        return Moved(following, reward, terminated, truncated)

    def state(self) -> State:
        """Where the lanes are; the arrays themselves, not copies."""
        return self.lanes._asdict() | {"observation": self.observation}

    def restore(self, saved: State) -> None:
        refill(self.state(), saved)


def picture(place: float, angle: float) -> Any:
    """[400, 600, 3]: a cart on its track, and the pole; gymnasium needs pygame for the same."""

    def draw(axes: Any) -> None:
        axes.set(xlim=(-2.4, 2.4), ylim=(-1.2, 2.0))
        axes.plot([-2.4, 2.4], [0, 0], color=PAINT, linewidth=1)
        axes.fill_between([place - 0.25, place + 0.25], -0.15, AXLE, color=PAINT)
        tip = place + STICK * math.sin(angle), AXLE + STICK * math.cos(angle)
        axes.plot([place, tip[0]], [AXLE, tip[1]], color=WOOD, linewidth=10, solid_capstyle="round")
        axes.plot([place], [AXLE], "o", color="#8184cb", markersize=8)

    return drawn(draw)


def drawn(draw: Callable[[Any], None]) -> Any:
    """[400, 600, 3]: what `draw` draws on axes without a frame."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.axis("off")
    draw(axes)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def frame() -> Any:
    state = CartPole(lane_streams(0, range(1)), 1).lanes.state[0]
    return picture(float(state[0]), float(state[2]))


def _cartpole(name: str, limit: int) -> WorldInfo:
    return WorldInfo(
        name, f"a pole on a cart, +1 per step until it falls, at most {limit} steps", 4, 2, limit,
        lambda streams: CartPole(streams, limit), frame=frame,
        returns=(0.0, 100.0),  # at most 1/(1 − γ)
        scale=(2.4, 3.0, 0.21, 3.0),  # where an episode ends, and about what speeds reach
        zero="CartPole upright, in the middle, at rest",
        cost=7.0,
    )  # fmt: skip


def v0() -> WorldInfo:
    """For `dgtd.worlds`."""
    return _cartpole("cartpole-v0", 200)


def v1() -> WorldInfo:
    """For `dgtd.worlds`."""
    return _cartpole("cartpole-v1", 500)
