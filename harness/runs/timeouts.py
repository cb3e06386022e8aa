"""A limit on how long a piece of Python may take."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

LONGEST = 365 * 24 * 3600.0  # seconds; the alarm takes no infinity


def check_timeout(seconds: float | None) -> None:
    """None, or a number of seconds that the alarm can count."""
    if seconds is not None and not seconds > 0:
        raise ValueError(f"timeout must be positive, got {seconds}")
    if seconds is not None and seconds > LONGEST:
        raise ValueError(f"timeout must be at most {LONGEST:.0f} seconds, a year, got {seconds}")


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
