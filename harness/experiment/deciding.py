"""A comparison that runs until it is decided: how far it may go, which is declared before the first look and stored."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from dgtd.algorithms.digest import digest
from dgtd.harness.experiment.comparison import Comparison
from dgtd.harness.experiment.experiment import Choices, Experiment
from dgtd.harness.judging.sequential import looks
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job

BATCHES = 5  # doublings of the first batch, unless it is said how many seeds there may be
UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PART = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|m|min|h|seeds?)")


@dataclass(frozen=True)
class AtMost:
    """How far to go: `seeds` is part of the test, and `seconds` is not; None: no limit of that kind."""

    seeds: int | None = None
    seconds: float | None = None

    @staticmethod
    def of(text: str | None) -> AtMost:
        """'2000 seeds', '2h', or both with a comma."""
        seeds, seconds = None, None
        for part in [] if text is None else text.split(","):
            match = _PART.fullmatch(part.strip())
            if match is None or not float(match["number"]) > 0:
                raise ValueError(f"at_most must be as in '2h', '2000 seeds' or '2h,2000 seeds', got {text!r}")
            if match["unit"].startswith("seed"):
                seeds = int(float(match["number"]))
            else:
                seconds = float(match["number"]) * UNITS[match["unit"]]
        return AtMost(seeds, seconds)

    def looks(self, first: int) -> tuple[int, ...]:
        """Numbers of seeds at which it is asked what is decided, from the first batch on."""
        most = first * 2**BATCHES if self.seeds is None else self.seeds
        if most < first:
            raise ValueError(f"at_most must allow the first batch of {first} seeds, got {most} seeds")
        return looks(first, most)

    def declared(self, experiment: Experiment) -> Experiment:
        """The experiment with its looks."""
        if not experiment.tests:
            raise ValueError("until_decided needs a question to decide: give at least two rules or targets")
        return replace(experiment, looks=self.looks(experiment.seeds))


def share_of(text: str) -> float:
    """'2%' or '0.02'."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise ValueError(f"matters must be a share above 0 and below 1, as in '2%' or '0.02', got {text!r}")
    return value


def declared(experiment: str, looks: list[int]) -> list[int]:
    """A job, so that what was declared is in the store."""
    return looks


def declaration(experiment: Experiment, chosen: Choices, store: Store) -> Job:
    """What is to be stored before the first look; ValueError if the same experiment was declared otherwise.

    The same experiment is the same runs: a test that went on beyond its last look would no longer keep its error rate.
    """
    runs = sorted(run_hash(request.spec) for request in experiment.final_requests(chosen))
    job = Job.of(declared, experiment=digest(runs, experiment.matters), looks=list(experiment.looks))
    for other in store.parameters_of(job.function):
        if other["experiment"] == digest(runs, experiment.matters) and other["looks"] != list(experiment.looks):
            raise ValueError(
                f"at_most of this comparison was declared: {other['looks'][-1]} seeds, from {other['looks'][0]} on; "
                "going elsewhere is a new experiment: take another --seed"
            )
    return job


def still_open(found: Comparison) -> str:
    """For whoever waits: how many tests are open, and how many seeds they would take."""
    open_ = [duel for duel in found.duels if duel.open]
    guesses = [duel.lanes for duel in open_ if duel.lanes]
    would = f", about {max(guesses)} seeds would tell" if guesses else ""
    return f"{found.experiment.seeds} seeds: {len(open_)} of {found.experiment.tests} tests are open{would}"
