"""A comparison that runs until it is decided: its looks, and what they leave open."""

from dataclasses import replace

from dgtd.algorithms.digest import digest
from dgtd.harness.experiment.comparison import Comparison
from dgtd.harness.experiment.experiment import Choices, Experiment
from dgtd.harness.judging.looks import AtMost, declaration
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Job


def with_looks(experiment: Experiment, limit: AtMost) -> Experiment:
    """The experiment with its looks."""
    if not experiment.tests:
        raise ValueError("until_decided needs a question to decide: give at least two rules or targets")
    return replace(experiment, looks=limit.looks(experiment.seeds))


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


def declared_by(experiment: Experiment, chosen: Choices, store: Store) -> Job:
    """What is to be stored before the first look. The same experiment is the same runs."""
    runs = sorted(run_hash(request.spec) for request in experiment.final_requests(chosen))
    return declaration(digest(runs, experiment.matters), experiment.looks, store, "this comparison")


def still_open(found: Comparison) -> str:
    """For whoever waits: how many tests are open, and how many seeds they would take."""
    open_ = [duel for duel in found.duels if duel.open]
    guesses = [duel.lanes for duel in open_ if duel.lanes]
    would = f", about {max(guesses)} seeds would tell" if guesses else ""
    return f"{found.experiment.seeds} seeds: {len(open_)} of {found.experiment.tests} tests are open{would}"
