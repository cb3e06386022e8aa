"""`make asv-compare`: a gate on two commits, measured by asv in turns and judged here.

asv's own exit codes do not tell a regression from a failed build, and its `compare` always exits 0. The gate's own
tell every outcome apart.

Exact numbers (`track_*`) must not grow at all, nor differ between a commit's turns. Times are compared by their
fastest sample, base and head in turns. A busy spell can slow a commit's every turn, and so hide a slow-down as well as
feign one: a time is looked at again, alone, if it seems slower or if no second turn came near a side's fastest; the
fastest of all looks counts. peakmem is the process's own memory, torch and all, and hardly varies.
"""

from __future__ import annotations

import argparse
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
from typing import Any

FACTOR = 1.3  # between the 1.05 or less of an A/A (the gate prints the largest) and the 1.5 that must be caught
MEMORY = 1.05  # of a process of 250 MB that imports torch
NEAR = 1.05  # a minimum is believed when two turns came this near it
TURNS = ("base", "head", "head", "base")
LOOKS = 4
CONFIRMED = 3  # turns of each side before anything but an exact number counts as worse
WORDS = {"track": "grew", "time": "slower"}

Key = tuple[str, str]  # benchmark, parameters


class Code(IntEnum):
    """What the gate exits with. (make turns every failure into its own 2, and prints this one.)"""

    words: str

    PASSED = 0, "nothing slower, nothing grown"
    WORSE = 1, "slower, or an exact number grew"
    BAD = 2, "bad input, or asv itself failed"
    NOISY = 3, "too noisy to tell"
    NOTHING = 4, "nothing was measured on both sides"
    BUILD = 5, "a commit did not build"
    BROKEN = 6, "a benchmark that ran at BASE does not at HEAD"

    def __new__(cls, value: int, words: str) -> Code:
        """A number with its meaning."""
        code = int.__new__(cls, value)
        code._value_, code.words = value, words
        return code


class AsvError(RuntimeError):
    """asv could not do what it was asked."""


class NoBenchmarksError(AsvError):
    """Nothing to measure."""


class BuildError(AsvError):
    """Neither commit could be built."""


@dataclass
class Side:
    """What one commit gave: a number a turn, what failed, and whether it was built at all."""

    built: bool = True
    turns: dict[Key, list[float]] = field(default_factory=dict)
    broken: set[Key] = field(default_factory=set)

    def add(self, turn: Side) -> None:
        """Another turn's numbers beside these."""
        self.built &= turn.built
        self.broken |= turn.broken
        for key, numbers in turn.turns.items():
            self.turns.setdefault(key, []).extend(numbers)

    def readings(self, key: Key, last: bool) -> list[float]:
        """Times that a verdict must hold for: the fastest turn's, if a second came near it, else none as yet.

        At the last look one turn may stand alone before two that agree; then a verdict must hold with it and without.
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
    """The report, and the keys of which there is no telling: before the `last` look, those that want another one."""
    for name, side in (("BASE", base), ("HEAD", head)):
        if not side.built:
            return Report(Code.BUILD, [f"build failed: {name}"]), []
    shared = sorted(set(base.turns) & set(head.turns))
    broken = [f"broken at HEAD: {_shown(key)}" for key in sorted(head.broken & set(base.turns))]
    gone = sorted(set(base.turns) - set(head.turns) - head.broken)
    broken += [f"ran at BASE, skipped or missing at HEAD: {_shown(key)}" for key in gone]
    fresh = sorted((set(head.turns) | head.broken) - set(base.turns) - base.broken)
    unknown = [f"did not run at BASE, so not compared: {_shown(key)}" for key in fresh]
    if not shared and not broken:
        return Report(Code.NOTHING, unknown), []
    answers = {key: _worse(key, base, head, factor, last) for key in shared}
    worse = [_line(WORDS.get(_kind(key), "more memory"), key, base, head) for key in shared if answers[key]]
    doubtful = [key for key in shared if answers[key] is None]
    noisy = [_line("too noisy to be sure of", key, base, head) for key in doubtful]
    code = Code.BROKEN if broken else Code.WORSE if worse else Code.NOISY if noisy else Code.PASSED
    return Report(code, [*broken, *worse, *noisy, *unknown, _summary(base, head, shared)]), doubtful


def _worse(key: Key, base: Side, head: Side, factor: float, last: bool) -> bool | None:
    """Did this number grow by more than it may? None if the turns do not tell."""
    before, after = base.turns[key], head.turns[key]
    if _kind(key) == "track":
        return _exceeds(min(before), max(after), 1 + 1e-9)
    if _kind(key) == "time":
        pairs = list(product(base.readings(key, last), head.readings(key, last)))
    else:
        pairs = [(min(before), min(after))]
    answers = {_exceeds(*pair, factor if _kind(key) == "time" else MEMORY) for pair in pairs}
    if len(answers) != 1 or (True in answers and len(after) < CONFIRMED):
        return None
    return True in answers


def _exceeds(before: float, after: float, factor: float) -> bool:
    return after > before + (factor - 1) * abs(before)


def _line(words: str, key: Key, base: Side, head: Side) -> str:
    before, after = min(base.turns[key]), (max if _kind(key) == "track" else min)(head.turns[key])
    ratio = f"{after / before:.3f} ×" if before else "from nothing"
    return f"{words}: {_shown(key)}  {before:.6g} → {after:.6g}  ({ratio})"


def _summary(base: Side, head: Side, shared: list[Key]) -> str:
    """How many numbers, and the largest ratio of times: what the machine's noise left after all."""
    ratios = {key: min(head.turns[key]) / min(base.turns[key]) for key in shared if _kind(key) == "time"}
    said = f"{len(shared)} numbers compared"
    if not ratios:
        return said
    largest = max(ratios, key=lambda key: ratios[key])
    return f"{said}; the times' largest ratio is {ratios[largest]:.3f}, {_shown(largest)}"


def read(folder: Path, commit: str) -> Side:
    """What asv stored of one turn. A failed build leaves nothing but nulls; a skipped benchmark leaves NaN."""
    files = list(folder.glob(f"*/{commit[:8]}-*.json"))
    if not files:
        raise AsvError(f"asv stored nothing for {commit[:8]}")
    side, any_ran = Side(), False
    for path in files:
        stored = json.loads(path.read_text())
        columns = stored["result_columns"]
        for name, row in stored["results"].items():
            entry = dict(zip(columns, row, strict=False))
            any_ran |= entry["result"] is not None or entry.get("duration") is not None
            samples = entry.get("samples") or []
            for i, words in enumerate(_combinations(entry.get("params") or [])):
                value = entry["result"][i] if entry["result"] is not None else None
                if value is None:
                    side.broken.add((name, words))
                elif not math.isnan(value):
                    timed = _kind((name, words)) == "time"
                    number = min(samples[i]) if timed else value  # asv's value is the median
                    side.turns.setdefault((name, words), []).append(number)  # one of each environment
    side.built = any_ran
    return side


def _combinations(params: list[list[str]]) -> list[str]:
    return [", ".join(words) for words in product(*params)]


def _kind(key: Key) -> str:
    """What asv measures, by the method's name: `time`, `track`, `peakmem` …"""
    return key[0].rsplit(".", 1)[-1].split("_")[0].replace("timeraw", "time")


def _selector(key: Key) -> str:
    """As asv names what it may run: a benchmark without parameters has no brackets."""
    return _shown(key) if key[1] else key[0]


def _shown(key: Key) -> str:
    return f"{key[0]}({key[1]})"


class Gate:
    """Measures with the asv.conf.json of a repository, into results of its own."""

    def __init__(self, root: Path, bench: str | None = None, turns: tuple[str, ...] = TURNS) -> None:
        self.root, self.bench, self.turns = root, bench, turns
        self.folder = root / ".asv" / "gate"

    def resolve(self, name: str) -> str:
        """The commit of a name."""
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"],
            cwd=self.root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if found.returncode:
            raise AsvError(f"no commit {name!r} in {self.root}")
        return found.stdout.strip()

    def measure(self, commits: dict[str, str], keys: list[Key] | None = None) -> dict[str, Side]:
        """One look: both sides in turns."""
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
        config = json.loads((self.root / "asv.conf.json").read_text())
        # asv learns what there is to run from the commit, or, if that does not build, from the tip of a branch.
        config["branches"] = list(commits.values())
        config["results_dir"] = str(self.folder / side)
        for name in ("env_dir", "html_dir", "benchmark_dir"):
            if name in config:
                config[name] = str(self.root / config[name])
        config["repo"] = str(self.root)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{side}.json"
        path.write_text(json.dumps(config))
        asv = [sys.executable, "-m", "asv"]
        # Without it asv asks about the machine, and waits for an answer.
        subprocess.run(
            [*asv, "machine", "--yes", "--config", str(path)], cwd=self.root, capture_output=True, check=True
        )
        command = [*asv, "run", "--config", str(path), f"{commits[side]}^!", "--record-samples"]
        if keys:
            command += ["--bench", "|".join(f"^{re.escape(_selector(key))}$" for key in keys)]
        elif self.bench:
            command += ["--bench", self.bench]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        (self.folder / f"{side}.log").write_text(said)
        if "No benchmarks selected" in said:
            raise NoBenchmarksError(f"no benchmark matches {self.bench!r}")
        _, nowhere, last = said.partition("Last error: ")
        if nowhere and "discover" not in last.splitlines()[0]:
            raise BuildError("neither commit could be built")
        # 0: fine. 2: a build or a benchmark failed, which the results tell apart. Else asv itself gave up.
        if done.returncode not in (0, 2):
            raise AsvError(f"asv stopped with {done.returncode}: {_last_words(said)}")


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "without a word"


def compare(gate: Gate, base: str, head: str, factor: float = FACTOR) -> Report:
    """Measure and judge, then look again at what is doubtful until it is settled, or LOOKS are spent."""
    commits = {"base": gate.resolve(base), "head": gate.resolve(head)}
    sides: dict[str, Side] = {"base": Side(), "head": Side()}
    doubtful: list[Key] | None = None
    for look in range(1, LOOKS + 1):
        if doubtful:
            print(f"looking again: {', '.join(map(_shown, doubtful))}", file=sys.stderr, flush=True)
        for side, found in gate.measure(commits, doubtful).items():
            sides[side].add(found)
        report, doubtful = judge(sides["base"], sides["head"], factor, last=look == LOOKS)
        if not doubtful:
            break
    return report


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    codes = "exit codes:\n" + "\n".join(f"  {code:d}  {code.words}" for code in Code)
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m harness.gate", description=__doc__, epilog=codes, formatter_class=layout
    )
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("head", nargs="?", default="HEAD", help="commit to judge")
    parser.add_argument("--factor", type=float, default=FACTOR, help=f"times may grow by this ({FACTOR})")
    parser.add_argument("--bench", help="only the benchmarks that match this expression")
    options: Any = parser.parse_args(arguments)
    if not options.factor > 1:
        parser.error(f"--factor must exceed 1, got {options.factor:g}")
    try:
        report = compare(Gate(Path.cwd(), options.bench), options.base, options.head, options.factor)
    except NoBenchmarksError as error:
        report = Report(Code.NOTHING, [str(error)])
    except AsvError as error:
        report = Report(Code.BAD, [str(error)])
    except Exception as error:  # Python's own exit code for a crash is 1, which here means slower
        traceback.print_exc()
        report = Report(Code.BAD, [f"{type(error).__name__}: {error}"])
    print("\n".join([*report.lines, f"{report.code.words} (exit code {report.code:d})"]))
    return report.code


if __name__ == "__main__":
    sys.exit(main())
