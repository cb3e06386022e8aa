"""What every test shares."""

import os
from pathlib import Path

import numba
import pytest
import torch

from tests.tiers import mark_slow_ones

# A pool per command would import torch in two more processes, some seconds each; tests that need one say so.
os.environ.setdefault("DGTD_EXECUTOR", "in-process")

# A minute or more each. They come first: a long test that starts last keeps one of two cores waiting.
LONGEST = ("golden/test_golden.py", "mutants/test_sample.py", "asv/test_gate.py", "harness/test_bad_input.py")


@pytest.fixture(autouse=True)
def _reproducible() -> None:
    """One thread per process, as the engines run, and torch's own draws the same each time."""
    torch.set_num_threads(1)
    numba.set_num_threads(1)  # pytest-xdist's workers share the cores
    torch.manual_seed(0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Speed targets are measured by `make bench` alone; a timed test would fail on a busy machine."""
    return True if collection_path.name == "benchmarks" and not config.getoption("benchmark_enable") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, then the other slow tests, then the rest in their order."""

    def turn(item: pytest.Item) -> int:
        path = item.path.as_posix()
        found = [place for place, name in enumerate(LONGEST) if path.endswith(name)]
        return found[0] if found else len(LONGEST) + (item.get_closest_marker("slow") is None)

    items.sort(key=turn)


@pytest.fixture(autouse=True)
def nothing_prepared():
    """What a process keeps between runs, forgotten: a test may have changed the code under it."""
    from harness.runs.cohort import prepared
    from harness.runs.fingerprint import run_hash

    for kept in (prepared, run_hash):
        kept.cache_clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make quick` leaves out what takes more than a moment."""
    mark_slow_ones(items)
