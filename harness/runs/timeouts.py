"""What ends a piece of Python early: a limit on its time, or Ctrl-C, SIGTERM and SIGHUP, which mean one thing."""

import ctypes
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from dgtd.algorithms.checks import InterruptedByUser

GRACE = 2.0  # seconds beyond the limit until a worker that does not hear it is ended
AGAIN = 0.2  # a limit rings until it is heard: code may swallow an exception
LONGEST = 365 * 24 * 3600.0  # seconds; the alarm takes no infinity


def check_timeout(seconds: float | None) -> None:
    """None, or a number of seconds that the alarm can count."""
    if seconds is not None and not seconds > 0:
        raise ValueError(f"timeout must be positive, got {seconds}")
    if seconds is not None and seconds > LONGEST:
        raise ValueError(f"timeout must be at most {LONGEST:.0f} seconds, a year, got {seconds}")


@contextmanager
def time_limit(seconds: float | None, what: str) -> Iterator[None]:
    """Raise TimeoutError after `seconds`: by the alarm signal, and off the main thread by another thread."""
    if seconds is None:
        yield
        return
    main = threading.current_thread() is threading.main_thread()
    with _alarm(seconds, what) if main else _other_thread(seconds, what):
        yield


@contextmanager
def _alarm(seconds: float, what: str) -> Iterator[None]:
    def ring(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{what} took more than {seconds:g} s")

    (outer, interval), start = signal.getitimer(signal.ITIMER_REAL), time.monotonic()
    if 0 < outer <= seconds:  # a limit around this one rings first
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
            yield
        finally:  # it may ring in this very line: hence the second one
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        left = max(outer - (time.monotonic() - start), 1e-3) if outer else 0.0
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def _other_thread(seconds: float, what: str) -> Iterator[None]:
    """For a Dask worker, whose tasks run in a thread: it hears no alarm."""
    thread, over, lock = threading.get_ident(), threading.Event(), threading.Lock()

    class LateError(TimeoutError):
        """Raised in another thread, where only a class can be."""

        def __str__(self) -> str:
            return f"{what} took more than {seconds:g} s"

    def ring() -> None:
        late = over.wait(seconds)
        while not late:
            with lock:
                if not over.is_set():
                    _raise_in(thread, LateError)
            late = over.wait(AGAIN)

    threading.Thread(target=ring, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            over.set()
            _raise_in(thread, None)  # one that is on its way must not arrive behind this block


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    given = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)


@contextmanager
def ended_beyond(seconds: float | None) -> Iterator[None]:
    """End this process if the block takes that long, even if it never comes back to Python.

    For workers of a cluster, which nobody else can end; the main thread's pool has its own way.
    """
    if seconds is None or threading.current_thread() is threading.main_thread():
        yield
        return
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)  # its thread needs no interpreter lock
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def watched(deadline: float | None, stop: Callable[[], bool]) -> Callable[[], None]:
    """What long runs call now and then: compiled code hears neither an alarm nor Ctrl-C."""

    def look() -> None:
        if deadline is not None and time.perf_counter() > deadline:
            raise TimeoutError
        if stop():
            raise KeyboardInterrupt

    return look


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
