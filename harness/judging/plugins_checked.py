"""What is wrong with a problem or a suite that a plug-in brings, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np

from algorithms.digest import digest
from algorithms.rules import gtd2
from harness.judging.claims import Claim, Setting
from harness.judging.conformance import Complaint
from harness.judging.ledger import find_suites, needs_of
from harness.oracle.facts import facts_of
from harness.oracle.problem import Problem
from harness.plugins import find_problem
from harness.runs.predictors import default_for
from harness.runs.rule_files import reference
from harness.runs.spec import Learner, PlaceSpec, Probe, RunSpec, log_times
from harness.runs.trainers.trainer import train, trainer_of

STEPS, LANES = 200, 4


def examine_problem(name: str) -> list[Complaint]:
    """Every complaint; a problem that can't even be made is an error of its own."""
    problem = find_problem(name)
    return [*_said(name, problem), *_same_twice(name, problem), *_exact(problem), *_runs(name, problem)]


def _said(name: str, problem: Problem) -> list[Complaint]:
    out = []
    if problem.name.split("(")[0] != name.split("(")[0].strip():
        out.append(Complaint("name", f"the entry point is {name!r}, the MDP calls itself {problem.name!r}"))
    for part in ("summary", "source"):
        if not getattr(problem, part).strip():
            out.append(Complaint(part, "is empty: `dgtd problem list` shows it"))
    return out


def _same_twice(name: str, problem: Problem) -> list[Complaint]:
    """A problem is its arrays: made twice it must be the same, or no stored run is ever found again."""
    again = find_problem(name)
    one, other = (digest(asdict(p.mdp.transitions), p.mdp.gamma, p.mdp.features) for p in (problem, again))
    return [] if one == other else [Complaint("same twice", "made twice, it has other numbers: give it a seed")]


def _exact(problem: Problem) -> list[Complaint]:
    mdp, out = problem.mdp, []
    low, high = problem.support
    if not low < high:
        out.append(Complaint("support", f"must be a range, got [{low:g}, {high:g}]"))
    elif mdp.v.min() < low or mdp.v.max() > high:
        words = f"values reach from {mdp.v.min():.4g} to {mdp.v.max():.4g}, outside [{low:g}, {high:g}]"
        out.append(Complaint("support", words + ": the atoms must hold every return"))
    for key, value in facts_of(problem).items():
        numbers = np.asarray(value if value is not None else 0.0)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            out.append(Complaint(key, "is not finite"))
    return out


def _runs(name: str, problem: Problem) -> list[Complaint]:
    """GTD2 takes some small steps, on values and on distributions."""
    out = []
    network = problem.network is not None  # of values; nobody knows the size of its gradients
    for target in ("value",) if network else ("value", "cdf"):
        size = 1e-5 if network else 0.01 / max(float((problem.mdp.features**2).sum(1).max()), 1.0)
        learner = Learner(reference("gtd2"), size, size, target, predictor=default_for(problem))
        try:
            trial = train(trainer_of(RunSpec(PlaceSpec(name), learner, Probe(log_times(STEPS)))), range(LANES))
        except Exception as error:
            out.append(Complaint(f"runs, {target}", f"{type(error).__name__}: {error}"))
            continue
        if trial.diverged().any():
            lost = f"{int(trial.diverged().sum())} of {LANES} lanes of GTD2 are lost"
            out.append(Complaint(f"runs, {target}", f"{lost} within {STEPS} steps of {size:.2g}"))
    return out


def examine_suite(name: str) -> list[Complaint]:
    """Every complaint about a suite's claims, of our rules and of a user's."""
    made = find_suites(name)[name]
    own = made(None)
    out = [complaint for claim in own for complaint in _claim(name, claim)]
    out += [Complaint(claim, "is there twice") for claim, n in Counter(c.id for c in own).items() if n > 1]
    if not own:
        out.append(Complaint(name, "has no claims"))
    if not any("ci" in claim.profiles for claim in own):
        out.append(Complaint(name, "has nothing in the profile ci"))
    if not isinstance(made(gtd2), list):
        out.append(Complaint(name, "must return a list of claims about a user's rule, too"))
    return out


def _claim(suite: str, claim: Claim) -> list[Complaint]:
    out = []
    if not claim.id.startswith(f"{suite}/"):
        out.append(Complaint(claim.id, f"must begin with {suite + '/'!r}"))
    for part in ("says", "source"):
        if not getattr(claim, part).strip():
            out.append(Complaint(claim.id, f"{part!r} is empty"))
    try:
        needs_of(claim, Setting(claim.profiles[0], 0), None)
    except Exception as error:
        out.append(Complaint(claim.id, f"its needs raise {type(error).__name__}: {error}"))
    return out
