"""From specifications to stored lanes: expected − stored, run anywhere, written here."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import FrameType

from harness.runs.cohort import CohortResult, Task, failed_cohort, run_cohort
from harness.runs.executors import capacity, pool
from harness.runs.fingerprint import run_hash
from harness.runs.spec import Outcome, Request, RunSpec, unique
from harness.runs.store import Store

SPARE = 2  # cohorts submitted beyond the executor's workers, so that none waits for the next one

Work = tuple[RunSpec, int]  # a run, and a cohort of it


class RefusedError(ValueError):
    """A worker is not what this process is."""


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


def missing(store: Store, requests: Iterable[Request]) -> list[Work]:
    """Cohorts that are wanted and not settled in the store, each once."""
    found: list[Work] = []
    for request in unique(requests):
        settled = store.settled(run_hash(request.spec))
        found += [(request.spec, cohort) for cohort in request.cohorts if cohort not in settled]
    return found


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
    expected = sum(len(request.cohorts) for request in unique(requests))
    progress(0, len(todo))
    if not todo:
        return Summary(expected, expected, 0)
    crew = _Crew(store, make, timeout)
    with _Interrupt() as interrupt:
        done = crew.run(todo, lambda: interrupt.came, lambda done: progress(done, len(todo)))
    return Summary(expected, expected - len(todo), done)


class _Crew:
    """An executor that is made anew when a worker of its pool dies, and what it is working on."""

    def __init__(self, store: Store, make: Callable[[], Executor], timeout: float | None) -> None:
        self.store, self.make, self.timeout = store, make, timeout
        self.queue: deque[Work] = deque()
        self.running: dict[Future[CohortResult], Work] = {}
        self.done = 0

    def run(self, todo: list[Work], stop: Callable[[], bool], progress: Callable[[int], None]) -> int:
        """Everything, or what is done when `stop` says so."""
        self.queue.extend(todo)
        self.executor = self.make()
        try:
            while (self.queue or self.running) and not stop():
                try:
                    self._submit(stop)
                    self._collect()
                except BrokenProcessPool:
                    self._one_by_one(stop)
                progress(self.done)
            for spec, cohort in self.running.values():
                self.store.save(
                    spec, failed_cohort(run_hash(spec), cohort, Outcome.INTERRUPTED, "interrupted by the user")
                )
        except BaseException:
            _stop(self.executor, hurry=True)
            raise
        _stop(self.executor, hurry=bool(self.running))
        return self.done

    def _submit(self, stop: Callable[[], bool]) -> None:
        """Keep every worker busy. A cohort leaves the queue when the executor has taken it, not before."""
        room = capacity(self.executor) + SPARE
        while self.queue and len(self.running) < room and not stop():
            spec, cohort = self.queue[0]
            future = self.executor.submit(run_cohort, Task.of(spec, cohort, self.timeout))
            self.queue.popleft()
            self.running[future] = (spec, cohort)
            if future.done():
                break

    def _collect(self) -> None:
        for future in wait(self.running, timeout=0.2, return_when=FIRST_COMPLETED).done:
            self._save(self.running[future], future.result())
            del self.running[future]

    def _save(self, work: Work, result: CohortResult) -> None:
        if result.refused:
            raise RefusedError(f"{result.error}: install the same version there, and start the workers anew")
        self.store.save(work[0], result)
        self.done += 1

    def _one_by_one(self, stop: Callable[[], bool]) -> None:
        """A worker died, and nobody knows at which cohort: each that was under way is run alone.

        Whatever ends a worker again ended it the first time. Its lanes are FAILED, and the other runs go on.
        """
        suspects = list(self.running.values())
        self.running.clear()
        _stop(self.executor, hurry=True)
        for place, (spec, cohort) in enumerate(suspects):
            if stop():
                self.queue.extend(suspects[place:])
                break
            alone = pool(1)
            try:
                self._save((spec, cohort), alone.submit(run_cohort, Task.of(spec, cohort, self.timeout)).result())
            except BrokenProcessPool:
                error = f"rule {spec.learner.rule.name} ended its worker process"
                self._give_up(spec, cohort, error)
            finally:
                _stop(alone, hurry=True)
        self.executor = self.make()

    def _give_up(self, spec: RunSpec, cohort: int, error: str) -> None:
        """This cohort, and those of the same run that wait, have failed."""
        lost = [cohort, *(waiting for run, waiting in self.queue if run == spec)]
        self.queue = deque(work for work in self.queue if work[0] != spec)
        for each in lost:
            self._save((spec, each), failed_cohort(run_hash(spec), each, Outcome.FAILED, error))


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
    """Shut down; workers that are still busy are ended, since nobody waits for them."""
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
