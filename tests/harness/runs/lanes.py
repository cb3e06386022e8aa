"""Runs that several tests share."""

from pathlib import Path

from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import FileRef, Learner, PlaceSpec, Probe, RunSpec, log_times
from dgtd.harness.runs.store import Store

ROOT = Path(__file__).parents[3]


def spec(problem="baird", rule="gtd2", alpha=0.01, beta=0.05, steps=300, checkpoints=25, **rest) -> RunSpec:
    run = {key: rest.pop(key) for key in ("root_seed", "axes") if key in rest}
    place = PlaceSpec(problem, rest.pop("iid", False))
    ref = rule if isinstance(rule, FileRef) else reference(rule)
    return RunSpec(place, Learner(ref, alpha, beta, **rest), Probe(log_times(steps, checkpoints)), **run)


def rows(store, *specs):
    """Everything that must not depend on who ran it."""
    return [[(x.seed, x.outcome, x.died, x.curves.tobytes()) for x in store.lanes(run_hash(s))] for s in specs]


def run_all(path, requests, make=InProcess, **options):
    with Store(path) as store:
        summary = execute(requests, store, make, **options)
        return summary, rows(store, *(request.spec for request in requests))
