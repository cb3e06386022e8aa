"""The exact expected curve behind the sampled ones, LSTD's reference below them, and what is said of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from algorithms.checks import Floats
from harness.compare.agreement import CHANCE, Distance, agreement
from harness.compare.comparison import Comparison, Performance
from harness.oracle.lstd import Lstd
from harness.report.drawing import INK
from harness.report.readings import Reading
from harness.report.styles import Styles

EXACT = "root of the exact expected MSPBE"
LSTD = {"color": INK, "ls": ":", "lw": 1.0, "label": "LSTD, first order in 1/n", "zorder": 1.5}


def exact_lines(axis: Any, here: list[Performance], least_squares: Lstd | None, styles: Styles) -> list[Reading]:
    """Thin and light, behind the medians; what a page says of them."""
    said = []
    known = [entry for entry in here if entry.exact is not None]
    for entry in known:
        assert entry.exact is not None
        shown = entry.times > 0
        steps, root = entry.times[shown], np.sqrt(entry.exact[shown])
        mark = styles.gid(entry.who)
        axis.plot(steps, drawable(root), color=styles.colour(entry.who), lw=0.9, alpha=0.6, zorder=1.8, gid=mark)
        words = ["" if np.isnan(value) else f"{value:.3g}" for value in root]
        said.append(Reading(mark, f"{entry.who.label}, exact", steps.tolist(), words))
    if known:
        axis.plot([], [], color=INK, lw=0.9, alpha=0.6, label=EXACT)
    if least_squares is not None:
        steps = here[0].times[here[0].times >= least_squares.first]
        heights = np.sqrt(least_squares.mspbe(steps))
        axis.plot(steps, heights, **LSTD)
        said.append(Reading("lstd", "LSTD, about", steps.tolist(), [f"{value:.3g}" for value in heights]))
    return said


def drawable(values: ArrayLike) -> Floats:
    """What a logarithmic axis can hold: diverged lanes leave the picture, and 0 is as small as the picture goes."""
    array = np.asarray(values, dtype=float)
    return np.where(np.isfinite(array) & (array < 1e30), np.maximum(array, 1e-12), np.nan)


# ---------------------------------------------------------------------- words


def caption(here: list[Performance], least_squares: Lstd | None) -> str:
    """What the lines are, and which are missing and why: one sentence for each."""
    out = ""
    if any(entry.exact is not None for entry in here):
        out += f" Thin lines: {EXACT}, computed without seeds; the median lane is usually a little below it."
    reasons = dict.fromkeys(entry.why_not_exact for entry in here if entry.why_not_exact)
    if reasons:
        lost = [
            f"{', '.join(entry.who.label for entry in here if entry.why_not_exact == reason)} ({reason})"
            for reason in reasons
        ]
        out += f" Without an exact curve: {'; '.join(lost)}."
    if least_squares is not None:
        out += " Dotted: what LSTD reaches with the same number of transitions, to first order in 1/n; no lower bound."
    return out


def exactness(found: Comparison) -> list[str]:
    """One sentence: how far the lanes' means are from their exact expectations."""
    seen = agreement(found)
    if seen is None:
        return []
    worst, end = seen.worst, max((abs(each.away) for each in seen.ends), default=None)
    at_end = "" if end is None else f", and at the last one at most {end:.1f}"
    outside = [_place(each) for each in seen.outside]
    verdict = f"Farther than that: {', '.join(outside)}." if outside else _inside(abs(worst.away) <= seen.within)
    return [
        f"Against the exact expected MSPBE, the mean over {seen.lanes} lanes is at most {abs(worst.away):.1f} standard "
        f"errors away at any of {len(seen.distances)} checkpoints of {seen.curves} curves ({_place(worst)}){at_end}; "
        f"near normal lanes stay within {seen.within:.1f} in {1 - CHANCE:.0%} of such comparisons. {verdict}"
    ]


def _inside(plainly: bool) -> str:
    if plainly:
        return "None is farther."
    return "None is flagged: the lanes are skewed, and few skewed lanes can be that far away by chance."


def _place(each: Distance) -> str:
    return f"{each.label} on {each.problem}, step {each.step:,}: {each.away:+.1f}"
