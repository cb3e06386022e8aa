"""Which panels of a figure have something to show, and how a page names places on their axes."""

from __future__ import annotations

import numpy as np

from algorithms.checks import Floats
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


def at_step(step: float) -> str:
    """How a page names a checkpoint."""
    return f"step {step:,.0f}"
