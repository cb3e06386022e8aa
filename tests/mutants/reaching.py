"""What calls what: the functions of ours that each test, or a suite of claims, calls while nothing is broken.

As a plug-in of pytest (`-p tests.mutants.reaching`), or through `suite`, in a copy of the sources. The record is a file
of JSON that REACHED names. Compiled functions are not seen: the profiler sees Python alone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

REACHED = "DGTD_REACHED"
IMPORTED = ""  # instead of a test's name: what was called while modules were imported


class Watch:
    """Code that was called since it began."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()
        self.start = time.process_time()
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    def end(self) -> dict[str, Any]:
        """Seconds of the processor, and 'file:first line' of every function in this folder."""
        sys.setprofile(None)
        threading.setprofile(None)
        here = f"{Path.cwd()}{os.sep}"
        calls = sorted({f"{_place(c.co_filename.removeprefix(here))}:{c.co_firstlineno}" for c in self.seen
                        if c.co_filename.startswith(here)})  # fmt: skip
        return {"seconds": round(time.process_time() - self.start, 3), "calls": calls}


def _place(file: str) -> str:
    """Where it stands: the rooms at the top are imported through links in dgtd/."""
    inside = file.removeprefix(f"dgtd{os.sep}")
    return inside if os.sep in inside else file


_watched: dict[str, dict[str, Any]] = {}
_passed: set[str] = set()
_importing: list[Watch] = []


def pytest_configure() -> None:
    """Modules are imported from here on."""
    _importing.append(Watch())


def pytest_collection_finish() -> None:
    """And no longer."""
    _watched[IMPORTED] = _importing.pop().end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test with its fixtures."""
    watch = Watch()
    yield
    _watched[item.nodeid] = watch.end()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that is skipped, or fails where nothing is broken, catches nothing."""
    if report.when == "call" and report.passed:
        _passed.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write it down."""
    kept = {name: found for name, found in _watched.items() if name in _passed or name == IMPORTED}
    Path(os.environ[REACHED]).write_text(json.dumps(kept), encoding="utf-8")


def suite() -> int:
    """`dgtd …`, watched."""
    watch = Watch()
    from dgtd.harness.cli import main  # its import is a part of what is watched

    try:
        return main()
    finally:
        Path(os.environ[REACHED]).write_text(json.dumps(watch.end()), encoding="utf-8")
