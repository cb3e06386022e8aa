"""What every test shares."""

import os
from pathlib import Path

import pytest
import torch

from tests.tiers import longest_first, mark_slow_ones

# A pool per command would import torch in two more processes, some seconds each; tests that need one say so.
os.environ.setdefault("DGTD_EXECUTOR", "in-process")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # pytest-xdist's workers share the cores


@pytest.fixture(autouse=True)
def _reproducible() -> None:
    """One thread per process, as the engines run, and torch's own draws the same each time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Speed targets are measured by `make bench` alone; a timed test would fail on a busy machine."""
    return True if collection_path.name == "benchmarks" and not config.getoption("benchmark_enable") else None


@pytest.fixture(autouse=True)
def nothing_prepared():
    """What a process keeps between runs, forgotten: a test may have changed the code under it."""
    from dgtd.harness.runs.fingerprint import run_hash
    from dgtd.harness.runs.trainers.trainer import prepared

    for kept in (prepared, run_hash):
        kept.cache_clear()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make quick` leaves out what takes more than a moment; `make test` begins with what takes longest."""
    mark_slow_ones(items)
    longest_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
