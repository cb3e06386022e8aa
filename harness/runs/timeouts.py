"""A limit on how long a piece of Python may take."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Raise TimeoutError after `seconds`, by the alarm signal; off the main thread there is none, and no limit."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{what} took more than {seconds:g} s")

    outer, start = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic()
    if 0 < outer <= seconds:  # a limit around this one rings first
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        left = max(outer - (time.monotonic() - start), 1e-3) if outer else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left)
