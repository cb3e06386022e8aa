"""A whole comparison in one picture, problem × pair: colour is the median paired change, a mark what is decided."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgtd.harness.experiment.comparison import Comparison, Duel
from dgtd.harness.report.answer import Case, families, sort
from dgtd.harness.report.drawing import INK, Figure, Panel

FULL = 0.5  # the change at which a colour is as strong as it gets
LOWER, HIGHER, NONE = (0, 114, 178), (213, 94, 0), (245, 245, 245)  # Okabe and Ito's blue and vermilion
MARKS = {"better": "●", "worse": "●", "small": "≈", "identical": "=", "open": "?", "lost": "×"}
MEANS = {
    "●": "decided", "≈": "too small to matter", "=": "identical seed by seed", "?": "not decided", "×": "both diverge"
}  # fmt: skip


def matrix(found: Comparison) -> list[Figure]:
    """Nothing where there is one rule."""
    forms, rules = families(found)
    rows: dict[str, list[Case]] = {}
    for case in [*forms, *(case for cases in rules.values() for case in cases)]:
        rows.setdefault(f"{case[2].label} against {case[1].label}", []).append(case)
    if not rows:
        return []
    score = found.experiment.score(found.experiment.places[0])
    marks = {MARKS[sort(found, case)] for cases in rows.values() for case in cases}
    good, bad = ("more", "less") if score.higher else ("lower", "higher")
    seen = ", ".join(f"{mark} {MEANS[mark]}" for mark in MEANS if mark in marks)
    words = (
        f"Median paired change of the {score.label}, as a share of the second named's: blue is {good} for the first "
        f"named, orange {bad}; full colour at {FULL:.0%} and beyond. {seen}."
    )

    def draw(axis: Any) -> None:
        for i, (label, cases) in enumerate(rows.items()):
            axis.text(-0.5, i - 0.36, label, fontsize=7, va="center", color=INK)
            for case in cases:
                _cell(axis, found, case, found.experiment.places.index(case[0].place), i)
        axis.set(xlim=(-0.5, len(found.experiment.places) - 0.5), ylim=(len(rows) - 0.4, -0.6), yticks=[])
        turned = {"rotation": 30, "ha": "right"} if sum(map(len, found.experiment.places)) > 50 else {}
        axis.set_xticks(range(len(found.experiment.places)), found.experiment.places, fontsize=7, **turned)
        axis.tick_params(length=0, top=True, labeltop=not turned, labelbottom=bool(turned))
        axis.grid(False)
        for side in ("left", "bottom"):
            axis.spines[side].set_visible(False)

    height = 0.55 * len(rows) + 0.6
    return [Figure("answer", "The answer", words, (Panel("problem × pair", draw, height=height),))]


def _cell(axis: Any, found: Comparison, case: Case, column: int, row: int) -> None:
    from matplotlib.patches import Rectangle

    duel, kind = case[0], sort(found, case)
    strength = _strength(found, duel, kind)
    end = LOWER if (strength < 0) != duel.higher else HIGHER
    colour = [(one + abs(strength) * (other - one)) / 255 for one, other in zip(NONE, end, strict=True)]
    axis.add_patch(Rectangle((column - 0.48, row - 0.22), 0.96, 0.5, facecolor=colour, edgecolor="none"))
    share = (
        f" {100 * duel.share:+.2g} %".replace("-", "−")
        if np.isfinite(duel.share) and kind not in ("identical", "lost")
        else ""
    )
    dark = "white" if abs(strength) > 0.6 else "black"
    axis.text(column, row + 0.03, MARKS[kind] + share, fontsize=7, ha="center", va="center", color=dark)


def _strength(found: Comparison, duel: Duel, kind: str) -> float:
    """From −1, B is lower, to 1."""
    if kind in ("identical", "lost"):
        return 0.0
    if not np.isfinite(duel.share):  # one of the two diverges
        return float(-np.sign(duel.difference))
    return float(np.clip(duel.share / FULL, -1, 1))
