"""What the figures of a comparison show. A rule has one colour everywhere; its distributional form is dashed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.compare.across import Across, across
from harness.compare.comparison import ALPHA, NAMES, Comparison, Performance
from harness.compare.contest import Contestant
from harness.judging.statistics import median_interval
from harness.report.drawing import INK, Figure, Panel

# Okabe and Ito's, which most kinds of colour blindness tell apart, and one more.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")


class Styles:
    """Colour and line of every contestant, and the class that its curves carry in the page."""

    def __init__(self, contestants: tuple[Contestant, ...]) -> None:
        rules = list(dict.fromkeys(who.rule for who in contestants))
        self._colour = {rule: COLOURS[i % len(COLOURS)] for i, rule in enumerate(rules)}
        self._index = {who: i for i, who in enumerate(contestants)}

    def colour(self, who: Contestant) -> str:
        """One a rule."""
        return self._colour[who.rule]

    def line(self, who: Contestant) -> dict[str, Any]:
        """Arguments for matplotlib's plot."""
        # Thick dashes: where two forms walk one path, they show on the thin line beneath.
        dash, width = ((0, (2.5, 1.5)), 2.8) if who.distributional else ("-", 1.4)
        label = "\u200b" + who.label if who.label.startswith("_") else who.label  # matplotlib hides the others
        return {"color": self.colour(who), "ls": dash, "lw": width, "gid": self.gid(who), "label": label}

    def gid(self, who: Contestant) -> str:
        """The mark by which the page finds what belongs to a contestant."""
        return f"curve-{self._index[who]}"


def figures(found: Comparison) -> list[Figure]:
    """All of them, in the order of the page."""
    styles = Styles(found.contest.contestants)
    out = [_learning(found, problem, styles) for problem in found.contest.problems]
    if any(who.distributional for who in found.contest.contestants):
        out += [_law(found, problem, styles) for problem in found.contest.problems]
    out += [
        _across(
            found, "spread", "Spread across seeds",
            "Standard deviation over seeds of the RMSPBE against steps, per problem.", partial(_spread, styles),
        ),
        _across(
            found, "survival", "Lanes alive",
            "Share of lanes that have not diverged against steps, per problem.", partial(_survival, styles),
        ),
    ]  # fmt: skip
    if (seen := across(found)) is not None:
        out.insert(-2, _profile(seen, styles, found.contest.contestants))
    if found.contest.steps_given is None:
        words = (
            "Area under RMSPBE in the sweep against alpha, at the best beta for each alpha, per problem; crosses at "
            "the top are settings where lanes diverged whatever beta."
        )
        out.append(_across(found, "sensitivity", "Sensitivity to step sizes", words, partial(_sensitivity, styles)))
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
    metrics = [metric for metric in NAMES if any(metric in entry.who.metrics for entry in here)]

    def draw(metric: str, axis: Any) -> None:
        for entry in here:
            if metric in entry.who.metrics:
                _band(axis, entry, entry.of(metric), styles)
        axis.set(xlabel="steps", ylabel=NAMES[metric], xscale="log", yscale="log")

    measured = ", ".join(NAMES[metric] for metric in metrics)
    words = f"{measured} on {problem} against steps: medians over seeds with {1 - ALPHA:.0%} intervals."
    panels = tuple(Panel(NAMES[metric], partial(draw, metric)) for metric in metrics)
    return Figure(file_name(found, "learning", problem), f"Learning on {problem}", words, panels)


def _band(axis: Any, entry: Performance, values: Floats, styles: Styles) -> None:
    shown = entry.times > 0
    found = [median_interval(column, ALPHA) for column in values[:, shown].T]
    steps = entry.times[shown]
    middle, low, high = (
        _drawn([getattr(interval, name) for interval in found]) for name in ("estimate", "low", "high")
    )
    axis.plot(steps, middle, **styles.line(entry.who))
    axis.fill_between(
        steps, low, high, color=styles.colour(entry.who), alpha=0.15, lw=0, gid=styles.gid(entry.who)
    )  # fmt: skip


def _drawn(values: list[float]) -> Floats:
    """What a logarithmic axis can hold: diverged lanes leave the picture, and 0 is as small as the picture goes."""
    array = np.asarray(values, dtype=float)
    return np.where(np.isfinite(array) & (array < 1e30), np.maximum(array, 1e-12), np.nan)


def _law(found: Comparison, problem: str, styles: Styles) -> Figure:
    from algorithms.targets import CdfTarget
    from harness.oracle.returns import true_law
    from harness.plugins import find_problem

    def draw(axis: Any) -> None:
        world = find_problem(problem)
        target = world.target("cdf", found.contest.atoms, found.contest.projection)
        assert isinstance(target, CdfTarget)
        state, z = int(np.argmax(world.mdp.d)), target.support
        law = np.append(true_law(world.mdp, target).cdf[state], 1.0)
        axis.step(z, law, where="post", color=INK, lw=2.2, alpha=0.55, label="true law")
        for entry in (e for e in found.at(problem) if e.who.distributional):
            F = np.concatenate([entry.law, np.ones((len(entry.law), 1))], axis=1)
            low, middle, high = np.nanquantile(np.where(np.isfinite(F), F, np.nan), [0.1, 0.5, 0.9], axis=0)
            axis.step(z, middle, where="post", **styles.line(entry.who))
            axis.fill_between(
                z, low, high, step="post", color=styles.colour(entry.who), alpha=0.15, lw=0, gid=styles.gid(entry.who)
            )  # fmt: skip
        axis.set(xlabel=f"return from state {state + 1}, the most visited", ylabel="F(z)")

    words = (
        f"The law of the return on {problem}, as cumulative distribution functions: true (grey), and learned (median "
        "over seeds, band from the tenth to the ninetieth percentile)."
    )
    name = file_name(found, "law", problem)
    return Figure(name, f"Return distribution on {problem}", words, (Panel("law", draw),))


def _across(
    found: Comparison, name: str, title: str, words: str, draw: Callable[[list[Performance], Any], None]
) -> Figure:
    """A panel for each problem."""
    panels = tuple(Panel(problem, partial(draw, found.at(problem)), True) for problem in found.contest.problems)
    return Figure(name, title, words, panels)


def _profile(seen: Across, styles: Styles, contestants: tuple[Contestant, ...]) -> Figure:
    def draw(axis: Any) -> None:
        levels = seen.levels()
        for who in contestants:
            axis.plot(levels, seen.profile(who.label, levels), **styles.line(who))
        axis.set(
            xlabel="area under RMSPBE as a share of its start", ylabel="share of lanes at or below", xscale="log",
            ylim=(-0.05, 1.05),
        )  # fmt: skip

    words = (
        "Share of lanes, over all problems, whose area under RMSPBE is at most a share of its start: higher is better."
    )
    return Figure("profile", "Performance profile", words, (Panel("all problems", draw),))


def _spread(styles: Styles, here: list[Performance], axis: Any) -> None:
    for entry in here:
        values = entry.of("rmspbe")
        with np.errstate(all="ignore"):
            deviation = np.where(np.isfinite(values).all(0), values.std(0, ddof=1), np.nan)
        shown = (entry.times > 0) & (deviation > 0)
        axis.plot(entry.times[shown], deviation[shown], **styles.line(entry.who))
    axis.set(xlabel="steps", ylabel="sd of RMSPBE over seeds", xscale="log", yscale="log")


def _survival(styles: Styles, here: list[Performance], axis: Any) -> None:
    for entry in here:
        axis.step(np.maximum(entry.times, 1), entry.alive, where="post", **styles.line(entry.who))
    axis.set(xlabel="steps", ylabel="share of lanes alive", xscale="log", ylim=(-0.05, 1.05))


def _sensitivity(styles: Styles, here: list[Performance], axis: Any) -> None:
    top = max((s.area for entry in here for s in entry.choice.sweep if np.isfinite(s.area)), default=1.0) * 1.6
    for entry in here:
        best: dict[float, float] = {}
        for setting in entry.choice.sweep:
            best[setting.alpha] = min(best.get(setting.alpha, np.inf), setting.area)
        alphas = np.array(sorted(best))
        area = np.array([best[alpha] for alpha in alphas])
        fine = np.isfinite(area)
        axis.plot(alphas[fine], area[fine], marker="o", ms=4, **styles.line(entry.who))
        axis.plot(
            alphas[~fine], np.full((~fine).sum(), top), "x", color=styles.colour(entry.who), gid=styles.gid(entry.who)
        )  # fmt: skip
        axis.axvline(
            entry.spec.learner.alpha, color=styles.colour(entry.who), lw=0.6, alpha=0.5, gid=styles.gid(entry.who)
        )
    axis.set(xlabel="α (β at its best)", ylabel="area under RMSPBE", xscale="log", yscale="log")


def file_name(found: Comparison, kind: str, problem: str) -> str:
    """Safe in a path and as an id, and one for each problem however alike their names are."""
    safe = [re.sub(r"[^\w.-]+", "_", name).strip("_") for name in found.contest.problems]
    here = found.contest.problems.index(problem)
    again = safe[:here].count(safe[here])
    return f"{kind}-{safe[here]}" + (f"-{again + 1}" if again else "")
