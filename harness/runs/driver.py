"""From specifications to stored lanes: expected − stored, run anywhere, written here."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import FrameType

from harness.runs.cohort import CohortResult, failed_cohort, run_cohort
from harness.runs.spec import Outcome, RunSpec, cohorts
from harness.runs.store import Store

IN_FLIGHT = 8  # cohorts submitted ahead: enough to keep workers busy, few enough to interrupt
RESTARTS = 3  # pools that may break (a worker killed) before we give up


@dataclass(frozen=True)
class Request:
    """A run, and how many of its seeds are wanted."""

    spec: RunSpec
    seeds: int


@dataclass(frozen=True)
class Summary:
    """What `execute` did."""

    expected: int
    already: int
    done: int

    @property
    def interrupted(self) -> bool:
        """Whether something is still missing."""
        return self.already + self.done < self.expected


def missing(store: Store, requests: Iterable[Request]) -> list[tuple[RunSpec, int]]:
    """Cohorts that are wanted and not settled in the store, each once."""
    wanted: dict[tuple[str, int], RunSpec] = {}
    for request in requests:
        settled = store.settled(request.spec.hash)
        for cohort in cohorts(request.seeds):
            if cohort not in settled:
                wanted[request.spec.hash, cohort] = request.spec
    return [(spec, cohort) for (_, cohort), spec in wanted.items()]


def execute(
    requests: list[Request],
    store: Store,
    make: Callable[[], Executor],
    *,
    timeout: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Run what is missing. Ctrl-C keeps what is finished, marks what was under way, and returns."""
    todo = missing(store, requests)
    expected = sum(len(cohorts(request.seeds)) for request in requests)
    already, done = expected - len(todo), 0
    progress(0, len(todo))
    queue, restarts = list(reversed(todo)), 0
    if not queue:
        return Summary(expected, already, 0)
    executor = make()
    running: dict[Future[CohortResult], tuple[RunSpec, int]] = {}
    with _Interrupt() as interrupt:
        while (queue or running) and not interrupt.came:
            try:
                while queue and len(running) < IN_FLIGHT and not interrupt.came:
                    spec, cohort = queue.pop()
                    future = executor.submit(run_cohort, spec.to_json(), cohort, timeout)
                    running[future] = (spec, cohort)
                    if future.done():
                        break
                for future in wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                    store.save(running[future][0], future.result())
                    del running[future]
                    done += 1
                    progress(done, len(todo))
            except BrokenProcessPool:
                restarts += 1
                if restarts > RESTARTS:
                    _stop(executor, hurry=True)
                    raise ValueError(f"workers died {restarts} times: is there enough memory?") from None
                queue.extend(running.values())
                running.clear()
                _stop(executor, hurry=True)
                executor = make()
            except BaseException:
                _stop(executor, hurry=True)
                raise
        for spec, cohort in running.values():
            store.save(spec, failed_cohort(spec, cohort, Outcome.INTERRUPTED, 0.0, "interrupted by the user"))
    _stop(executor, bool(running))
    return Summary(expected, already, done)


class _Interrupt:
    """Ctrl-C as a flag: an exception may land where it is swallowed, or in the middle of a write. Twice raises it."""

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> _Interrupt:
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.before = signal.signal(signal.SIGINT, self._ring)
        return self

    def __exit__(self, *_: object) -> None:
        if self.main:
            signal.signal(signal.SIGINT, self.before)

    def _ring(self, signum: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True


def _stop(executor: Executor, hurry: bool) -> None:
    """Shut down; workers that are still at it are ended, since nobody waits for them."""
    living = []
    if isinstance(executor, ProcessPoolExecutor):
        living = list(executor._processes or {}) if hurry else []
        executor.shutdown(wait=not hurry, cancel_futures=True)
    else:  # Dask's takes no cancel_futures; without waiting it cancels what it has not started
        executor.shutdown(wait=not hurry)
    for pid in living:
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            continue
