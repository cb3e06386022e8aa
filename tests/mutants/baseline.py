"""What passes where nothing is broken: every quick test and every suite, how long it takes and what it calls."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.forked import PYTEST
from tests.mutants.catching import Place, ledger_of
from tests.mutants.reaching import IMPORTED, REACHED

QUIET = ("-p", "no:cacheprovider", "-p", "no:xdist", "--no-header")
WARM = "import runpy; runpy.run_module('tests.kernels', run_name='__main__')"
SUITE = "import sys; from tests.mutants.reaching import suite; sys.exit(suite())"
SHARES = 8  # of the test files, each a process of its own


@dataclass(frozen=True)
class Check:
    """A test or a suite. `calls` are functions, 'file:first line'."""

    name: str
    seconds: float
    calls: frozenset[str]
    statuses: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> set[str]:
        """Where these functions are."""
        return {call.rpartition(":")[0] for call in self.calls}


@dataclass(frozen=True)
class Baseline:
    """Tests, suites, and what is called while modules are imported."""

    tests: list[Check]
    suites: list[Check]
    imported: frozenset[str]

    @staticmethod
    def of(record: dict[str, Any]) -> Baseline:
        """From what `measure` wrote."""
        tests = dict(record["tests"])
        imported = frozenset(tests.pop(IMPORTED)["calls"])
        return Baseline(_checks(tests), _checks(record["suites"]), imported)


def _checks(found: dict[str, Any]) -> list[Check]:
    return [
        Check(name, each["seconds"], frozenset(each["calls"]), each.get("statuses", {})) for name, each in found.items()
    ]


def suites_of(folder: Path) -> list[str]:
    """The names that pyproject.toml declares."""
    return list(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]["dgtd.suites"])


def measure(place: Place, pool: Executor) -> dict[str, Any]:
    """Everything once; a test that does not pass here is not in it."""
    place.check()
    place.run(WARM)
    files = [file.relative_to(place.sources).as_posix() for file in _test_files(place.sources)]
    suites = [pool.submit(_suite, place, name) for name in suites_of(place.sources)]
    shares = [pool.submit(share, place, files[turn::SHARES], turn) for turn in range(SHARES)]
    tests: dict[str, Any] = {}
    imported: set[str] = set()
    for each in shares:
        found = each.result()
        imported |= set(found[IMPORTED]["calls"])
        tests |= found
    tests[IMPORTED] = {"seconds": 0.0, "calls": sorted(imported)}
    return {"tests": tests, "suites": {name: found for each in suites for name, found in each.result().items()}}


def _test_files(folder: Path) -> Iterator[Path]:
    """But for those about the mutants: a fault changes texts that they look for."""
    for file in sorted((folder / "tests").rglob("test_*.py")):
        if not file.is_relative_to(folder / "tests/mutants") and not file.is_relative_to(folder / "tests/benchmarks"):
            yield file


def share(place: Place, files: list[str], turn: int) -> dict[str, Any]:
    report = place.folder / f"share-{turn}.json"
    words = (*QUIET, "-p", "tests.mutants.reaching", "-m", "not slow", *files)
    done = place.run(PYTEST, *words, **{REACHED: str(report)})
    if not report.exists():
        raise RuntimeError(f"the tests did not end: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def _suite(place: Place, name: str) -> dict[str, Any]:
    report = place.folder / f"suite-{name}.json"
    store = str(place.folder / f"{name}.sqlite")
    done = place.run(SUITE, "suite", name, "--json", "--store", store, **{REACHED: str(report)})
    statuses = ledger_of(done)
    if not report.exists() or not statuses:
        raise RuntimeError(f"no ledger of {name}: {done.stderr[-2000:]}")
    return {name: json.loads(report.read_text()) | {"statuses": statuses}}
