"""`dgtd gate`: a gate on two commits, measured by asv, base and head in turns.

Exact numbers (`track_*`) must not grow at all, times by no more than a factor, a process's memory by no more than 5 %
(`dgtd.harness.asv.regressions`). What is unclear because of noise is measured again, alone, up to four times in total.

asv's own exit codes do not distinguish a regression from a failed build, and its `compare` always exits 0. The gate
has one exit code per outcome.
"""

import json
import math
import re
import shutil
import subprocess
import sys
import traceback
from itertools import product
from pathlib import Path

from dgtd.harness.asv.regressions import FACTOR, Code, Key, Report, Side, judge, kind_of, shown

TURNS = ("base", "head", "head", "base")
LOOKS = 4


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
        """The commit that a name refers to."""
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
