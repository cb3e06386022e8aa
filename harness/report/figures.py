"""What the figures of a comparison show: learning curves and laws of each problem, then all problems at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.experiment.comparison import ALPHA, DRAWN, NAMES, Comparison, Entry
from dgtd.harness.experiment.exact import METRIC
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.oracle.problem import ATOMS
from dgtd.harness.oracle.returns import true_law
from dgtd.harness.plugins import find_problem
from dgtd.harness.report import worlds
from dgtd.harness.report.drawing import COLOURS, INK, Figure, Panel, Reading, Readings, Styles
from dgtd.harness.report.exact_lines import caption, drawable, exact_lines, exact_words
from dgtd.harness.report.overview import overview
from dgtd.harness.report.panels import at_step, banded, figure_of, file_name
from dgtd.harness.report.worlds import law_band, law_quantiles


def at_place(found: Comparison, place: str, styles: Styles) -> list[Figure]:
    """What is drawn of one place."""
    if found.experiment.in_worlds:
        return worlds.figures(found, place, styles)
    laws = [_law(found, place, styles)] if any(who.distributional for who in found.experiment.entrants) else []
    return [_learning(found, place, styles), *laws]


def over_all(found: Comparison, styles: Styles) -> list[Figure]:
    """What is drawn of all places at once."""
    return [] if found.experiment.in_worlds else overview(found, styles)


def sweep_figure(entry: Entry) -> Figure:
    """A sweep of one rule on one problem: a line for each β/α."""

    def draw(axis: Any) -> None:
        ratios = sorted({round(s.beta / s.alpha, 9) for s in entry.choice.sweep})
        areas = [s.area for s in entry.choice.sweep if np.isfinite(s.area)]
        for i, ratio in enumerate(ratios):
            line = sorted((s.alpha, s.area) for s in entry.choice.sweep if round(s.beta / s.alpha, 9) == ratio)
            alphas, area = np.array(line).T
            fine = np.isfinite(area)
            colour = COLOURS[i % len(COLOURS)]
            axis.plot(alphas[fine], area[fine], "o-", ms=4, color=colour, label=f"β/α = {ratio:g}")
            axis.plot(alphas[~fine], np.full((~fine).sum(), 1.6 * max(areas)), "x", color=colour)
        chosen = next((s.alpha, s.area) for s in entry.choice.sweep if (s.alpha, s.beta) == entry.choice.best)
        axis.plot(*chosen, "*", ms=13, color=INK, label="chosen")
        axis.set(xlabel="α", ylabel="area under RMSPBE (× diverged)", xscale="log", yscale="log")

    words = f"Area under RMSPBE against alpha, one line for each beta over alpha: {entry.who.label} on {entry.place}."
    return Figure("sweep", "Sensitivity", words, (Panel(f"{entry.who.label} on {entry.place}", draw),))


# ---------------------------------------------------------------------- the drawings


def _learning(found: Comparison, problem: str, styles: Styles) -> Figure:
    here = found.at(problem)

    def draw(metric: str, axis: Any) -> Readings:
        curves = [_band(axis, entry, metric, styles) for entry in here if metric in entry.who.metrics]
        if metric == METRIC:
            curves += exact_lines(axis, here, found.lstd.get(problem), styles)
        axis.set(xlabel="steps", ylabel=NAMES[metric], xscale="log", yscale="log")
        return Readings(at_step, curves)

    metrics = [metric for metric in DRAWN if any(metric in entry.who.metrics for entry in here)]
    measured = ", ".join(NAMES[metric] for metric in metrics)
    words = f"{measured} on {problem} against steps: medians over seeds with {1 - ALPHA:.0%} intervals."
    words += caption(here, found.lstd.get(problem))
    shown = [
        (
            Panel(NAMES[metric], partial(draw, metric)),
            [_medians(entry, metric) for entry in here if metric in entry.who.metrics],
        )
        for metric in metrics
    ]
    return figure_of(file_name(found, "learning", problem), f"Learning on {problem}", words, shown)


def _medians(entry: Entry, metric: str) -> Floats:
    values = entry.of(metric)[:, entry.times > 0]
    return drawable(np.median(np.where(np.isfinite(values), values, np.inf), axis=0))


def _band(axis: Any, entry: Entry, metric: str, styles: Styles) -> Reading:
    shown = entry.times > 0
    found = [median_interval(column, ALPHA) for column in entry.of(metric)[:, shown].T]
    steps = entry.times[shown]
    banded(axis, steps, found, styles.line(entry.who), drawable)
    more = exact_words(entry) if metric == METRIC else [""] * len(found)
    said = [each.text() if np.isfinite(each.low) else f"{each.estimate:.3g}" for each in found]
    words = [text.replace("inf", "∞") + exact for text, exact in zip(said, more, strict=True)]
    return styles.reading(entry.who, steps, words)


def _law(found: Comparison, problem: str, styles: Styles) -> Figure:
    world = find_problem(problem)
    target = world.target("cdf", found.experiment.atoms or ATOMS, found.experiment.projection)
    assert isinstance(target, CdfTarget)
    state, z = int(np.argmax(world.mdp.d)), target.support
    here = [entry for entry in found.at(problem) if entry.who.distributional]
    learned = [law_quantiles(entry.lanes.law) for entry in here]

    def draw(axis: Any) -> Readings:
        law = np.append(true_law(world.mdp, target).cdf[state], 1.0)
        axis.step(z, law, where="post", color=INK, lw=2.2, alpha=0.55, label="true law")
        curves = [Reading("true-law", "true law", z.tolist(), [f"{F:.3g}" for F in law])]
        for entry, quantiles in zip(here, learned, strict=True):
            curves.append(law_band(axis, z, quantiles, styles.line(entry.who), entry.who.label))
        axis.set(xlabel=f"return from state {state + 1}, the most visited", ylabel="F(z)")
        return Readings(lambda x: f"return at most {x:.3g}", curves)

    words = (
        f"The law of the return on {problem}, as cumulative distribution functions: true (grey), and learned (median "
        "over seeds, band from the tenth to the ninetieth percentile)."
    )
    if any(((F < -0.005) | (F > 1.005)).any() for _, F, _ in learned):
        words += (
            " The learned curve leaves the range from 0 to 1, so it is no distribution function: a linear predictor's "
            "outputs are sums of weighted features, and nothing holds them inside (the softmax of a network does)."
        )
    name = file_name(found, "law", problem)
    panel = Panel("law", draw)
    return figure_of(name, f"Return distribution on {problem}", words, [(panel, [F[:-1] for _, F, _ in learned])])
