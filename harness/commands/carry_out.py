"""Run what is missing, with a bar, and say how to go on if somebody interrupts it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from harness.commands.options import RESUME, Where
from harness.commands.progress import progress
from harness.runs.driver import execute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.runs.job import Job
    from harness.runs.spec import Request
    from harness.runs.store import Store


def carried_out(what: str, requests: list[Request], results: Store, where: Where, jobs: Iterable[Job] = ()) -> bool:
    """Whether everything is stored now."""

    with progress(what) as tick:
        done = not execute(requests, results, where.make, jobs=jobs, timeout=where.timeout, progress=tick).interrupted
    if not done:
        print(f"dgtd: interrupted; {RESUME}", file=sys.stderr)
    return done
