"""Judge the numbers of two commits: has anything grown? `dgtd.harness.asv.gate` measures them.

Exact numbers must not grow at all, nor differ between a commit's turns. Times are judged by the fastest turn of a side,
once a second turn is close to it: a busy period can hide a slow-down, or look like one. peakmem is the memory of the
whole process, torch included, and hardly varies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import product

FACTOR = 1.3  # between the 1.07 of an A/A test (the summary shows the largest) and the 1.5 that must be caught
MEMORY = 1.05  # of a process of 250 MB that imports torch
NEAR = 1.05  # a minimum counts when a second turn is within this factor of it
CONFIRMED = 3  # turns per side before anything except an exact number counts as worse
WORDS = {"track": "grew", "time": "slower"}

Key = tuple[str, str]  # benchmark, parameters


class Code(IntEnum):
    """Exit codes of the gate. (make exits with 2 on every failure, and prints this code.)"""

    words: str

    PASSED = 0, "nothing slower, nothing grown"
    WORSE = 1, "slower, or an exact number grew"
    BAD = 2, "bad input, or asv itself failed"
    NOISY = 3, "too noisy to tell"
    NOTHING = 4, "nothing was measured on both sides"
    BUILD = 5, "a commit did not build"
    BROKEN = 6, "a benchmark that ran at BASE does not run at HEAD"

    def __new__(cls, value: int, words: str) -> Code:
        code = int.__new__(cls, value)
        code._value_, code.words = value, words
        return code


@dataclass
class Side:
    """Results of one commit: one number per turn, what failed, and whether it was built at all."""

    built: bool = True
    turns: dict[Key, list[float]] = field(default_factory=dict)
    broken: set[Key] = field(default_factory=set)

    def add(self, turn: Side) -> None:
        """Add the numbers of another turn."""
        self.built &= turn.built
        self.broken |= turn.broken
        for key, numbers in turn.turns.items():
            self.turns.setdefault(key, []).extend(numbers)

    def readings(self, key: Key, last: bool) -> list[float]:
        """Times that a verdict must hold for: the fastest turn's, if a second turn is close to it, else none yet.

        At the last look the fastest turn may be alone while the next two agree. Then a verdict must hold with and
        without it.
        """
        first, second, third = sorted([*self.turns[key], math.inf, math.inf])[:3]
        if second <= NEAR * first:
            return [first]
        return [first, second] if last and third <= NEAR * second else []


@dataclass(frozen=True)
class Report:
    """An exit code, and the lines to print."""

    code: Code
    lines: list[str]


def judge(base: Side, head: Side, factor: float = FACTOR, last: bool = True) -> tuple[Report, list[Key]]:
    """The report, and the undecided keys: before the `last` look, they need another look."""
    for name, side in (("BASE", base), ("HEAD", head)):
        if not side.built:
            return Report(Code.BUILD, [f"build failed: {name}"]), []
    shared = sorted(set(base.turns) & set(head.turns))
    broken = [f"broken at HEAD: {shown(key)}" for key in sorted(head.broken & set(base.turns))]
    gone = sorted(set(base.turns) - set(head.turns) - head.broken)
    broken += [f"ran at BASE, skipped or missing at HEAD: {shown(key)}" for key in gone]
    fresh = sorted((set(head.turns) | head.broken) - set(base.turns) - base.broken)
    unknown = [f"did not run at BASE, so not compared: {shown(key)}" for key in fresh]
    if not shared and not broken:
        return Report(Code.NOTHING, unknown), []
    answers = {key: _worse(key, base, head, factor, last) for key in shared}
    worse = [_line(WORDS.get(kind_of(key), "more memory"), key, base, head) for key in shared if answers[key]]
    doubtful = [key for key in shared if answers[key] is None]
    noisy = [_line("too noisy to be sure of", key, base, head) for key in doubtful]
    code = Code.BROKEN if broken else Code.WORSE if worse else Code.NOISY if noisy else Code.PASSED
    return Report(code, [*broken, *worse, *noisy, *unknown, _summary(base, head, shared)]), doubtful


def _worse(key: Key, base: Side, head: Side, factor: float, last: bool) -> bool | None:
    """Did this number grow by more than it may? None if the turns do not decide it."""
    before, after = base.turns[key], head.turns[key]
    if kind_of(key) == "track":
        return _exceeds(min(before), max(after), 1 + 1e-9)
    if kind_of(key) == "time":
        pairs = list(product(base.readings(key, last), head.readings(key, last)))
    else:
        pairs = [(min(before), min(after))]
    answers = {_exceeds(*pair, factor if kind_of(key) == "time" else MEMORY) for pair in pairs}
    if len(answers) != 1 or (True in answers and len(after) < CONFIRMED):
        return None
    return True in answers


def _exceeds(before: float, after: float, factor: float) -> bool:
    return after > before + (factor - 1) * abs(before)


def _line(words: str, key: Key, base: Side, head: Side) -> str:
    before, after = min(base.turns[key]), (max if kind_of(key) == "track" else min)(head.turns[key])
    ratio = f"{after / before:.3f} ×" if before else "from 0"
    return f"{words}: {shown(key)}  {before:.6g} → {after:.6g}  ({ratio})"


def _summary(base: Side, head: Side, shared: list[Key]) -> str:
    """How many numbers were compared, and the largest ratio of times, which shows the remaining noise."""
    ratios = {key: min(head.turns[key]) / min(base.turns[key]) for key in shared if kind_of(key) == "time"}
    said = f"{len(shared)} numbers compared"
    if not ratios:
        return said
    largest = max(ratios, key=lambda key: ratios[key])
    return f"{said}; the times' largest ratio is {ratios[largest]:.3f}, {shown(largest)}"


def kind_of(key: Key) -> str:
    """What asv measures, by the method's name: `time`, `track`, `peakmem` …"""
    return key[0].rsplit(".", 1)[-1].split("_")[0].replace("timeraw", "time")


def shown(key: Key) -> str:
    return f"{key[0]}({key[1]})"
