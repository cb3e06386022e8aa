"""From specifications to stored lanes: expected − stored, run anywhere, written here."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from dgtd.algorithms.rule import RuleError
from dgtd.harness.runs.checkpoints import Checkpoints, every, name_of
from dgtd.harness.runs.executors import DiedError, InProcess, Workers, capacity, outcome_of, watch
from dgtd.harness.runs.fingerprint import DECISIVE, of_code, run_hash
from dgtd.harness.runs.rule_files import is_built_in
from dgtd.harness.runs.spec import FileRef, Outcome, Request, RunSpec, unique
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.timeouts import GRACE, check_timeout, listening
from dgtd.harness.runs.work import Cohort, Job, Task, Work, carry_out, failed

LOOK = 2.0  # seconds without a result until the cluster is asked whether it is there
SPARE = 2  # tasks submitted beyond the executor's workers, so that none waits for the next one
DEATHS = 2  # a worker may be killed by somebody else: what ends a second one has failed


def _hand_over(work: Work, executor: Executor, timeout: float | None, kept: Checkpoints | None) -> Future[Any]:
    """The worker keeps the limit itself if it can; one that does not come back is ended."""
    task = Task.of(work, timeout)
    if kept is not None:
        task = replace(task, checkpoints=str(kept.path), every=every())
    if isinstance(executor, Workers) and timeout is not None:
        return executor.within(timeout + GRACE, carry_out, task)
    return executor.submit(carry_out, task)


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
        return self.already + self.done < self.expected


def missing(store: Store, requests: Iterable[Request], jobs: Iterable[Job] = ()) -> list[Work]:
    """What is wanted and not settled in the store, each once: jobs first, then cohorts, long ones first."""
    found: list[Work] = []
    for request in sorted(unique(requests), key=lambda each: -each.spec.probe.steps):
        settled = store.settled(run_hash(request.spec), request.spec.learner.cohort)
        found += [Cohort(request.spec, cohort) for cohort in request.cohorts if cohort not in settled]
    return [*(job for job in dict.fromkeys(jobs) if not store.has_job(job.hash)), *found]


def execute(
    requests: list[Request],
    store: Store,
    make: Callable[[], Executor],
    *,
    jobs: Iterable[Job] = (),
    timeout: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Run what is missing. Ctrl-C, SIGTERM and SIGHUP keep what is finished, mark what was under way, and return."""
    check_timeout(timeout)
    every()  # a wrong setting is an error before anything runs
    jobs = list(dict.fromkeys(jobs))
    todo = missing(store, requests, jobs)
    expected = sum(len(request.cohorts) for request in unique(requests)) + len(jobs)
    _tidy(store, requests, todo)
    progress(0, len(todo))
    done = 0
    first = _tried_twice(todo)
    rest = [work for work in todo if not any(work == replace(one, twice=False) for one in first)]
    together, alone = ([work for work in rest if work.alone is apart] for apart in (False, True))
    turns: list[tuple[list[Work], Callable[[], Executor]]] = [([*first], make), (together, make), (alone, InProcess)]
    with listening(deferred=True) as stop:
        for works, maker in turns:
            if works and not stop():

                def tick(now: int, before: int = done) -> None:
                    progress(before + now, len(todo))

                done += _Crew(store, maker, timeout).run(works, stop, tick)
    return Summary(expected, expected - len(todo), done)


def _tidy(store: Store, requests: list[Request], todo: list[Work]) -> None:
    """Checkpoints that nobody goes on from are removed."""
    if store.checkpoints is None or not store.checkpoints.path.is_dir():
        return
    wanted = {Cohort(request.spec, cohort) for request in unique(requests) for cohort in request.cohorts}
    stored = [name_of(run_hash(work.spec), work.seeds) for work in wanted.difference(todo)]
    store.checkpoints.tidy(stored, of_code(DECISIVE), store.say)


def _tried_twice(todo: list[Work]) -> list[Cohort]:
    """The shortest cohort of each rule or network that is not ours: nothing is stored before two runs of it agree."""
    shortest: dict[FileRef, Cohort] = {}
    for work in todo:
        if not isinstance(work, Cohort):
            continue
        rule, network = work.spec.learner.rule, work.spec.learner.predictor.file
        for theirs in ([] if is_built_in(rule) else [rule]) + ([] if network is None else [network]):
            best = shortest.get(theirs)
            if best is None or work.spec.probe.steps < best.spec.probe.steps:
                shortest[theirs] = work
    return [replace(work, twice=True) for work in dict.fromkeys(shortest.values())]


def _whole(work: Work) -> RunSpec | Job:
    """What fails together."""
    return work if isinstance(work, Job) else work.spec


class _Crew:
    """An executor, made anew if it breaks, and what it is working on."""

    def __init__(self, store: Store, make: Callable[[], Executor], timeout: float | None) -> None:
        self.store, self.make, self.timeout = store, make, timeout
        self.queue: deque[Work] = deque()
        self.running: dict[Future[Any], Work] = {}
        self.deaths: Counter[Work] = Counter()
        self.broken = 0
        self.done = 0
        self.look = time.monotonic() + LOOK

    def run(self, todo: list[Work], stop: Callable[[], bool], progress: Callable[[int], None]) -> int:
        """Everything, or what is done when `stop` says so."""
        self.queue.extend(todo)
        self.executor = self.make()
        try:
            while (self.queue or self.running) and not stop():
                try:
                    self._submit(stop)
                    self._collect()
                except BrokenExecutor:
                    self._begin_anew()
                except KeyboardInterrupt:
                    if not stop():  # twice
                        raise
                    self.running[Future()] = self.queue.popleft()  # it was under way in this process
                except (CancelledError, OSError):
                    watch(self.executor)  # says so if the cluster is gone
                    raise
                progress(self.done)
            for work in self.running.values():
                self.store.save(work, failed(work, Outcome.INTERRUPTED, "interrupted by the user"))
        except BaseException:
            _stop(self.executor, hurry=True)
            raise
        _stop(self.executor, hurry=bool(self.running))
        return self.done

    def _submit(self, stop: Callable[[], bool]) -> None:
        """Keep every worker busy. Work leaves the queue when the executor has taken it, not before."""
        room = capacity(self.executor) + SPARE
        while self.queue and len(self.running) < room and not stop():
            work = self.queue[0]
            future = _hand_over(work, self.executor, self.timeout, self.store.checkpoints)
            self.queue.popleft()
            self.running[future] = work
            if future.done():
                break

    def _collect(self) -> None:
        done = wait(self.running, timeout=0.2, return_when=FIRST_COMPLETED).done
        if not done and time.monotonic() > self.look:
            watch(self.executor)
            self.look = time.monotonic() + LOOK
        for future in done:
            work = self.running[future]
            try:
                self._save(work, outcome_of(future))
            except TimeoutError:
                words = f"more than {self.timeout:g} s, and not to be stopped: its worker was ended"
                self._save(work, failed(work, Outcome.TIMED_OUT, words))
            except DiedError:
                self._again(work)
            del self.running[future]

    def _save(self, work: Work, result: Any) -> None:
        if result.refused:
            raise RefusedError(f"{result.error}: install the same version there, and start the workers anew")
        if result.unsteady:
            raise RuleError(result.error)
        self.store.save(work, result)
        self.done += 1
        self.broken = 0

    def _again(self, work: Work) -> None:
        """Its worker died: once that may be somebody else's doing. Then it has FAILED, and the rest goes on."""
        self.deaths[work] += 1
        if self.deaths[work] < DEATHS:
            self.queue.append(work)
            return
        alike = [other for other in self.queue if _whole(other) == _whole(work)]
        self.queue = deque(other for other in self.queue if _whole(other) != _whole(work))
        culprit = work.culprit if isinstance(work, Job) else f"rule {work.spec.learner.rule.name}"
        for lost in (work, *alike):
            self._save(lost, failed(lost, Outcome.FAILED, f"{culprit} ended its worker process"))

    def _begin_anew(self) -> None:
        """The executor is of no use any more (its last worker died, or one that held its lock); nothing is lost."""
        self.broken += 1
        if self.broken > DEATHS:
            raise OSError("the pool of workers broke again and again")
        self.queue.extendleft(self.running.values())
        self.running.clear()
        _stop(self.executor, hurry=True)
        self.executor = self.make()


def _stop(executor: Executor, hurry: bool) -> None:
    """Shut down; workers that are still busy are ended, since nobody waits for them."""
    if isinstance(executor, Workers):
        executor.shutdown(cancel_futures=hurry)
    else:  # Dask's takes no cancel_futures; without waiting it cancels what it has not started
        executor.shutdown(wait=not hurry)
