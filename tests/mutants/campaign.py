"""The campaign: every mutant in a copy of its own, and who catches it. Resumable, parallel, one line each."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.mutants.catalogue import MUTANTS, room_of
from tests.mutants.catching import Place, compiles_anew, digest_of
from tests.mutants.mutant import Catcher, Mutant

ROOT = Path(__file__).parents[2]
SHARE = 0.85  # of all mutants must be caught by claims alone


@dataclass(frozen=True)
class Result:
    """What became of a mutant. `by` is the catcher, empty if there was none."""

    name: str
    room: str
    by: str
    seconds: float

    @property
    def line(self) -> str:
        """One line."""
        kind, _, what = self.by.partition(":")
        verdict = f"caught  by {kind:5}  {what}" if self.by else "MISSED"
        return f"{verdict:90}  {self.name}  {self.seconds:.0f} s"


class Results:
    """A file of JSON lines, each with a key: what a second run does not repeat."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known = {entry["key"]: entry for entry in map(_parsed, lines) if entry}

    def get(self, key: str) -> dict[str, Any] | None:
        """What is stored under a key."""
        return self._known.get(key)

    def add(self, key: str, **values: Any) -> None:
        """One more line."""
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key} | values, ensure_ascii=False) + "\n")
            self._known[key] = {"key": key} | values


def _parsed(line: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:  # the last line of a run that was killed
        return {}
    return found


class Campaign:
    """Mutants of one checkout; `work` is a folder for the copies."""

    def __init__(self, root: Path, work: Path, results: Results) -> None:
        self.work, self.results = work, results
        self.right = Place.make(root, work / "right")
        self.sources = digest_of(self.right.sources)

    def key(self, *parts: Any) -> str:
        """Of the sources before any fault, and of what else decides a result."""
        return hashlib.sha256(repr((self.sources, *parts)).encode()).hexdigest()[:16]

    def key_of(self, mutant: Mutant) -> str:
        """Of a mutant, with its catchers."""
        return self.key(sorted(asdict(mutant).items()))

    # ------------------------------------------------------------------ without a fault

    def check_catchers(self, mutants: Iterable[Mutant]) -> dict[str, str]:
        """Every catcher once where nothing is broken: which do not pass there, and why."""
        self.right.check()
        wanted: dict[str, dict[str, Mutant]] = {}
        for mutant in mutants:
            for catcher in mutant.catchers:
                wanted.setdefault(mutant.rule, {}).setdefault(catcher.text, mutant)
        red = {}
        for rule, catchers in wanted.items():
            todo = [Catcher(text) for text in catchers if self.results.get(self.key("right", rule, text)) is None]
            if todo:
                next(iter(catchers.values())).prepare(self.right.sources)
                wrong = self.right.red(todo, bool(rule))
                for each in todo:
                    self.results.add(self.key("right", rule, each.text), right=each.text, wrong=wrong.get(each.text))
            for text in catchers:
                if (found := self.results.get(self.key("right", rule, text))) and found["wrong"]:
                    red[text] = found["wrong"]
        return red

    def warm(self) -> None:
        """Compile once, for all mutants whose file is not compiled."""
        if not self.right.cache.exists():
            self.right.statuses("rates", ["rates/one-step/extragradient"], False, "warm.sqlite")
            self.right.statuses(
                "gradients", ["gradients/collision/value/linear/gtd2/sampled-mean"], False, "warm.sqlite"
            )

    # ------------------------------------------------------------------ with one

    def judge(self, mutant: Mutant) -> Result:
        """In a copy of its own, until the first catcher catches it."""
        stored = self.results.get(self.key_of(mutant))
        if stored is not None:
            return Result(mutant.name, room_of(mutant), stored["by"], stored["seconds"])
        start = time.perf_counter()
        folder = self.work / hashlib.sha256(mutant.name.encode()).hexdigest()[:12]
        place = Place.make(self.right.sources, folder)
        try:
            mutant.prepare(place.sources)
            mutant.apply(place.sources)
            if self.right.cache.exists() and not compiles_anew(self.right.sources, mutant.file):
                shutil.copytree(self.right.cache, place.cache)
            tried = enumerate(mutant.catchers)
            by = next((each.text for turn, each in tried if place.catches(each, bool(mutant.rule), turn)), "")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        result = Result(mutant.name, room_of(mutant), by, round(time.perf_counter() - start, 1))
        self.results.add(self.key_of(mutant), **asdict(result))
        return result

    def run(self, mutants: list[Mutant], jobs: int) -> list[Result]:
        """All of them, one line each as they end."""
        found = []
        if any(self.results.get(self.key_of(mutant)) is None for mutant in mutants):
            self.warm()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                for result in pool.map(self.judge, mutants):
                    print(result.line, flush=True)
                    found.append(result)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found


def summary(results: list[Result]) -> str:
    """Counts, in total and by room."""
    lines = []
    for room in [*dict.fromkeys(result.room for result in results), "all"]:
        here = [result for result in results if room in (result.room, "all")]
        kinds = Counter(result.by.partition(":")[0] or "missed" for result in here)
        lines.append(
            f"{room:14} {len(here):4} mutants  {kinds['claim']:4} by claims  {kinds['test']:4} by tests  "
            f"{kinds['missed']:4} missed"
        )
    return "\n".join(lines)


def exit_code(results: list[Result], sampled: bool) -> int:
    """0 if all are caught, and enough of them by claims."""
    missed = sum(not result.by for result in results)
    by_claims = sum(result.by.startswith("claim:") for result in results)
    return int(missed > 0 or (not sampled and by_claims < SHARE * len(results)))


def options(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once; one per core by default"
    )
    parser.add_argument("--only", default="", help="mutants whose name, file or room contains this")
    parser.add_argument("--sample", type=int, help="this many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "mutants.jsonl", help="where results live")
    parser.add_argument("--source", type=Path, default=ROOT, help="another checkout to break")
    return parser.parse_args(words)


def chosen(given: argparse.Namespace) -> list[Mutant]:
    """The mutants that are asked for."""
    found = [m for m in MUTANTS if given.only in m.name or given.only in m.file or given.only == room_of(m)]
    if given.sample is None or given.sample >= len(found):
        return found
    return random.Random(given.seed).sample(found, given.sample)


def main(words: list[str] | None = None) -> int:
    """Exit codes: 0 all caught, 1 some are not, 2 a catcher does not pass where nothing is broken."""
    given = options(words)
    mutants = chosen(given)
    if given.list:
        for mutant in mutants:
            print(f"{room_of(mutant):14} {mutant.name:60} {', '.join(mutant.caught_by) or 'nothing yet'}")
        return 0
    with tempfile.TemporaryDirectory(prefix="dgtd-mutants-") as folder:
        campaign = Campaign(given.source.resolve(), Path(folder), Results(given.results))
        red = campaign.check_catchers(mutants)
        for text, why in red.items():
            print(f"does not pass where nothing is broken: {text}: {why}", file=sys.stderr)
        if red:
            return 2
        results = campaign.run(mutants, given.jobs)
    print(f"\n{summary(results)}")
    return exit_code(results, given.sample is not None)
