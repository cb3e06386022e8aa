"""What the figures of a comparison show: learning curves and laws of each problem, then all problems at once."""

from __future__ import annotations

import re
import warnings
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.compare.comparison import ALPHA, NAMES, Comparison, Performance
from harness.compare.exact import METRIC
from harness.judging.statistics import Interval, median_interval
from harness.report.drawing import INK, Figure, Panel
from harness.report.exact_lines import caption, drawable, exact_lines, exact_words
from harness.report.overview import overview
from harness.report.panels import at_step, figure_of
from harness.report.readings import Reading, Readings
from harness.report.styles import COLOURS, Styles


def figures(found: Comparison) -> list[Figure]:
    """All of them, in the order of the page."""
    styles = Styles(found.contest.contestants)
    out = [_learning(found, problem, styles) for problem in found.contest.problems]
    if any(who.distributional for who in found.contest.contestants):
        out += [_law(found, problem, styles) for problem in found.contest.problems]
    out += overview(found, styles)
    return out


def sweep_figure(entry: Performance) -> Figure:
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
        axis.plot(*_best(entry), "*", ms=13, color=INK, label="chosen")
        axis.set(xlabel="α", ylabel="area under RMSPBE (× diverged)", xscale="log", yscale="log")

    words = f"Area under RMSPBE against alpha, one line for each beta over alpha: {entry.who.label} on {entry.problem}."
    return Figure("sweep", "Sensitivity", words, (Panel(f"{entry.who.label} on {entry.problem}", draw),))


def _best(entry: Performance) -> tuple[float, float]:
    alpha, beta = entry.choice.best
    return alpha, next(s.area for s in entry.choice.sweep if (s.alpha, s.beta) == (alpha, beta))


# ---------------------------------------------------------------------- the drawings


def _learning(found: Comparison, problem: str, styles: Styles) -> Figure:
    here = found.at(problem)

    def draw(metric: str, axis: Any) -> Readings:
        curves = [_band(axis, entry, metric, styles) for entry in here if metric in entry.who.metrics]
        if metric == METRIC:
            curves += exact_lines(axis, here, found.lstd.get(problem), styles)
        axis.set(xlabel="steps", ylabel=NAMES[metric], xscale="log", yscale="log")
        return Readings(at_step, curves)

    metrics = [metric for metric in NAMES if any(metric in entry.who.metrics for entry in here)]
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


def _medians(entry: Performance, metric: str) -> Floats:
    values = entry.of(metric)[:, entry.times > 0]
    return drawable(np.median(np.where(np.isfinite(values), values, np.inf), axis=0))


def _band(axis: Any, entry: Performance, metric: str, styles: Styles) -> Reading:
    shown = entry.times > 0
    found = [median_interval(column, ALPHA) for column in entry.of(metric)[:, shown].T]
    steps = entry.times[shown]
    middle, low, high = (
        drawable([getattr(interval, name) for interval in found]) for name in ("estimate", "low", "high")
    )
    axis.plot(steps, middle, **styles.line(entry.who))
    axis.fill_between(
        steps, low, high, color=styles.colour(entry.who), alpha=0.15, lw=0, gid=styles.gid(entry.who)
    )  # fmt: skip
    more = exact_words(entry) if metric == METRIC else [""] * len(found)
    words = [_said(interval) + exact for interval, exact in zip(found, more, strict=True)]
    return Reading(styles.gid(entry.who), entry.who.label, steps.tolist(), words)


def _said(interval: Interval) -> str:
    """A median with its interval, if the seeds are enough for one."""
    bounds = f" [{interval.low:.3g}, {interval.high:.3g}]" if np.isfinite(interval.low) else ""
    return f"{interval.estimate:.3g}{bounds}".replace("inf", "∞")


def _law(found: Comparison, problem: str, styles: Styles) -> Figure:
    from algorithms.targets import CdfTarget
    from harness.oracle.returns import true_law
    from harness.plugins import find_problem

    world = find_problem(problem)
    target = world.target("cdf", found.contest.atoms, found.contest.projection)
    assert isinstance(target, CdfTarget)
    state, z = int(np.argmax(world.mdp.d)), target.support
    here = [entry for entry in found.at(problem) if entry.who.distributional]
    learned = [law_quantiles(entry.law) for entry in here]

    def draw(axis: Any) -> Readings:
        law = np.append(true_law(world.mdp, target).cdf[state], 1.0)
        axis.step(z, law, where="post", color=INK, lw=2.2, alpha=0.55, label="true law")
        curves = [Reading("true-law", "true law", z.tolist(), [f"{F:.3g}" for F in law])]
        for entry, (low, middle, high) in zip(here, learned, strict=True):
            axis.step(z, middle, where="post", **styles.line(entry.who))
            axis.fill_between(
                z, low, high, step="post", color=styles.colour(entry.who), alpha=0.15, lw=0, gid=styles.gid(entry.who)
            )  # fmt: skip
            words = [f"{m:.3g} [{a:.3g}, {b:.3g}]" for a, m, b in zip(low, middle, high, strict=True)]
            curves.append(Reading(styles.gid(entry.who), entry.who.label, z.tolist(), words))
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


def law_quantiles(law: Floats) -> Floats:
    """[3, atoms]: the tenth, fiftieth and ninetieth percentile of laws [lanes, n]; the last atom is always at 1."""
    F = np.concatenate([law, np.ones((len(law), 1))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where every lane diverged there is no percentile
        found: Floats = np.nanquantile(np.where(np.isfinite(F), F, np.nan), [0.1, 0.5, 0.9], axis=0)
    return found


def file_name(found: Comparison, kind: str, problem: str) -> str:
    """Safe in a path and as an id, and one for each problem however alike their names are."""
    safe = [re.sub(r"[^\w.-]+", "_", name).strip("_") for name in found.contest.problems]
    here = found.contest.problems.index(problem)
    again = safe[:here].count(safe[here])
    return f"{kind}-{safe[here]}" + (f"-{again + 1}" if again else "")
