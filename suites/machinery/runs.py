"""Runs: what is run again, which seeds a cohort has, what ends a worker, which lanes are pairs."""

from __future__ import annotations

from itertools import chain
from typing import Any, cast

import numpy as np

from algorithms.rules import RULES
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from harness.runs.cohort import lanes_of_cohort
from harness.runs.driver import DEATHS, execute
from harness.runs.fingerprint import run_hash
from harness.runs.learning import Learning
from harness.runs.spec import FAR, Outcome, Request, RunSpec, seeds_of
from harness.runs.store import Store
from harness.runs.trial import Trial
from suites.machinery.cases import all_hold, exact
from suites.machinery.planted import FAILED, FINE, LOST, METRICS, SIZE, PlantedWorkers, rows_of, run_of


def claims() -> list[Claim]:
    """Resuming, cohorts, workers that die, outcomes, streams."""
    return [
        exact(
            "runs/resume",
            "a second command runs nothing again but what failed, and more seeds run only what is new",
            "definitions",
            resumes_run_what_is_missing,
        ),
        exact(
            "runs/seeds",
            "the cohorts of a run hold every seed once",
            "definitions",
            cohorts_share_no_seed,
        ),
        exact(
            "runs/deaths",
            "a run whose worker dies twice at a cohort has failed, and the other runs go on",
            "definitions",
            second_deaths_are_failures,
        ),
        exact(
            "runs/outcomes",
            "a lane that overflowed, is not finite at its end or went far beyond its start has diverged, and no other",
            "definitions",
            lost_lanes_have_diverged,
        ),
        exact(
            "runs/streams",
            "lanes of equal seeds meet the same transitions under every rule, and others on other problems and seeds",
            "definitions",
            rules_share_their_streams,
        ),
    ]


def resumes_run_what_is_missing(setting: Setting) -> Finding:
    """Five lanes in cohorts of two, of which the second fails; then the same again, then nine lanes."""
    run, cases = run_of(), []
    with Store(":memory:") as store:
        for seeds, failing, expected in ((5, [1], [0, 1, 2]), (5, [], [1]), (5, [], []), (9, [], [3, 4]), (9, [], [])):
            workers = PlantedWorkers(failing)
            summary = execute([Request(run, seeds)], store, lambda: workers)  # noqa: B023  called at once
            ran = sorted(cohort for _, cohort in workers.asked.elements())
            right = ran == expected and (summary.done, summary.expected) == (len(expected), -(-seeds // SIZE))
            cases.append((f"{seeds} lanes: cohorts {ran} are run, expected {expected}", right))
        stored = rows_of(store, run)
    cases.append(("every lane is stored", [(s, o) for s, o, _ in stored] == [(seed, FINE) for seed in range(10)]))
    return all_hold(cases)


def cohorts_share_no_seed(setting: Setting) -> Finding:
    """Cohorts of one to seven lanes: laid end to end, their seeds count up from 0."""
    cases = []
    for size in range(1, 8):
        run = run_of().with_learner(cohort=size)
        asked = Request(run, 20)
        listed = list(chain.from_iterable(seeds_of(run, cohort) for cohort in asked.cohorts))
        cases.append((f"cohorts of {size}", listed == list(range(len(listed))) and 20 <= len(listed) < 20 + size))
    return all_hold(cases)


def second_deaths_are_failures(setting: Setting) -> Finding:
    """One run of three cohorts whose worker always dies, beside one that is well."""
    bad, good = run_of(alpha=0.2), run_of(alpha=0.1)
    workers = PlantedWorkers(deadly=[run_hash(bad)])
    with Store(":memory:") as store:
        execute([Request(bad, 6), Request(good, 6)], store, lambda: workers)
        lost, kept = ([outcome for _, outcome, _ in rows_of(store, run)] for run in (bad, good))
    tried = max(count for (run, _), count in workers.asked.items() if run == run_hash(bad))
    return all_hold([
        ("a cohort is tried twice", tried == DEATHS == 2),
        ("every lane of the run has failed", lost == [FAILED] * 6),
        ("the other run is whole", kept == [FINE] * 6),
    ])  # fmt: skip


class GivenLanes:
    """Stands for a learner whose lanes are known."""

    def __init__(self, run: RunSpec, trial: Trial) -> None:
        self.spec, self.trial = run, trial

    def simulate(self, *_: Any) -> Trial:
        """The lanes."""
        return self.trial


def lost_lanes_have_diverged(setting: Setting) -> Finding:
    """A cohort with a lane of each kind."""
    kinds = {  # size at three checkpoints, the step of an overflow, what became of it
        "a calm lane": ([1.0, 2.0, 1.0], -1, FINE),
        "a lane that grows, not far": ([1.0, FAR / 2, FAR / 2], -1, FINE),
        "a lane that overflowed": ([1.0, 2.0, 1.0], 7, LOST),
        "a lane that is far at its end": ([1.0, 2.0, 2 * FAR], -1, LOST),
        "a lane that was far and came back": ([1.0, 2 * FAR, 1.0], -1, LOST),
        "a lane that ends in infinity": ([1.0, 2.0, np.inf], -1, LOST),
        "a lane that is not a number": ([1.0, 2.0, np.nan], -1, LOST),
    }
    run = run_of().with_learner(cohort=len(kinds))
    sizes = np.array([size for size, _, _ in kinds.values()]).T
    curves = np.stack([np.ones_like(sizes), sizes], axis=-1)
    died = np.array([step for _, step, _ in kinds.values()])
    given = GivenLanes(run, Trial(run.times(), curves, died, METRICS, np.zeros((len(kinds), 0))))
    _, lanes = lanes_of_cohort(cast(Any, given), 0, lambda: None)
    outcomes: list[Outcome] = [lane.outcome for lane in lanes]
    cases = [(name, found is kind[2]) for (name, kind), found in zip(kinds.items(), outcomes, strict=True)]
    return all_hold([*cases, ("their seeds", [lane.seed for lane in lanes] == list(range(len(kinds))))])


def rules_share_their_streams(setting: Setting) -> Finding:
    """Of eight lanes: the streams that their transitions are drawn from."""
    known = streams(run_of())
    cases = [(f"{name} and gtd2", streams(run_of(name)) == known) for name in RULES]
    cases.append(("another step size", streams(run_of(alpha=0.3)) == known))
    for what, other in (("problem", run_of(problem="random_walk")), ("root seed", run_of(root_seed=1))):
        cases.append((f"another {what}", not set(streams(other)) & set(known)))
    return all_hold([*cases, ("eight lanes", len(set(known)) == 8)])


def streams(run: RunSpec) -> list[tuple[int, ...]]:
    """Of lanes 0 to 7."""
    return [tuple(each) for each in Learning.of(run).streams(range(8)).tolist()]
