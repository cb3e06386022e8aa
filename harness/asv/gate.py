"""`dgtd gate`: a gate on two commits, measured by asv, base and head in turns.

Exact numbers (`track_*`) must not grow at all, nor differ between a commit's turns. Times must grow by no more than a
factor, and are judged by the fastest turn of a side, once a second turn is close to it: a busy period can hide a
slow-down, or look like one. peakmem is the memory of the whole process, torch included, hardly varies, and must grow by
no more than 5 %. What is unclear because of noise is measured again, alone, up to four times in total.

asv's own exit codes do not distinguish a regression from a failed build, and its `compare` always exits 0. The gate
has one exit code per outcome.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import traceback
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import product
from pathlib import Path

TURNS = ("base", "head", "head", "base")
LOOKS = 4
FACTOR = 1.3  # between the 1.07 of an A/A test (the summary shows the largest) and the 1.5 that must be caught
MEMORY = 1.05  # of a process of 250 MB that imports torch
NEAR = 1.05  # a minimum counts when a second turn is within this factor of it
CONFIRMED = 3  # turns per side before anything except an exact number counts as worse
WORDS = {"track": "grew", "time": "slower"}

Key = tuple[str, str]  # benchmark, parameters


# ---------------------------------------------------------------------- judging


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


# ---------------------------------------------------------------------- measuring


class AsvError(RuntimeError):
    """asv could not do what it was asked."""


class NoBenchmarksError(AsvError):
    """Nothing to measure."""


class BuildError(AsvError):
    """Neither commit could be built."""


def read(folder: Path, commit: str) -> Side:
    """What asv stored for one turn. A failed build leaves only nulls; a skipped benchmark leaves NaN."""
    files = list(folder.glob(f"*/{commit[:8]}-*.json"))
    if not files:
        raise AsvError(f"asv stored nothing for {commit[:8]}")
    side, any_ran = Side(), False
    for path in files:
        stored = json.loads(path.read_text(encoding="utf-8"))
        columns = stored["result_columns"]
        for name, row in stored["results"].items():
            entry = dict(zip(columns, row, strict=False))
            any_ran |= entry["result"] is not None or entry.get("duration") is not None
            samples = entry.get("samples") or []
            for i, words in enumerate(map(", ".join, product(*entry.get("params") or []))):
                value = entry["result"][i] if entry["result"] is not None else None
                if value is None:
                    side.broken.add((name, words))
                elif not math.isnan(value):
                    number = _fast(samples[i]) if kind_of((name, words)) == "time" else value
                    side.turns.setdefault((name, words), []).append(number)  # one per environment
    side.built = any_ran
    return side


def _fast(samples: list[float]) -> float:
    """The fastest sample after the lowest 2 %: on a virtual machine the processor's clock sometimes shows too little.

    asv's own value, the median, depends on whatever else runs.
    """
    return sorted(samples)[len(samples) // 50]


class Gate:
    """Measures with the asv.conf.json of a repository, and keeps its results separate."""

    def __init__(self, root: Path, bench: str | None = None, turns: tuple[str, ...] = TURNS) -> None:
        self.root, self.bench, self.turns = root, bench, turns
        self.folder = root / ".asv" / "gate"

    def resolve(self, name: str) -> str:
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
            cwd=self.root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if found.returncode:
            raise AsvError(f"no commit {name!r} in {self.root}")
        return found.stdout.strip()

    def measure(self, commits: dict[str, str], keys: list[Key] | None = None) -> dict[str, Side]:
        """One look: measure both sides in turns."""
        sides = {"base": Side(), "head": Side()}
        for turn, side in enumerate(self.turns):
            print(f"turn {turn + 1} of {len(self.turns)}: {side} {commits[side][:8]}", file=sys.stderr, flush=True)
            shutil.rmtree(self.folder / side, ignore_errors=True)
            try:
                self._run(side, commits, keys)
            except BuildError:
                sides[side].built = False
                break
            sides[side].add(read(self.folder / side, commits[side]))
            if not sides[side].built:
                break
        return sides

    def _run(self, side: str, commits: dict[str, str], keys: list[Key] | None) -> None:
        config = json.loads((self.root / "asv.conf.json").read_text(encoding="utf-8"))
        # asv finds the benchmarks in the commit, or, if that does not build, at the tip of a branch.
        config["branches"] = list(commits.values())
        config["results_dir"] = str(self.folder / side)
        for name in ("env_dir", "html_dir", "benchmark_dir"):
            if name in config:
                config[name] = str(self.root / config[name])
        config["repo"] = str(self.root)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{side}.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        asv = [sys.executable, "-m", "asv"]
        # Without it asv asks about the machine, and waits for an answer.
        subprocess.run(
            [*asv, "machine", "--yes", "--config", str(path)], cwd=self.root, capture_output=True, check=True
        )
        command = [*asv, "run", "--config", str(path), f"{commits[side]}^!", "--record-samples"]
        if keys:
            # A benchmark without parameters has no brackets.
            command += ["--bench", "|".join(f"^{re.escape(shown(key) if key[1] else key[0])}$" for key in keys)]
        elif self.bench:
            command += ["--bench", self.bench]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        (self.folder / f"{side}.log").write_text(said, encoding="utf-8")
        if "No benchmarks selected" in said:
            raise NoBenchmarksError(f"no benchmark matches {self.bench!r}")
        _, nowhere, last = said.partition("Last error: ")
        if nowhere and "discover" not in last.splitlines()[0]:
            raise BuildError("neither commit could be built")
        # 0: success. 2: a build or a benchmark failed; the results show which. Otherwise asv itself failed.
        if done.returncode not in (0, 2):
            last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "no output")
            raise AsvError(f"asv stopped with exit code {done.returncode}: {last}")


def compare(gate: Gate, base: str, head: str, factor: float = FACTOR) -> Report:
    """Measure and judge, then measure again what is doubtful, until it is settled or there were LOOKS looks."""
    commits = {"base": gate.resolve(base), "head": gate.resolve(head)}
    sides: dict[str, Side] = {"base": Side(), "head": Side()}
    doubtful: list[Key] | None = None
    for look in range(1, LOOKS + 1):
        if doubtful:
            print(f"measuring again: {', '.join(map(shown, doubtful))}", file=sys.stderr, flush=True)
        for side, found in gate.measure(commits, doubtful).items():
            sides[side].add(found)
        report, doubtful = judge(sides["base"], sides["head"], factor, last=look == LOOKS)
        if not doubtful:
            break
    return report


def run(base: str, head: str, factor: float = FACTOR, bench: str | None = None) -> int:
    """Measure the repository in this folder, print the report, and return the outcome's code."""
    try:
        report = compare(Gate(Path.cwd(), bench), base, head, factor)
    except NoBenchmarksError as error:
        report = Report(Code.NOTHING, [str(error)])
    except AsvError as error:
        report = Report(Code.BAD, [str(error)])
    except Exception as error:  # Python's own exit code for a crash is 1, which here means slower
        traceback.print_exc()
        report = Report(Code.BAD, [f"{type(error).__name__}: {error}"])
    print("\n".join([*report.lines, f"{report.code.words} (exit code {report.code:d})"]))
    return report.code
