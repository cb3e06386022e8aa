"""The listed faults: each in a copy of its own, and who catches it. Resumable, parallel, one line each."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.catalogue import room_of
from tests.mutants.catching import Place, digest_of
from tests.mutants.mutant import Catcher, Mutant
from tests.mutants.results import Results, key_of


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


class Campaign:
    """Mutants of one checkout; `work` is a folder for the copies."""

    def __init__(self, root: Path, work: Path, results: Results) -> None:
        self.work, self.results = work, results
        self.right = Place.make(root, work / "right")
        self.sources = digest_of(self.right.sources)

    def key_of(self, mutant: Mutant) -> str:
        """Of a mutant, with its catchers and the sources before any fault."""
        return key_of(self.sources, sorted(asdict(mutant).items()))

    # ------------------------------------------------------------------ without a fault

    def check_catchers(self, mutants: Iterable[Mutant]) -> dict[str, str]:
        """Every catcher once where nothing is broken: which do not pass there, and why."""
        self.right.check()
        texts = dict.fromkeys(catcher.text for mutant in mutants for catcher in mutant.catchers)
        keys = {text: key_of(self.sources, "right", text) for text in texts}
        todo = [Catcher(text) for text in texts if self.results.get(keys[text]) is None]
        wrong = self.right.red(todo)
        for each in todo:
            self.results.add(keys[each.text], right=each.text, wrong=wrong.get(each.text))
        found = {text: self.results.get(key) or {} for text, key in keys.items()}
        return {text: entry["wrong"] for text, entry in found.items() if entry["wrong"]}

    # ------------------------------------------------------------------ with one

    def judge(self, mutant: Mutant) -> Result:
        """In a copy of its own, until the first catcher catches it."""
        stored = self.results.get(self.key_of(mutant))
        if stored is not None:
            return Result(mutant.name, room_of(mutant), stored["by"], stored["seconds"])
        start = time.perf_counter()
        folder = self.work / self.key_of(mutant)
        place = self.right.another(folder, mutant.file)
        try:
            mutant.apply(place.sources)
            tried = enumerate(mutant.catchers)
            by = next((each.text for turn, each in tried if place.catches(each, turn)), "")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        result = Result(mutant.name, room_of(mutant), by, round(time.perf_counter() - start, 1))
        self.results.add(self.key_of(mutant), **asdict(result))
        return result

    def run(self, mutants: list[Mutant], jobs: int) -> list[Result]:
        """All of them, one line each as they end."""
        found = []
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


def main(root: Path, work: Path, results: Results, jobs: int, mutants: list[Mutant]) -> int:
    """Exit codes: 0 all caught, 1 some are not, 2 a catcher does not pass where nothing is broken."""
    campaign = Campaign(root, work, results)
    if red := campaign.check_catchers(mutants):
        for text, why in red.items():
            print(f"does not pass where nothing is broken: {text}: {why}")
        return 2
    found = campaign.run(mutants, jobs)
    print(f"\n{summary(found)}")
    return int(not all(result.by for result in found))
