"""A bar with the time left when a terminal is attached, plain lines when not; always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

EVERY = 5.0  # seconds between plain lines


class Ticker:
    """Called with (done, total); may be told what it is at."""

    def __init__(self, what: str, bar: Progress | None) -> None:
        self.what, self.bar = what, bar
        self.task = bar.add_task(what, total=None) if bar else None
        self.last = time.monotonic()

    def __call__(self, done: int, total: int, at: str = "") -> None:
        """Show where we are."""
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, total=max(total, 1), description=at or self.what)
        elif time.monotonic() - self.last > EVERY:
            self.last = time.monotonic()
            print(f"{self.what}: {done} of {total}{' ' + at if at else ''}", file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[Ticker]:
    """The bar, while a command works."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Ticker(what, None)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield Ticker(what, bar)
