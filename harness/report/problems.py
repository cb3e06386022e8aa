"""A problem as a picture: its states and moves, its values, and the law of the return. States count from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dgtd.harness.oracle.problem import Problem
from dgtd.harness.oracle.returns import true_law

GRAPH_MOST = 40  # with more states the arrows are unreadable, and the transition matrix is shown instead


def draw(problem: Problem, path: Path) -> None:
    """Write the picture to `path`; its ending sets the format (png, svg, pdf)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4.8), layout="constrained")
    axes = figure.subplots(1, 3)
    figure.suptitle(f"{problem.name}: {problem.summary}", parse_math=False)
    (_graph if problem.mdp.states <= GRAPH_MOST else _matrix)(axes[0], problem)
    _values(axes[1], problem)
    _law(axes[2], problem)
    try:
        figure.savefig(path, dpi=130)
    except ValueError as error:
        raise ValueError(f"plot must end in png, svg or pdf, got {str(path)!r}: {error}") from None


def _graph(axis: Any, problem: Problem) -> None:
    from matplotlib.patches import Circle, FancyArrowPatch

    mdp = problem.mdp
    angle = np.pi / 2 - 2 * np.pi * np.arange(mdp.states) / mdp.states
    place = np.stack([np.cos(angle), np.sin(angle)], 1)
    radius = min(0.16, 2.0 / mdp.states)
    for policy, colour, bend in ((mdp.behaviour, "#999999", 0.12), (mdp.target, "#0072B2", 0.22)):
        P = mdp.transition_matrix(policy)
        for s, to in zip(*np.nonzero(P > 1e-12), strict=True):
            width = 0.4 + 2.0 * P[s, to]
            if s == to:
                out = place[s] * (1 + 1.6 * radius)
                axis.add_patch(Circle(out, radius * 0.8, fill=False, color=colour, lw=width, alpha=0.7))
                continue
            arrow = FancyArrowPatch(
                place[s], place[to], connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>", mutation_scale=8,
                shrinkA=100 * radius, shrinkB=100 * radius, color=colour, lw=width, alpha=0.7,
            )  # fmt: skip
            axis.add_patch(arrow)
    for s, (x, y) in enumerate(place):
        axis.add_patch(Circle((x, y), radius, facecolor="white", edgecolor="black", zorder=3))
        axis.text(x, y, str(s + 1), ha="center", va="center", zorder=4, fontsize=max(5, min(10, 160 / mdp.states)))
    axis.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal", title="moves: behaviour grey, target blue")
    axis.axis("off")


def _matrix(axis: Any, problem: Problem) -> None:
    edges = (0.5, problem.mdp.states + 0.5, problem.mdp.states + 0.5, 0.5)
    image = axis.imshow(problem.mdp.P_behaviour, cmap="Greys", aspect="equal", extent=edges)
    axis.set(xlabel="next state", ylabel="state", title="probability of a move under the behaviour")
    axis.figure.colorbar(image, ax=axis, shrink=0.8)


def _values(axis: Any, problem: Problem) -> None:
    mdp = problem.mdp
    states = np.arange(1, mdp.states + 1)
    axis.bar(states, mdp.v, color="#0072B2", label="v, the target's value")
    axis.axhline(0, color="black", lw=0.6)
    axis.set(xlabel="state", ylabel="value (units of reward)", title="values, and where the behaviour spends its time")
    other = axis.twinx()
    other.plot(states, mdp.d, "o", color="#D55E00", ms=4, label="d, share of time")
    other.set(ylabel="share of time d", ylim=(0, None))
    handles = [*axis.get_legend_handles_labels()[0], *other.get_legend_handles_labels()[0]]
    axis.legend(handles, [handle.get_label() for handle in handles], fontsize=8)


def _law(axis: Any, problem: Problem) -> None:
    target = problem.target("cdf", atoms=201)
    law = true_law(problem.mdp, target)  # type: ignore[arg-type]
    shown = np.argsort(-problem.mdp.d, kind="stable")[:4]
    styles = ("-", "--", "-.", ":")
    for s, style in zip(sorted(shown), styles, strict=False):
        cdf = np.append(law.cdf[s], 1.0)
        axis.step(target.support, cdf, style, where="post", label=f"state {s + 1}")  # type: ignore[attr-defined]
    title = "the law of the return, most visited states"
    axis.set(xlabel="return (units of reward)", ylabel="probability of at most this", title=title, ylim=(-0.03, 1.03))
    axis.legend(fontsize=8)
