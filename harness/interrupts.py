"""Ctrl-C, SIGTERM and SIGHUP mean one thing: stop, keep what is finished, say so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from algorithms.checks import InterruptedByUser

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Bell:
    """Whether one came, and whether it may raise: an exception may land in the middle of a write."""

    listeners = 0
    came = False
    deferred = False


def came() -> bool:
    """Whether somebody has asked this process to stop."""
    return _Bell.came


@contextmanager
def listening(deferred: bool = False) -> Iterator[Callable[[], bool]]:
    """Within, a signal raises InterruptedByUser at once; where it is deferred, only the second one does.

    SIGHUP stays ignored under `nohup`. Threads other than the main one hear nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    if not _Bell.listeners:
        _Bell.came = False
    outside = _Bell.deferred
    before = {each: signal.getsignal(each) for each in SIGNALS}
    heard = [each for each in SIGNALS if each == signal.SIGINT or before[each] != signal.SIG_IGN]
    _Bell.listeners, _Bell.deferred = _Bell.listeners + 1, deferred
    for each in heard:
        signal.signal(each, _ring)
    try:
        yield came
    finally:
        for each in heard:
            signal.signal(each, before[each])
        _Bell.listeners, _Bell.deferred = _Bell.listeners - 1, outside


def deaf() -> None:
    """From now on no signal is heard: for the moments in which a process ends."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def _ring(signum: int, frame: FrameType | None) -> None:
    again, _Bell.came = _Bell.came, True
    if again or not _Bell.deferred:
        raise InterruptedByUser
