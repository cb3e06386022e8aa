"""How far lanes are from their exact expectation: in standard errors, and what chance allows over all checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.exact import METRIC

if TYPE_CHECKING:
    from dgtd.harness.experiment.comparison import Comparison, Entry

CHANCE = 0.01  # that lanes of the right expectation leave the band at any checkpoint of any contestant
ROUNDING = 1e-12


def standard_errors_away(squares: Floats, exact: Floats) -> Floats:
    """(mean over lanes − expectation) / standard error, of squares [lanes, checkpoints]; NaN where lanes do not differ.

    Lanes that differ by less than rounding at the height of their start do not count as different.
    """
    with np.errstate(all="ignore"):
        error = squares.std(0, ddof=1) / np.sqrt(len(squares))
        varies = error > ROUNDING * np.maximum(squares[:, 0].max(), squares.max(0))
        return np.where(varies, (squares.mean(0) - exact) / error, np.nan)


def careful(squares: Floats, exact: Floats) -> Floats:
    """The same for skewed lanes: what is left of a distance towards the side on which rare lanes may be missing.

    Squared errors are skewed: without the rare large ones, mean and standard error are both too small. By Hall's
    transformation (1992), with the skewness γ of the checkpoint or the usual one of the curve, whichever is larger:

        T = away/√n        √n ((1 + γT/3)³ − 1)/γ        (1 + γT/3 is 0 at least)

    Of 200 checkpoints of 30 lanes drawn from exponential laws, the plain number leaves the band in every third
    comparison, and this one in fewer than one of a hundred.
    """
    away, n = standard_errors_away(squares, exact), len(squares)
    with np.errstate(all="ignore"):
        skew = ((squares - squares.mean(0)) ** 3).mean(0) / squares.std(0) ** 3
        known = skew[np.isfinite(away)]
        usual = np.median(known) if len(known) else 0.0
        missing = -np.sign(away)  # 1: the mean is low, so large lanes may be missing
        gamma = np.maximum(np.maximum(missing * skew, missing * usual), 1e-9)
        kept = np.maximum(1.0 - gamma * np.abs(away) / np.sqrt(n) / 3, 0.0)
        return -missing * np.sqrt(n) * (1.0 - kept**3) / gamma


@dataclass(frozen=True)
class Distance:
    """One contestant's lanes at one checkpoint; `outside`: farther than chance has it."""

    problem: str
    label: str
    step: int
    away: float
    outside: bool


@dataclass(frozen=True)
class Agreement:
    """Of all contestants that have an exact curve. `within`: standard errors that chance allows."""

    distances: list[Distance]
    ends: list[Distance]
    lanes: int
    within: float

    @property
    def curves(self) -> int:
        return len({(each.problem, each.label) for each in self.distances})

    @property
    def worst(self) -> Distance:
        return max(self.distances, key=lambda each: abs(each.away))

    @property
    def outside(self) -> list[Distance]:
        """What is flagged: the farthest of each contestant."""
        flagged = sorted((each for each in self.distances if each.outside), key=lambda each: -abs(each.away))
        return list({(each.problem, each.label): each for each in reversed(flagged)}.values())[::-1]


def away_of(entry: Entry) -> Floats:
    """[checkpoints], of the lanes' mean MSPBE; NaN where there is nothing to compare."""
    if entry.exact is None:
        return np.full(len(entry.times), np.nan)
    return standard_errors_away(entry.of(METRIC) ** 2, entry.exact)


def agreement(found: Comparison) -> Agreement | None:
    """None if nothing can be compared: no exact curve, or lanes that were lost or do not vary."""
    per_entry = [(entry, away_of(entry)) for entry in found.entries]
    tests = sum(int(np.isfinite(away).sum()) for _, away in per_entry)
    if not tests:
        return None
    lanes = found.experiment.seeds
    within = float(stats.t.isf(CHANCE / 2 / tests, lanes - 1))
    distances, ends = [], []
    for entry, away in per_entry:
        if entry.exact is None:
            continue
        beyond = np.abs(careful(entry.of(METRIC) ** 2, entry.exact)) > within
        here = [
            Distance(entry.place, entry.who.label, int(step), float(number), bool(out))
            for step, number, out in zip(entry.times, away, beyond, strict=True)
        ]
        distances += [each for each in here if np.isfinite(each.away)]
        ends += [each for each in here[-1:] if np.isfinite(each.away)]
    return Agreement(distances, ends, lanes, within)


def as_dict(found: Comparison) -> dict[str, Any]:
    """For JSON: what chance allows, what is outside of it, and LSTD's reference per problem."""
    seen = agreement(found)
    return {
        "agreement": None if seen is None else {
            "curves": seen.curves, "checkpoints": len(seen.distances), "lanes": seen.lanes, "chance": CHANCE,
            "within_standard_errors": seen.within, "worst": vars(seen.worst),
            "outside": [vars(each) for each in seen.outside],
        },
        "lstd": {name: {"steps_times_mspbe": each.limit} for name, each in found.lstd.items()},
    }  # fmt: skip


def curve_as_dict(entry: Entry) -> dict[str, Any]:
    """For JSON: a contestant's exact curve, or why there is none."""
    if entry.exact is None:
        return {"left_out": entry.why_not_exact or "not asked for"}
    away = away_of(entry)
    finite = np.isfinite(away)
    return {
        "steps": entry.times,
        "mspbe": entry.exact,
        "lanes_mspbe": (entry.of(METRIC) ** 2).mean(0),
        "standard_errors_away": away,
        "at_end": away[-1],
        "worst": away[finite][np.abs(away[finite]).argmax()] if finite.any() else np.nan,
    }
