"""Who runs the cohorts: this process, a pool of processes, or a Dask cluster. Same specification, same numbers."""

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from multiprocessing import get_context, parent_process
from typing import Any

from dgtd.algorithms.checks import whole
from dgtd.algorithms.fast.compiling import NO_CACHE, check_cache
from dgtd.algorithms.names import look_up
from dgtd.harness.runs.timeouts import time_limit

PATIENCE = 5.0  # seconds until a Dask scheduler without an answer, or without workers, counts as lost
MOST_WORKERS = 1024
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class InProcess(Executor):
    """Runs a task when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Workers(Executor):
    """Spawned processes (a fork after a parallel numba call hangs), one thread each, that end when this one does.

    A task may have a limit: beyond it its worker is ended, and another takes its place. A worker that dies costs only
    its own task, whose future raises DiedError.
    """

    def __init__(self, count: int) -> None:
        from pebble import ProcessPool

        self.count = count
        _impatient()
        # Limits have to be there before numba and torch are imported, and a spawned process inherits the environment.
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(THREADS)
        try:
            self._pool = ProcessPool(count, context=get_context("spawn"), initializer=_ready, initargs=[os.getpid()])
            self._pool.schedule(os.getpid)  # starts the workers while the limits hold
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.within(None, fn, *args, **kwargs)

    def within(self, limit: float | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that raises TimeoutError if the call takes longer, and whose worker is then ended."""
        try:
            made: Future[Any] = self._pool.schedule(fn, args=args, kwargs=kwargs, timeout=limit)
        except RuntimeError as error:
            raise BrokenExecutor(str(error)) from error
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Finish what was submitted, or end the workers."""
        if wait and not cancel_futures:
            self._pool.close()
            self._pool._wait_queue_depletion(None)
        self._pool.stop()
        # pebble would take the locks away before it ends the workers, and one that is just beginning then says so in
        # a traceback. So they are ended first: those there are, and none that dies now gets a successor.
        manager, loop = self._pool._pool_manager.worker_manager, self._pool._pool_manager_loop
        manager.workers_number = 0
        if loop is not None:
            loop.join()
        manager.force_stop_workers()
        self._pool.join()


def _ready(parent: int) -> None:
    """A worker begins: signals are the parent's to handle, and it does not outlive the parent."""
    os.environ.update(THREADS)
    os.dup2(2, 1)  # what a rule prints must not get between the lines of the command
    for name in ("SIGINT", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # at once, also in the middle of a kernel
    _impatient()
    ends_with_parent(parent)
    import dgtd.harness.runs.work  # noqa: F401  torch takes seconds, which are no task's

    warnings.filterwarnings("ignore", NO_CACHE)  # the parent has said so


def _impatient() -> None:
    """Workers share a lock for some microseconds per task; one that is killed with it in its hand costs seconds."""
    from pebble.common import CONSTS

    CONSTS.channel_lock_timeout = 3.0  # a minute by default


def ends_with_parent(parent: int) -> None:
    """This process ends when that one does, busy or not."""
    if sys.platform == "linux":  # the kernel sees to it even while a loop in C holds the interpreter
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    def wait_for_it() -> None:
        family = parent_process()
        if family is not None:
            family.join()
            os._exit(1)

    threading.Thread(target=wait_for_it, daemon=True).start()
    if os.getppid() != parent:  # it ended before we listened
        os._exit(1)


class DiedError(Exception):
    """A worker ended in the middle of its task."""


def outcome_of(future: Future[Any]) -> Any:
    """The result; DiedError if its worker died, TimeoutError if it was ended."""
    try:
        return future.result()
    except Exception as error:
        if type(error).__name__ in ("ProcessExpired", "KilledWorker"):  # pebble's and Dask's, not imported for this
            raise DiedError(str(error)) from None
        raise


def dask(scheduler: str | None) -> Executor:
    if not scheduler:
        raise ValueError("scheduler must be given with --executor dask, as in --scheduler tcp://127.0.0.1:8786")
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("the dask executor needs the extra 'cluster': pip install 'dgtd-bench[cluster]'") from None
    _hush()
    try:
        with time_limit(1.5 * PATIENCE, "connecting"):  # Dask's own limit does not cover a silent peer
            client = Client(scheduler, timeout=f"{PATIENCE:g}s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ValueError(
            f"scheduler {scheduler!r} does not answer: start one with `dask scheduler` ({reason})"
        ) from None
    if not _threads(client, wait=PATIENCE):
        client.close()
        raise ValueError(f"scheduler {scheduler!r} has no workers: start some with `dask worker {scheduler}`")
    made: Executor = client.get_executor(pure=False)
    return made


def _hush() -> None:
    """A lost scheduler would be three tracebacks and our line. Dask gives some of these loggers levels of their own."""
    import logging

    chatty = ("distributed", "tornado", "asyncio")
    for name in (*chatty, *logging.root.manager.loggerDict):
        if name.split(".")[0] in chatty:
            logging.getLogger(name).setLevel(logging.CRITICAL)


class LostError(ValueError):
    """A Dask cluster that went away while it was working."""


def watch(executor: Executor) -> None:
    """LostError if a Dask scheduler no longer answers, or has had no workers for a while."""
    client = getattr(executor, "_client", None)
    if client is None:
        return
    address = client.scheduler.address if client.scheduler is not None else "of Dask"
    try:
        there = client.status == "running" and _threads(client, wait=PATIENCE)
    except (OSError, ValueError, TimeoutError):
        raise LostError(f"scheduler {address} stopped answering; what is finished is kept") from None
    if not there:
        gone = "has no workers left" if client.status == "running" else "stopped answering"
        raise LostError(f"scheduler {address} {gone}; what is finished is kept")


def _threads(client: Any, wait: float = 0.0) -> int:
    """How many tasks the cluster's workers take at once; waits until there is a worker."""
    deadline = time.monotonic() + wait
    while True:
        identity = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE)
        found = sum(worker.get("nthreads", 1) for worker in identity.get("workers", {}).values())
        if found or time.monotonic() > deadline:
            return int(found)
        time.sleep(0.2)


def capacity(executor: Executor) -> int:
    """How many tasks it works on at once."""
    if isinstance(executor, Workers):
        return executor.count
    client = getattr(executor, "_client", None)
    return 1 if client is None else max(1, _threads(client))


def executor_maker(kind: str, workers: int | None = None, scheduler: str | None = None) -> Callable[[], Executor]:
    """A function that makes executors, its arguments checked now: a mistake must not wait for the first cohort.

    workers   of a pool: as many as there are cores, unless said
    """
    look_up("executor", kind, dict.fromkeys(("in-process", "pool", "dask")))
    whole("workers", 1 if workers is None else workers, 1, MOST_WORKERS)
    if scheduler is not None and kind != "dask":
        raise ValueError(f"scheduler {scheduler!r} goes with --executor dask, got --executor {kind}")
    check_cache()
    if kind == "in-process":
        return InProcess
    if kind == "pool":
        return lambda: Workers(workers or os.cpu_count() or 1)
    ready = [dask(scheduler)]
    return lambda: ready.pop() if ready else dask(scheduler)
