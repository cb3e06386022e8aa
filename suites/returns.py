"""What lanes earned in a world, and how two learners' returns are judged: the suites of Figures 1 and 3 share it."""

from collections.abc import Callable

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.statistics import Interval, magnitude, mean_interval, paired, robust_ratio
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.places.world import LATE
from dgtd.harness.runs.lanes import Lanes

SMALLER = 0.9  # a variance ratio must be below
# What is too small to matter: chances that a lane does worse than its pair, variance ratios.
NO_ODDS, NO_RATIO = (0.4, 0.6), (SMALLER, 1 / SMALLER)
# Judges the final returns [lanes] of two learners whose lanes are pairs; the text is added to what is said.
Judgement = Callable[[Floats, Floats, str, Setting], Finding]


def final_returns(trial: Lanes) -> Floats:
    """[lanes]: the score of every world, the mean return over the last fifth of the steps; −∞ where a lane diverged."""
    return LATE.of(trial)


def average(values: Floats, alpha: float) -> Interval:
    """Of a mean; where lanes diverged there is none, and nothing is known of it."""
    if np.isfinite(values).all():
        return mean_interval(values, alpha)
    return Interval(float(np.median(np.nan_to_num(values))), -np.inf, np.inf, len(values))


def less(ours: Floats, theirs: Floats) -> Floats:
    """Differences of pairs; two lanes that both diverged are equal."""
    with np.errstate(invalid="ignore"):
        return np.where(ours == theirs, 0.0, ours - theirs)


def earns_more(ours: Floats, theirs: Floats, also: str, setting: Setting) -> Finding:
    """The chance that a lane of the first earns less than its pair: below a half if it earns more."""
    found = paired(-theirs, -ours, setting.false_alarm)  # of losses: what diverged has earned less than all
    words = f"chance that a lane earns less; medians {np.median(ours):.0f} and {np.median(theirs):.0f}{also}"
    return below(found.better, 0.5, setting.false_alarm, words, NO_ODDS)


def earns_more_on_average(matters: float, ours: Floats, theirs: Floats, also: str, setting: Setting) -> Finding:
    """Ten pairs can't decide by signs at such an error rate, so this takes differences for normal."""
    words = f"the other's return less its own, {theirs.mean():.3g} and {ours.mean():.3g} on average{also}"
    return below(average(less(theirs, ours), setting.false_alarm), 0.0, setting.false_alarm, words, (-matters, matters))


def earns_the_same(margin: float, ours: Floats, theirs: Floats, also: str, setting: Setting) -> Finding:
    gap = average(less(ours, theirs), setting.false_alarm)
    words = f"how far apart the returns are, {ours.mean():.3g} and {theirs.mean():.3g} on average{also}"
    return below(magnitude(gap), margin, setting.false_alarm, words)


def varies_less(ours: Floats, theirs: Floats, also: str, setting: Setting) -> Finding:
    if not np.isfinite([*ours, *theirs]).all():
        unknown = Interval(1.0, -np.inf, np.inf, len(ours))
        return below(unknown, SMALLER, setting.false_alarm, f"no variance: lanes diverged{also}")
    ratio = robust_ratio(ours, theirs, 2 * setting.false_alarm)
    words = f"variance ratio; sd over seeds {ours.std(ddof=1):.3g} and {theirs.std(ddof=1):.3g}{also}"
    return below(ratio, SMALLER, setting.false_alarm, words, NO_RATIO)
