"""Figures of a comparison, drawn once: as SVG inside the page, and as SVG, PDF and PNG for papers.

A rule has one colour everywhere; its distributional form is dashed. INK stands for whatever colour the page's text has.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.comparison import ALPHA, NAMES, Entry, Outcomes
from harness.contest import Contestant
from harness.statistics import median_interval

INK = "#010203"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31")  # Okabe and Ito's, and one more


@dataclass(frozen=True)
class Figure:
    """A drawing, its file name, and what a reader who does not see it should know."""

    name: str
    title: str
    words: str
    draw: Callable[[Any], None]
    rows: int = 1
    columns: int = 1


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
        dash = (0, (4, 2)) if who.target == "cdf" else "-"
        return {"color": self.colour(who), "ls": dash, "lw": 1.8, "gid": self.gid(who), "label": who.label}

    def gid(self, who: Contestant) -> str:
        """The mark by which the page finds what belongs to a contestant."""
        return f"curve-{self._index[who]}"


def figures(found: Outcomes) -> list[Figure]:
    """All of them, in the order of the page."""
    styles = Styles(found.contest.contestants)
    out = [_learning(found, problem, styles) for problem in found.contest.problems]
    if any(who.target == "cdf" for who in found.contest.contestants):
        out += [_law(found, problem, styles) for problem in found.contest.problems]
    panels = len(found.contest.problems)
    across = {"rows": -(-panels // 2), "columns": min(panels, 2)}
    out.append(
        Figure(
            "spread", "Spread across seeds",
            "Standard deviation over seeds of the RMSPBE against steps, per problem.",
            lambda axes: _across(axes, found, lambda axis, here: _spread(axis, here, styles)), **across,
        )
    )  # fmt: skip
    out.append(
        Figure(
            "survival", "Lanes alive",
            "Share of lanes that have not diverged against steps, per problem.",
            lambda axes: _across(axes, found, lambda axis, here: _survival(axis, here, styles)), **across,
        )
    )  # fmt: skip
    if found.contest.steps_given is None:
        out.append(
            Figure(
                "sensitivity", "Sensitivity to step sizes",
                "Area under RMSPBE in the sweep against alpha, at the best beta for each alpha, per problem; "
                "crosses at the top are settings where lanes diverged whatever beta.",
                lambda axes: _across(axes, found, lambda axis, here: _sensitivity(axis, here, styles)), **across,
            )
        )  # fmt: skip
    return out


def sweep_figure(entry: Entry) -> Figure:
    """A sweep of one rule on one problem: a line for each β/α."""

    def draw(axes: Any) -> None:
        axis = np.ravel(axes)[0]
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
        axis.set_title(f"{entry.who.label} on {entry.problem}", fontsize=9)

    words = f"Area under RMSPBE against alpha, one line for each beta over alpha: {entry.who.label} on {entry.problem}."
    return Figure("sweep", "Sensitivity", words, draw)


def _best(entry: Entry) -> tuple[float, float]:
    alpha, beta = entry.choice.best
    return alpha, next(s.area for s in entry.choice.sweep if (s.alpha, s.beta) == (alpha, beta))


# ---------------------------------------------------------------------- the drawings


def _learning(found: Outcomes, problem: str, styles: Styles) -> Figure:
    here = found.at(problem)
    metrics = [metric for metric in NAMES if any(metric in entry.who.metrics for entry in here)]

    def draw(axes: Any) -> None:
        for axis, metric in zip(np.ravel(axes), metrics, strict=True):
            for entry in here:
                if metric in entry.who.metrics:
                    _band(axis, entry, entry.of(metric), styles)
            axis.set(xlabel="steps", ylabel=NAMES[metric], xscale="log", yscale="log")

    measured = ", ".join(NAMES[metric] for metric in metrics)
    words = f"{measured} on {problem} against steps: medians over seeds with {1 - ALPHA:.0%} intervals."
    return Figure(f"learning-{_safe(problem)}", f"Learning on {problem}", words, draw, -(-len(metrics) // 2), 2)


def _band(axis: Any, entry: Entry, values: Floats, styles: Styles) -> None:
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


def _law(found: Outcomes, problem: str, styles: Styles) -> Figure:
    from algorithms.targets import CdfTarget
    from harness.cohort import prepared
    from harness.returns import true_law

    def draw(axes: Any) -> None:
        axis = np.ravel(axes)[0]
        for i, entry in enumerate(e for e in found.at(problem) if e.who.target == "cdf"):
            run = prepared(entry.spec)
            mdp, target = run.metrics.mdp, run.metrics.target
            assert isinstance(target, CdfTarget)
            state = int(np.argmax(mdp.d))
            z = target.support
            if i == 0:
                law = np.append(true_law(mdp, target).cdf[state], 1.0)
                axis.step(z, law, where="post", color=INK, lw=2.2, alpha=0.55, label="true law")
            with np.errstate(all="ignore"):
                F = run.final_theta() @ mdp.features[state]  # [lanes, n]
            F = np.concatenate([F, np.ones((len(F), 1))], axis=1)
            low, middle, high = np.nanquantile(np.where(np.isfinite(F), F, np.nan), [0.1, 0.5, 0.9], axis=0)
            axis.step(z, middle, where="post", **styles.line(entry.who))
            axis.fill_between(
                z, low, high, step="post", color=styles.colour(entry.who), alpha=0.15, lw=0, gid=styles.gid(entry.who)
            )  # fmt: skip
        axis.set(xlabel=f"return from state {state}, the most visited", ylabel="F(z)")

    words = (
        f"The law of the return on {problem}, learned (median of 16 lanes, band from the tenth to the ninetieth "
        "percentile) and true, as cumulative distribution functions."
    )
    return Figure(f"law-{_safe(problem)}", f"Return distribution on {problem}", words, draw)


def _across(axes: Any, found: Outcomes, one: Callable[[Any, list[Entry]], None]) -> None:
    flat = np.ravel(axes)
    for axis, problem in zip(flat, found.contest.problems, strict=False):
        one(axis, found.at(problem))
        axis.set_title(problem, fontsize=9)
    for axis in flat[len(found.contest.problems) :]:
        axis.set_axis_off()


def _spread(axis: Any, here: list[Entry], styles: Styles) -> None:
    for entry in here:
        values = entry.of("rmspbe")
        with np.errstate(all="ignore"):
            deviation = np.where(np.isfinite(values).all(0), values.std(0, ddof=1), np.nan)
        shown = (entry.times > 0) & (deviation > 0)
        axis.plot(entry.times[shown], deviation[shown], **styles.line(entry.who))
    axis.set(xlabel="steps", ylabel="sd of RMSPBE over seeds", xscale="log", yscale="log")


def _survival(axis: Any, here: list[Entry], styles: Styles) -> None:
    for entry in here:
        axis.step(np.maximum(entry.times, 1), entry.alive, where="post", **styles.line(entry.who))
    axis.set(xlabel="steps", ylabel="share of lanes alive", xscale="log", ylim=(-0.05, 1.05))


def _sensitivity(axis: Any, here: list[Entry], styles: Styles) -> None:
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
        axis.axvline(entry.spec.alpha, color=styles.colour(entry.who), lw=0.6, alpha=0.5, gid=styles.gid(entry.who))
    axis.set(xlabel="α (β at its best)", ylabel="area under RMSPBE", xscale="log", yscale="log")


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("_")


# ---------------------------------------------------------------------- ink on paper


@contextmanager
def _paper() -> Iterator[Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style: dict[Any, Any] = {
        **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
        "svg.fonttype": "none", "svg.hashsalt": "dgtd", "font.size": 9, "axes.spines.top": False,
        "axes.spines.right": False, "axes.grid": True, "grid.color": "#888888", "grid.alpha": 0.25,
        "savefig.transparent": True, "legend.labelcolor": INK,
    }  # fmt: skip
    with plt.rc_context(style):
        yield plt


def save(figure: Figure, path: Path) -> None:
    """One file, in the format that its name ends in."""
    with _paper() as plt:
        drawn = _drawing(plt, figure)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, dpi=150, transparent=False, facecolor="white")
        plt.close(drawn)


def _drawing(plt: Any, figure: Figure) -> Any:
    size = (4.4 * figure.columns + 0.4, 3.0 * figure.rows + 0.5)
    drawn, axes = plt.subplots(figure.rows, figure.columns, figsize=size, squeeze=False)
    figure.draw(axes)
    # Laid out once: a layout engine would do it for each format again, and that is where the time went.
    drawn.tight_layout(rect=(0.0, _legend(drawn, axes) / size[1], 1.0, 1.0))
    return drawn


def render(figure: Figure, folder: Path | None = None) -> str:
    """The figure as SVG for a page; also into a folder, in every format."""
    with _paper() as plt:
        drawn = _drawing(plt, figure)
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{figure.name}.svg").write_text(buffer.getvalue(), encoding="utf-8")
            for kind, metadata in (("pdf", {"CreationDate": None}), ("png", {})):
                path = folder / f"{figure.name}.{kind}"
                drawn.savefig(path, dpi=150, metadata=metadata, transparent=False, facecolor="white")
        plt.close(drawn)
    return for_page(buffer.getvalue(), figure)


def _legend(drawn: Any, axes: Any) -> float:
    """One legend under all panels, as high as the inches given back."""
    handles: dict[str, Any] = {}
    for axis in np.ravel(axes):
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        for one, limits in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
            if one.get_scale() == "log":
                _powers(one, limits)
    columns = min(len(handles), 2 * len(axes[0]))
    drawn.legend(handles.values(), handles, loc="lower center", ncols=columns, fontsize=8, frameon=False)
    return 0.22 * -(-len(handles) // columns) + 0.05


def _powers(axis: Any, limits: tuple[float, float]) -> None:
    """Ticks at powers of ten, in plain text: typesetting hundreds of small ones took half of the time."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    if limits[1] / limits[0] > 20:
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: "10" + f"{round(np.log10(x))}".translate(RAISED)))
    else:  # within about one decade powers of ten say too little
        axis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:.2g}" if f"{x:e}"[0] in "25" else ""))
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.2g}"))
        if not limits[0] < 10.0 ** np.ceil(np.log10(limits[0])) < limits[1]:
            axis.set_minor_formatter(FuncFormatter(lambda x, _: f"{x:.2g}"))


def for_page(svg: str, figure: Figure) -> str:
    """Inline SVG: ids of its own, ink of the page's colour, curves marked by class, and words for who can't see it."""
    from html import escape

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<(\w+) id="(curve-\d+)"', r'<\1 class="\2"', svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.name}-", svg)
    svg = svg.replace(INK, "currentColor")
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(
        r'(<svg) [^>]*?(viewBox="[^"]*")[^>]*>', rf'\1 \2 role="img" aria-label="{escape(figure.words)}">', svg
    )
    return svg if figure.columns > 1 else svg.replace("<svg ", '<svg class="narrow" ', 1)
