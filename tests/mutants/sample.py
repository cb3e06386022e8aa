"""A random sample of all faults that cosmic-ray can make, as an estimate of how many our checks see.

For each fault, until the first that sees it: the quick tests that may see it, then the suites of claims that may. What
may see a fault is read from a run without one: a test that calls the function, and its neighbours in the file, which
share fixtures with it. If the fault is where calls are not seen (compiled code, code that runs at import), it is all
that call into modules that import it, the nearest first. The slow tests are left out, and TESTS and CLAIMS end the
rest: so the score is a lower bound.
"""

from __future__ import annotations

import ast
import re
import secrets
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from dgtd.algorithms.fast.compiling import has_compiled
from tests.forked import PYTEST
from tests.mutants.baseline import QUIET, Baseline, Check, measure
from tests.mutants.catching import COMMAND, FOLDERS, Place, digest_of, ledger_of
from tests.mutants.imports import Graph
from tests.mutants.results import Results, key_of
from tests.mutants.sites import Change, all_sites, draw
from tests.mutants.written import listed

# Seconds of the processor that tests and claims may take for one fault, by what they take without it while they are
# watched, which is about twice as long.
TESTS, CLAIMS = 40.0, 100.0
MERCY = 4.0  # times that on a busy machine, and what a compilation may take: then it hangs
COMPILING = 120.0
CAUGHT, INCOMPETENT, SURVIVED = "caught", "incompetent", "survived"
WRONG = ("FAIL", "MISSED", "ERROR")


@dataclass(frozen=True)
class Verdict:
    """What became of a fault. `by` is the test or the claim that saw it."""

    file: str
    name: str
    kind: str
    outcome: str
    by: str
    seconds: float

    @property
    def line(self) -> str:
        """One line."""
        return f"{self.outcome:11}  {self.seconds:4.0f} s  {self.name}" + (f"  [{self.by}]" if self.by else "")


class Sample:
    """Faults in one checkout; `work` is a folder for the copies."""

    def __init__(self, root: Path, work: Path, results: Results, jobs: int) -> None:
        self.work, self.results, self.jobs = work, results, jobs
        self.right = Place.make(root, work / "right")
        self.sources = digest_of(self.right.sources)
        self.graph = Graph(self.right.sources, FOLDERS)

    @cached_property
    def baseline(self) -> Baseline:
        """From the results, if these sources were run before."""
        key = key_of(self.sources, "baseline")
        if self.results.get(key) is None:
            with ThreadPoolExecutor(self.jobs) as pool:
                self.results.add(key, record=measure(self.right, pool))
        found = self.results.get(key)
        assert found is not None
        return Baseline.of(found["record"])

    # ------------------------------------------------------------------ who may see it

    def nearest(self, change: Change, checks: list[Check], budget: float) -> list[Check]:
        """Those that may see a fault, the nearest first and the quickest of them first, within a budget."""
        function = function_at(self.right.sources / change.file, change.line)
        call = f"{change.file}:{function}"
        hidden = function is None or call in self.baseline.imported or self._compiled(change.file)
        far = self.graph.distances(change.file)
        callers = {_file(check) for check in checks if call in check.calls}
        ranks: dict[str, int] = {}
        for check in checks:
            if call in check.calls:
                ranks[check.name] = 0
            elif _file(check) in callers:  # a fixture that tests share was called for the first of them
                ranks[check.name] = 1
            elif hidden and (near := [far[file] for file in {*check.files, _file(check)} if file in far]):
                ranks[check.name] = 2 + min(near)
        return _within(budget, [check for check in checks if check.name in ranks], ranks)

    def _compiled(self, file: str) -> bool:
        return has_compiled((self.right.sources / file).read_bytes())

    # ------------------------------------------------------------------ does one?

    def judge(self, change: Change) -> Verdict:
        """In a copy of its own, or from the results."""
        key = key_of(self.sources, change, TESTS, CLAIMS)
        if (stored := self.results.get(key)) is not None:
            return Verdict(**{name: stored[name] for name in Verdict.__dataclass_fields__})
        start, folder = time.perf_counter(), self.work / key
        place = self.right.another(folder, change.file)
        try:
            change.apply(place.sources)
            outcome, by = self.outcome(place, change)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        seconds = round(time.perf_counter() - start, 1)
        verdict = Verdict(change.file, change.name, change.kind, outcome, by, seconds)
        self.results.add(key, **asdict(verdict))
        return verdict

    def outcome(self, place: Place, change: Change) -> tuple[str, str]:
        """(what became of it, by whom), of what a copy holds."""
        tests = self.nearest(change, self.baseline.tests, TESTS)
        if tests:
            words = (*QUIET, "-x", "-rfE", "--tb=no", *(test.name for test in tests))
            done = place.run(PYTEST, *words, patience=patience(tests))
            if done.late or done.returncode < 0:
                return INCOMPETENT, "too slow" if done.late else f"signal {-done.returncode}"
            if done.returncode != 0:
                named = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.M)
                return CAUGHT, named[1] if named else "no test could be collected"
        for suite in self.nearest(change, self.baseline.suites, CLAIMS):
            words = ("suite", suite.name, "--json", "--store", str(place.folder / "store.sqlite"))
            done = place.run(COMMAND, *words, patience=patience([suite]))
            if done.late or done.returncode < 0:
                return INCOMPETENT, "too slow" if done.late else f"signal {-done.returncode}"
            statuses = ledger_of(done)
            wrong = [name for name, status in suite.statuses.items() if statuses.get(name, "ERROR") != status]
            worse = [name for name in wrong if statuses.get(name, "ERROR") in WRONG]
            if worse:
                return CAUGHT, f"claim {worse[0]}"
        return SURVIVED, ""

    def run(self, changes: list[Change]) -> list[Verdict]:
        """All of them, one line each as they end."""
        found = []
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                for number, verdict in enumerate(pool.map(self.judge, changes), 1):
                    print(f"{number:4}  {verdict.line}", flush=True)
                    found.append(verdict)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found

    def catches_nothing_where_nothing_is_broken(self, changes: list[Change]) -> None:
        """RuntimeError if tests or claims fail in the copy without a fault, in the order in which they would run."""
        for change in changes:
            outcome, by = self.outcome(self.right, change)
            if outcome != SURVIVED:
                raise RuntimeError(f"nothing is broken, and yet: {outcome} {by}")


def _file(check: Check) -> str:
    return check.name.partition("::")[0]


def _within(budget: float, checks: list[Check], ranks: dict[str, int]) -> list[Check]:
    """In order. Tests of a file stay together, for the sake of its fixtures."""
    whole: defaultdict[tuple[int, str], float] = defaultdict(float)
    for check in checks:
        whole[ranks[check.name], _file(check)] += check.seconds
    found, spent = [], 0.0
    for check in sorted(checks, key=lambda c: (ranks[c.name], whole[ranks[c.name], _file(c)], _file(c), c.seconds)):
        if spent + check.seconds <= budget:
            found.append(check)
            spent += check.seconds
    return found


def patience(checks: Iterable[Check]) -> float:
    """Seconds after which these hang."""
    return COMPILING + MERCY * sum(check.seconds for check in checks)


def function_at(path: Path, line: int) -> int | None:
    """The first line (its decorators' first) of the function whose body holds this line; None outside of all."""
    found = None
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if node.body[0].lineno <= line <= (node.end_lineno or 0):
                found = max(first, found or 0)
    return found


def summary(verdicts: list[Verdict]) -> str:
    """Survivors by file, counts by kind of fault, and the score with its interval."""
    lines = ["", "survivors"]
    for verdict in sorted(verdicts, key=lambda each: each.name):
        if verdict.outcome == SURVIVED:
            lines.append(f"  {verdict.name}")
    lines += ["", f"{'kind':28} {'drawn':>5} {CAUGHT:>8} {INCOMPETENT:>12} {SURVIVED:>9}"]
    for kind in [*sorted({verdict.kind for verdict in verdicts}), "all"]:
        counts = Counter(verdict.outcome for verdict in verdicts if kind in (verdict.kind, "all"))
        lines.append(f"{kind:28} {counts.total():5} {counts[CAUGHT]:8} {counts[INCOMPETENT]:12} {counts[SURVIVED]:9}")
    low, high = interval(verdicts)
    seen = sum(verdict.outcome != SURVIVED for verdict in verdicts)
    rooms = Counter(verdict.file for verdict in verdicts if verdict.outcome == SURVIVED)
    lines += ["", "survivors by file: " + (", ".join(f"{file} {n}" for file, n in rooms.most_common()) or "none")]
    lines += [f"score: {seen} of {len(verdicts)} = {seen / len(verdicts):.1%}, 95 % interval {low:.1%} to {high:.1%}"]
    return "\n".join(lines)


def interval(verdicts: list[Verdict]) -> tuple[float, float]:
    """Clopper and Pearson's, of the share that does not survive."""
    seen = sum(verdict.outcome != SURVIVED for verdict in verdicts)
    found = binomtest(seen, len(verdicts)).proportion_ci(0.95, method="exact")
    return float(found.low), float(found.high)


def main(
    root: Path, work: Path, results: Results, jobs: int, count: int, seed: int | None, faults: Path | None = None
) -> int:
    """Draw, or read a list; judge and sum up. The exit code is 0: a score has no threshold."""
    seed = secrets.randbelow(2**32) if seed is None else seed
    sample = Sample(root, work, results, jobs)
    if faults is None:
        sites = all_sites(sample.right.sources)
        changes: list[Any] = draw(sample.right.sources, sites, count, seed)
        print(f"seed {seed}: {len(changes)} of {len(sites)} sites, sources {sample.sources}", flush=True)
    else:
        changes = listed(faults, sample.right.sources)
        print(f"{faults}: {len(changes)} faults, sources {sample.sources}", flush=True)
    start = time.perf_counter()
    baseline = sample.baseline
    out = [f"{suite.name} ({suite.seconds:.0f} s)" for suite in baseline.suites if suite.seconds > CLAIMS]
    print(
        f"{len(baseline.tests)} tests, {len(baseline.suites) - len(out)} suites; too long: {', '.join(out) or 'none'}"
    )
    sample.catches_nothing_where_nothing_is_broken(changes[:2])
    print(f"nothing broken, nothing caught; {time.perf_counter() - start:.0f} s", flush=True)
    verdicts = sample.run(changes)
    print(summary(verdicts))
    again = f"--seed {seed}" if faults is None else f"--faults {faults}"
    print(f"repeat or resume with {again}; {time.perf_counter() - start:.0f} s")
    return 0
