"""What is wrong with a rule, a problem or a suite, in words.

Every promise of a rule is tried on small exact problems, with a guess at the slip.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.rule import Cotangents, Promise, Rule
from dgtd.algorithms.rules import gtd2, tdc
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.ledger import find_suites, needs_of
from dgtd.harness.oracle.objectives import facts_of
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.oracle.theorem import EXACT, descends_error, network_case, small_problem, solves_w_error
from dgtd.harness.plugins import find_problem, is_file
from dgtd.harness.runs.predictors import default_for
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Learner, PlaceSpec, Probe, RunSpec, log_times
from dgtd.harness.runs.trainers.trainer import train, trainer_of


@dataclass(frozen=True)
class Complaint:
    """One thing that does not hold."""

    check: str
    words: str


def examine(rule: Rule) -> list[Complaint]:
    """Every complaint; none means that the rule is what it says."""
    # Promises are tried on tensors, so the arithmetic has to hold first.
    return [*_arithmetic(rule), *_compiles(rule)] or [*_promises(rule)]


def _arithmetic(rule: Rule) -> Iterator[Complaint]:
    """The same on floats, arrays and tensors, and of u's shape."""
    import torch

    delta, u, rho = np.random.default_rng(0).normal(size=(3, 4))
    rho = np.abs(rho)
    floats = np.array([[float(x) for x in rule(*map(float, point))] for point in zip(delta, u, rho, strict=True)]).T
    for kind, make in (("numpy arrays", np.asarray), ("torch tensors", torch.as_tensor)):
        try:
            found = [np.asarray(part) for part in rule(make(delta), make(u), make(rho))]
        except Exception as error:
            yield Complaint(kind, f"raises {type(error).__name__} on {kind}: {error}")
            continue
        wrong = [name for name, part in zip(Cotangents._fields, found, strict=True) if part.shape != u.shape]
        if wrong:
            yield Complaint(kind, f"the {wrong[0]} cotangent lost its shape on {kind}: write 0.0 * u for nothing")
        elif not np.allclose(np.stack(found), floats, rtol=1e-9, atol=1e-12):
            yield Complaint(kind, f"gives other numbers on {kind} than on floats: no `if`, no float() in a rule")


def _compiles(rule: Rule) -> Iterator[Complaint]:
    try:
        rule_as_data(replace(rule, linear=False), np.ones(1))
    except ValueError as error:
        yield Complaint("numba", str(error))


def _promises(rule: Rule) -> Iterator[Complaint]:
    """Theorem 1 on a small network: the two promises that enumeration decides."""
    objective, theta = network_case(small_problem(), "cdf", seed=0)
    for promise, error_of, words in (
        (Promise.SOLVES_W, solves_w_error, "w's mean update does not vanish at w*(θ)"),
        (Promise.DESCENDS, descends_error, "at w*(θ), θ's mean update is not −½∇J"),
    ):

        def fails(each: Rule, error_of: Any = error_of) -> bool:
            return bool(error_of(each, objective, theta) > EXACT)

        if promise in rule.promises and fails(rule):
            off = f"{words} (off by {error_of(rule, objective, theta):.1e})"
            advice = f"{guess(rule, fails)}; promises=… without {promise.name} if that is meant"
            yield Complaint(str(promise), f"{off}: {advice}")


def guess(rule: Rule, fails: Any) -> str:
    """Which one cotangent, replaced by GTD2's or TDC's, mends the failing check."""
    for known in (gtd2, tdc):
        for field in Cotangents._fields:

            def mended(delta: Any, u: Any, rho: Any, field: str = field, known: Rule = known) -> Cotangents:
                return rule(delta, u, rho)._replace(**{field: getattr(known(delta, u, rho), field)})

            if not fails(replace(rule, function=mended, name=rule.name)):
                theirs = f"{known.name}'s cotangent of {_LETTER[field]}"
                return f"with {theirs} in place of yours it holds: look at `{field}`"
        if not rule.curvature and not fails(replace(rule, curvature=True)):
            return "with the curvature term it holds: declare curvature=True"
    return "no one cotangent of GTD2 or TDC mends it"


_LETTER = {"prediction": "f", "target": "g", "tangent": "u"}


STEPS, LANES = 200, 4


def examine_problem(name: str) -> list[Complaint]:
    """Every complaint; a problem that can't even be made is an error of its own."""
    problem = find_problem(name)
    return [*_said(name, problem), *_same_twice(name, problem), *_exact(problem), *_runs(name, problem)]


def _said(name: str, problem: Problem) -> Iterator[Complaint]:
    if not is_file(name) and problem.name.split("(")[0] != name.split("(")[0].strip():
        yield Complaint("name", f"the entry point is {name!r}, the MDP calls itself {problem.name!r}")
    for part in ("summary", "source"):
        if not getattr(problem, part).strip():
            yield Complaint(part, "is empty: `dgtd problem list` shows it")


def _same_twice(name: str, problem: Problem) -> Iterator[Complaint]:
    """A problem is its arrays: made twice it must be the same, or no stored run is ever found again."""
    if find_problem(name).identity != problem.identity:
        yield Complaint("same twice", "made twice, it has other numbers: give it a seed")


def _exact(problem: Problem) -> Iterator[Complaint]:
    mdp, (low, high) = problem.mdp, problem.support
    if not low < high:
        yield Complaint("support", f"must be a range, got [{low:g}, {high:g}]")
    elif mdp.v.min() < low or mdp.v.max() > high:
        words = f"values reach from {mdp.v.min():.4g} to {mdp.v.max():.4g}, outside [{low:g}, {high:g}]"
        yield Complaint("support", words + ": the atoms must hold every return")
    for key, value in facts_of(problem).items():
        numbers = np.asarray(value if value is not None else 0.0)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            yield Complaint(key, "is not finite")


def _runs(name: str, problem: Problem) -> Iterator[Complaint]:
    """GTD2 takes some small steps, on values and on distributions."""
    network = problem.network is not None  # of values; nobody knows the size of its gradients
    for target in ("value",) if network else ("value", "cdf"):
        size = 1e-5 if network else 0.01 / max(float((problem.mdp.features**2).sum(1).max()), 1.0)
        learner = Learner(reference("gtd2"), size, size, target, predictor=default_for(problem))
        try:
            trial = train(trainer_of(RunSpec(PlaceSpec(name), learner, Probe(log_times(STEPS)))), range(LANES))
        except Exception as error:
            yield Complaint(f"runs, {target}", f"{type(error).__name__}: {error}")
            continue
        if trial.diverged().any():
            lost = f"{int(trial.diverged().sum())} of {LANES} lanes of GTD2 are lost"
            yield Complaint(f"runs, {target}", f"{lost} within {STEPS} steps of {size:.2g}")


def examine_suite(name: str) -> list[Complaint]:
    """Every complaint about a suite's claims, of our rules and of a user's."""
    return [*_suite(name)]


def _suite(name: str) -> Iterator[Complaint]:
    made = find_suites(name)[name]
    own = made(None)
    word = own[0].id.split("/")[0] if own and own[0].file else name  # a file's ids begin with a word of its own
    for claim in own:
        yield from _claim(word, claim)
    yield from (Complaint(claim, "is there twice") for claim, n in Counter(c.id for c in own).items() if n > 1)
    if not own:
        yield Complaint(name, "has no claims")
    if not any("ci" in claim.profiles for claim in own):
        yield Complaint(name, "has nothing in the profile ci")
    if not isinstance(made(gtd2), list):
        yield Complaint(name, "must return a list of claims about a user's rule, too")


def _claim(suite: str, claim: Claim) -> Iterator[Complaint]:
    if not claim.id.startswith(f"{suite}/"):
        yield Complaint(claim.id, f"must begin with {suite + '/'!r}")
    for part in ("says", "source"):
        if not getattr(claim, part).strip():
            yield Complaint(claim.id, f"{part!r} is empty")
    try:
        needs_of(claim, Setting(claim.profiles[0], 0), None)
    except Exception as error:
        yield Complaint(claim.id, f"its needs raise {type(error).__name__}: {error}")
