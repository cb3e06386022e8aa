"""Figures of all problems at once: a profile over lanes, and one panel for each problem."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.across import Across, across
from dgtd.harness.experiment.comparison import Comparison, Entry
from dgtd.harness.experiment.experiment import Entrant
from dgtd.harness.experiment.search import SweepPoint
from dgtd.harness.report.drawing import Figure, Panel, Reading, Readings, Styles
from dgtd.harness.report.panels import Shown, at_step, figure_of


def overview(found: Comparison, styles: Styles) -> list[Figure]:
    """All of them, in the order of the page."""
    out = [
        _across(
            found, "spread", "Spread across seeds",
            "Standard deviation over seeds of the RMSPBE against steps, per problem.",
            _deviation, partial(_spread, styles),
        ),
        _across(
            found, "survival", "Lanes alive",
            "Share of lanes that have not diverged against steps, per problem.",
            _alive, partial(_survival, styles), "no lane diverged",
        ),
    ]  # fmt: skip
    if (seen := across(found)) is not None:
        out.insert(-2, _profile(seen, styles, found.experiment.entrants))
    if found.experiment.searched:
        words = (
            "Area under RMSPBE in the sweep against alpha, at the best beta for each alpha, per problem; crosses at "
            "the top are settings where lanes diverged whatever beta."
        )
        draw = partial(_sensitivity, styles)
        out.append(_across(found, "sensitivity", "Sensitivity to step sizes", words, _areas, draw))
    return out


def _across(
    found: Comparison, name: str, title: str, words: str, curves: Callable[[Entry], tuple[Floats, Floats]],
    draw: Callable[[list[Entry], Any], Readings], level: str = "flat",
) -> Figure:  # fmt: skip
    shown: list[Shown] = []
    for problem in found.experiment.places:
        here = found.at(problem)
        shown.append((Panel(problem, partial(draw, here), True), [curves(entry)[1] for entry in here]))
    return figure_of(name, title, words, shown, level)


def _profile(seen: Across, styles: Styles, entrants: tuple[Entrant, ...]) -> Figure:
    def draw(axis: Any) -> Readings:
        levels = seen.levels()
        curves = []
        for who in entrants:
            height = seen.profile(who.label, levels)
            axis.plot(levels, height, **styles.line(who))
            some = slice(None, None, 10)  # two hundred levels are more than a pointer can tell apart
            said = [f"{share:.0%} of lanes" for share in height[some]]
            curves.append(styles.reading(who, levels[some], said))
        axis.set(
            xlabel="area under RMSPBE as a share of its start", ylabel="share of lanes at or below", xscale="log",
            ylim=(-0.05, 1.05),
        )  # fmt: skip
        return Readings(lambda x: f"at most {x:.3g} of the start", curves)

    words = (
        "Share of lanes, over all problems, whose area under RMSPBE is at most a share of its start: higher is better."
    )
    heights = [seen.profile(who.label, seen.levels()) for who in entrants]
    return figure_of("profile", "Performance profile", words, [(Panel("all problems", draw), heights)])


def _deviation(entry: Entry) -> tuple[Floats, Floats]:
    """Checkpoints, and the standard deviation over seeds; where a lane is lost there is none."""
    values = entry.of("rmspbe")
    with np.errstate(all="ignore"):
        deviation = np.where(np.isfinite(values).all(0), values.std(0, ddof=1), np.nan)
    shown = (entry.times > 0) & (deviation > 0)
    return entry.times[shown].astype(float), deviation[shown]


def _curve(styles: Styles, entry: Entry, plot: Callable[..., Any], curve: tuple[Floats, Floats], says: str) -> Reading:
    """Draw a contestant's curve; what a page says of each of its points."""
    plot(*curve, **styles.line(entry.who))
    return styles.reading(entry.who, curve[0], [says.format(height) for height in curve[1]])


def _spread(styles: Styles, here: list[Entry], axis: Any) -> Readings:
    curves = [_curve(styles, entry, axis.plot, _deviation(entry), "{:.3g}") for entry in here]
    axis.set(xlabel="steps", ylabel="sd of RMSPBE over seeds", xscale="log", yscale="log")
    return Readings(at_step, curves)


def _alive(entry: Entry) -> tuple[Floats, Floats]:
    return np.maximum(entry.times, 1).astype(float), entry.alive


def _survival(styles: Styles, here: list[Entry], axis: Any) -> Readings:
    step = partial(axis.step, where="post")
    curves = [_curve(styles, entry, step, _alive(entry), "{:.0%} alive") for entry in here]
    axis.set(xlabel="steps", ylabel="share of lanes alive", xscale="log", ylim=(-0.05, 1.05))
    return Readings(at_step, curves)


def _best_by_alpha(entry: Entry) -> dict[float, SweepPoint]:
    """For each α of the sweep, its best β."""
    best: dict[float, SweepPoint] = {}
    for point in sorted(entry.choice.sweep, key=lambda each: (each.alpha, each.area)):
        best.setdefault(point.alpha, point)
    return best


def _areas(entry: Entry) -> tuple[Floats, Floats]:
    best = _best_by_alpha(entry)
    return np.array(list(best)), np.array([point.area for point in best.values()])


def _sensitivity(styles: Styles, here: list[Entry], axis: Any) -> Readings:
    top = max((s.area for entry in here for s in entry.choice.sweep if np.isfinite(s.area)), default=1.0) * 1.6
    curves = []
    for entry in here:
        alphas, area = _areas(entry)
        fine = np.isfinite(area)
        axis.plot(alphas[fine], area[fine], marker="o", ms=4, **styles.line(entry.who))
        own = {"color": styles.colour(entry.who), "gid": styles.gid(entry.who)}
        axis.plot(alphas[~fine], np.full((~fine).sum(), top), "x", **own)
        axis.axvline(entry.spec.learner.alpha, lw=0.6, alpha=0.5, **own)
        said = [
            f"{point.area:.3g} at β = {point.beta:.4g}" if point.stable else "diverged"
            for point in _best_by_alpha(entry).values()
        ]
        curves.append(styles.reading(entry.who, alphas, said))
    axis.set(xlabel="α (β at its best)", ylabel="area under RMSPBE", xscale="log", yscale="log")
    return Readings(lambda alpha: f"α = {alpha:.4g}", curves)
