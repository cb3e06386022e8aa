"""What the figures of a world show: what agents earn, whether they know it, and return distributions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.experiment.comparison import Comparison, Entry
from dgtd.harness.places.world import find_world
from dgtd.harness.report.drawing import Figure, Panel, Reading, Readings, Styles
from dgtd.harness.report.panels import Line, band, file_name, labelled
from dgtd.harness.runs.trainers.trainer import trainer_of


def law_quantiles(law: Floats) -> Floats:
    """[3, atoms]: the tenth, fiftieth and ninetieth percentile of laws [lanes, n]; the last atom is always at 1."""
    F = np.concatenate([law, np.ones((len(law), 1))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where every lane diverged there is no percentile
        found: Floats = np.nanquantile(np.where(np.isfinite(F), F, np.nan), [0.1, 0.5, 0.9], axis=0)
    return found


def law_band(axis: Any, z: Floats, quantiles: Floats, style: dict[str, Any], label: str = "") -> Reading:
    """A step function and the band around it; returns what a page says of it."""
    low, middle, high = quantiles
    axis.step(z, middle, where="post", **style)
    axis.fill_between(z, low, high, step="post", color=style["color"], alpha=0.15, lw=0, gid=style["gid"])
    words = [f"{m:.3g} [{a:.3g}, {b:.3g}]" for a, m, b in zip(low, middle, high, strict=True)]
    return Reading(style["gid"], label or style["label"], z.tolist(), words)


def figures(found: Comparison, place: str, styles: Styles) -> list[Figure]:
    kept = any(entry.lanes.law.shape[1] for entry in found.at(place))
    return [make(found, place, styles) for make in (_returns, _worth, *([_laws] if kept else []))]


def _line(entry: Entry, styles: Styles, name: str = "", dashed: bool = False) -> Line:
    return Line(name or entry.who.label, styles.index(entry.who), dashed)


def _returns(found: Comparison, place: str, styles: Styles) -> Figure:
    """Returns against steps, and against episodes."""

    def over_steps(axis: Any) -> Readings:
        curves = [band(axis, _line(each, styles), each.times, each.known("return")) for each in found.at(place)]
        return labelled(axis, curves, "steps of the world", "return of an episode")

    def over_episodes(axis: Any) -> Readings:
        curves = [band(axis, _line(entry, styles), *entry.over_episodes()) for entry in found.at(place)]
        return labelled(axis, curves, "episodes of a lane", "return of an episode", lambda x: f"episode {x:,.0f}")

    text = (
        f"Return of an episode in {place} against steps, and against the episodes that a lane has finished, as far as "
        f"every lane has come: means over {found.experiment.seeds} seeds."
    )
    panels = (Panel("over steps", over_steps, named=True), Panel("over episodes", over_episodes, named=True))
    return Figure(file_name(found, "returns", place), f"Learning in {place}", text, panels)


def _worth(found: Comparison, place: str, styles: Styles) -> Figure:
    """Q against the Monte-Carlo return: a panel per agent."""

    def panel(entry: Entry) -> Panel:
        def draw(axis: Any) -> Readings:
            lines = ((_line(entry, styles, "Q, what was expected"), "value"),
                     (_line(entry, styles, "what was earned, discounted", dashed=True), "earned"))  # fmt: skip
            curves = [band(axis, line, entry.times, entry.known(name)) for line, name in lines]
            return labelled(axis, curves, "steps of the world", "worth of an episode")

        return Panel(entry.who.label, draw, named=True)

    text = (
        "Where episodes began: the value of the best action as the agent saw it (solid), and the discounted sum of the "
        "rewards that followed (dashed), exploration included. Means over seeds, with intervals. An episode that was "
        "cut off earned less than it was worth."
    )
    panels = tuple(map(panel, found.at(place)))
    return Figure(file_name(found, "worth", place), f"Q against the Monte-Carlo return in {place}", text, panels)


def _laws(found: Comparison, place: str, styles: Styles) -> Figure:
    """Z(s, a), a panel per state and action."""
    states = found.experiment.states or ((),)  # none: where every observation is 0
    here = [entry for entry in found.at(place) if entry.lanes.law.shape[1]]
    target = trainer_of(here[0].spec).target
    assert isinstance(target, CdfTarget)
    z = target.support
    actions = here[0].lanes.law.shape[1] // (len(z) - 1) // len(states)  # policy iteration keeps the greedy one's

    def panel(state: int, action: int) -> Panel:
        def draw(axis: Any) -> Readings:
            curves = []
            for entry in here:
                F = entry.lanes.law.reshape(entry.count, len(states), actions, -1)[:, state, action]
                curves.append(law_band(axis, z, law_quantiles(F), _line(entry, styles).style))
            return labelled(axis, curves, "discounted return", "F(z)", lambda x: f"return at most {x:.3g}")

        where = f"at ({', '.join(f'{part:g}' for part in states[state])}), " if states[state] else ""
        return Panel(where + (f"action {action}" if actions > 1 else "the greedy action"), draw, named=True)

    zero = find_world(place).zero
    everywhere = "where every observation is 0" + (f" ({zero})" if zero else "")
    text = (
        f"The last law of the return of an action {'at chosen observations' if states[0] else everywhere}, as "
        "cumulative distribution functions: medians over seeds, bands from the tenth to the ninetieth percentile."
    )
    panels = tuple(panel(state, action) for state in range(len(states)) for action in range(actions))
    return Figure(file_name(found, "law", place), f"The law of Z(s, a) in {place}", text, panels)
