"""Run what is missing, with a bar, and say how to go on if somebody interrupts it."""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from dgtd.algorithms.fast.compiling import cache_folder, source_stamp
from dgtd.harness.commands.options import INTERRUPTED, RESUME, Where
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job

EVERY = 5.0  # seconds between plain lines
COMPILING = "compiling, once (some 20 s an engine)"


class Ticker:
    """Called with (done, total); may be told what it is at."""

    def __init__(self, what: str, bar: Progress | None) -> None:
        self.what, self.bar = what, bar
        self.task = bar.add_task(what, total=None) if bar else None
        self.last = time.monotonic()
        self.cold: bool | None = None

    def __call__(self, done: int, total: int, at: str = "") -> None:
        """Show where we are."""
        if done == 0 and total and not at:
            at = self._first()
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=max(total, 1), description=at or self.what)
        elif time.monotonic() - self.last > EVERY:
            self.last = time.monotonic()
            print(f"{self.what}: {done} of {total}{' ' + at if at else ''}", file=sys.stderr, flush=True)

    def _first(self) -> str:
        """Before the first result: whether its engine must be compiled, which takes longer than any step."""
        if self.cold is None:
            self.cold = "numba" in sys.modules and not compiled_before()
            if self.cold and self.bar is None:
                print(f"{self.what}: {COMPILING}", file=sys.stderr, flush=True)
        return COMPILING if self.cold else ""


def compiled_before() -> bool:
    """Whether a process of this version has kept compiled code."""
    return any(cache_folder().glob(f"kernels-{source_stamp()[:16]}/*.nbc"))


@contextmanager
def progress(what: str) -> Iterator[Ticker]:
    """The bar, while a command works."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Ticker(what, None)
        return
    # A long text is cut off: the bar and the numbers stay, and need some forty columns.
    column = Column(no_wrap=True, overflow="ellipsis", max_width=max(10, console.width - 42))
    text = TextColumn("{task.description}", markup=False, table_column=column)
    columns = (text, BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield Ticker(what, bar)


def carried_out(what: str, requests: list[Request], results: Store, where: Where, jobs: Iterable[Job] = ()) -> bool:
    """Whether everything is stored now."""
    with progress(what) as tick:
        done = not execute(requests, results, where.make, jobs=jobs, timeout=where.timeout, progress=tick).interrupted
    return done or not interrupted()


def interrupted(words: str = "interrupted") -> int:
    """Say that somebody stopped it, and how to go on; the exit code."""
    print(f"dgtd: {words}; {RESUME}", file=sys.stderr)
    return INTERRUPTED
