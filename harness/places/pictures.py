"""Pictures of worlds, for people; nothing learns from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

LIFT, POLE = 0.3, 1.0  # of the axle over the track, and the pole's length
CART, WOOD = "#1a1a1a", "#ca9865"  # gymnasium's colours


def cartpole(place: float, angle: float) -> Any:
    """[400, 600, 3]: a cart on its track, and the pole; gymnasium needs pygame for the same."""

    def draw(axes: Any) -> None:
        axes.set(xlim=(-2.4, 2.4), ylim=(-1.2, 2.0))
        axes.plot([-2.4, 2.4], [0, 0], color=CART, linewidth=1)
        axes.fill_between([place - 0.25, place + 0.25], -0.15, LIFT, color=CART)
        tip = place + POLE * math.sin(angle), LIFT + POLE * math.cos(angle)
        axes.plot([place, tip[0]], [LIFT, tip[1]], color=WOOD, linewidth=10, solid_capstyle="round")
        axes.plot([place], [LIFT], "o", color="#8184cb", markersize=8)

    return _drawn(draw)


def treadmill() -> Any:
    """[400, 600, 3]: a belt on two rollers, and somebody who walks and stays where they are."""

    def draw(axes: Any) -> None:
        axes.set(xlim=(-2.4, 2.4), ylim=(-1.2, 2.0))
        axes.plot([-1.5, 1.5], [0, 0], color=CART, linewidth=28, solid_capstyle="round")
        axes.plot([-1.5, 1.5], [0, 0], "o", color="#8184cb", markersize=14)
        for start, end in (((0, 0.65), (-0.25, 0.2)), ((0, 0.65), (0.25, 0.2)), ((0, 0.65), (0, 1.3))):
            axes.plot(*zip(start, end, strict=True), color=WOOD, linewidth=8, solid_capstyle="round")
        axes.plot([0], [1.5], "o", color=WOOD, markersize=22)

    return _drawn(draw)


def _drawn(draw: Callable[[Any], None]) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.axis("off")
    draw(axes)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]
