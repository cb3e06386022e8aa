"""Verdicts: PASS, FAIL or INCONCLUSIVE, with everything that was weighed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dgtd.harness.judging.statistics import Interval, Sprt, proportion_interval, seeds_needed


class Verdict(StrEnum):
    """What the evidence says. VACUOUS: true, and says nothing (a bound above what standing still achieves).

    SMALL: whatever difference there is, it does not matter.
    """

    PASS = "PASS"
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    VACUOUS = "VACUOUS"
    SMALL = "NO DIFFERENCE"


@dataclass(frozen=True)
class Finding:
    """A verdict and its evidence.

    false_alarm   the chance of a FAIL if the claim is true; 0 for exact checks
    detectable    the smallest effect that the data could have told from none
    needed        seeds that would settle it, if it is INCONCLUSIVE
    flips         in words, what would turn the verdict round
    """

    verdict: Verdict
    estimate: float
    low: float
    high: float
    margin: float
    n: int
    false_alarm: float
    words: str
    flips: str
    detectable: float | None = None
    needed: int | None = None
    evidence: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": str(self.verdict)}

    @staticmethod
    def of(values: dict[str, Any]) -> Finding:
        """The inverse of `as_dict`."""
        return Finding(**values | {"verdict": Verdict(values["verdict"])})


def decided(
    verdict: Verdict | bool, weighed: Interval, margin: float, false_alarm: float, words: str, flips: str, **rest: Any
) -> Finding:
    """What was weighed against a margin; a verdict may be given as whether it passes."""
    if isinstance(verdict, bool):
        verdict = Verdict.PASS if verdict else Verdict.FAIL
    bounds = (weighed.estimate, weighed.low, weighed.high)
    return Finding(verdict, *bounds, margin, weighed.n, false_alarm, words, flips, **rest)


def largest(*errors: ArrayLike) -> float:
    """Of some numbers and arrays; not a number if one of them is none: Python's max may leave it out."""
    return float(np.max(np.concatenate([np.ravel(each) for each in errors])))


def exactly(error: float, margin: float, words: str, wrong: str = "", **evidence: Any) -> Finding:
    """An exact check: no sampling, so it passes or fails. `wrong` says in words what a failure means."""
    passes = error <= margin
    said = words if passes or not wrong else f"{words}: {wrong}"
    flips = f"an error {'above' if passes else 'at most'} {margin:.1e}; it is {error:.2e}, by enumeration"
    return decided(bool(passes), Interval.at(error, 1), margin, 0.0, said, flips, detectable=margin, evidence=evidence)


def agrees(error: float, margin: float, setting: Any, n: int, words: str, **evidence: Any) -> Finding:
    """What must hold in every lane that was simulated, whichever lanes they are: a number against its margin."""
    found = exactly(error, margin, words, **evidence)
    flips = f"a number {'above' if error <= margin else 'at most'} {margin:.1e} in {n} lanes; it is {error:.2e}"
    return replace(found, n=n, false_alarm=setting.false_alarm, flips=flips)


def below(
    interval: Interval, margin: float, false_alarm: float, words: str, small: tuple[float, float] | None = None,
    **evidence: Any,
) -> Finding:  # fmt: skip
    """The quantity is at most `margin`: PASS if the upper bound clears it, FAIL if the lower bound does not.

    small   SMALL if it does not pass, and the interval lies between these two
    """
    verdict = Verdict.FAIL if interval.low > margin else Verdict.INCONCLUSIVE
    if small is not None:
        evidence = {"no difference that matters": list(small)} | evidence
        if small[0] <= interval.low and interval.high <= small[1]:
            verdict = Verdict.SMALL
    verdict = Verdict.PASS if interval.high <= margin else verdict
    needed = seeds_needed(interval, margin, small) if verdict is Verdict.INCONCLUSIVE else None
    flips = f"an interval wholly {'above' if verdict is Verdict.PASS else 'below'} {margin:g}"
    half = (interval.high - interval.low) / 2
    return decided(
        verdict, interval, margin, false_alarm, words, flips, detectable=half, needed=needed, evidence=evidence
    )


def unlikely(p: float, false_alarm: float, n: int, words: str, **evidence: Any) -> Finding:
    """A test of what must hold, by its p-value: FAIL if the data had a chance of at most `false_alarm`."""
    passes = bool(p > false_alarm)
    flips = f"a p-value {'of at most' if passes else 'above'} {false_alarm:.1e}"
    return decided(passes, Interval.at(p, n), false_alarm, false_alarm, words, flips, evidence=evidence)


def seldom(test: Sprt, failures: list[bool], words: str, **evidence: Any) -> Finding:
    """At most a share `good` of lanes fails, told from `bad` by a sequential test."""
    passes, used = test.decide(failures)
    share = proportion_interval(sum(failures[:used]), used, test.false_alarm)
    flips = f"failures enough to tell {test.bad:.0%} from {test.good:.0%}" if passes else "fewer lanes that fail"
    needed = test.lanes_if_clean if passes is None else None
    return decided(
        Verdict.INCONCLUSIVE if passes is None else passes, share, test.good, test.false_alarm, words, flips,
        detectable=test.bad, needed=needed, evidence=evidence,
    )  # fmt: skip


def confirmed(first: Finding, again: Finding) -> Finding:
    """A FAIL counts if fresh seeds fail too: the false-alarm rates multiply."""
    rate = first.false_alarm * again.false_alarm
    if again.verdict is Verdict.FAIL:
        return replace(again, false_alarm=rate, words=f"{again.words} (confirmed on fresh seeds)")
    words = f"{first.words} (failed once, and on fresh seeds did not: {again.words})"
    return replace(first, verdict=Verdict.INCONCLUSIVE, words=words, false_alarm=rate)
