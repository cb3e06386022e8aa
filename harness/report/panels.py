"""Which panels of a figure have something to show, and how a page names places on their axes."""

from __future__ import annotations

import re

import numpy as np

from algorithms.checks import Floats
from harness.experiment.comparison import Comparison
from harness.report.drawing import Figure, Panel

Shown = tuple[Panel, list[Floats]]  # a panel, and the heights of its curves


def figure_of(name: str, title: str, words: str, shown: list[Shown], level: str = "flat") -> Figure:
    """The panels in which a curve moves; the words say which were left out, and why. `level`: what a flat one means."""
    kept = tuple(panel for panel, curves in shown if any(map(_moves, curves)))
    lost = [panel.title for panel, curves in shown if not any(np.isfinite(curve).any() for curve in curves)]
    flat = [panel.title for panel, _ in shown if panel not in kept and panel.title not in lost]
    for why, titles in (("every lane diverged", lost), (level, flat)):
        if titles:
            words += f" Left out, {why}: {', '.join(titles)}."
    return Figure(name, title, words, kept)


def _moves(curve: Floats) -> bool:
    """Whether there is more to see than a level line."""
    fine = curve[np.isfinite(curve)]
    return len(fine) > 1 and bool(np.ptp(fine) > 1e-9 * np.abs(fine).max())


def file_name(found: Comparison, kind: str, place: str) -> str:
    """Safe in a path and as an id, and one for each place however alike their names are."""
    places = found.experiment.places
    safe = [re.sub(r"[^\w.-]+", "_", name).strip("_") for name in places]
    here = places.index(place)
    again = safe[:here].count(safe[here])
    return f"{kind}-{safe[here]}" + (f"-{again + 1}" if again else "")


def at_step(step: float) -> str:
    """How a page names a checkpoint."""
    return f"step {step:,.0f}"
