"""What is wrong with a rule, a problem or a suite, in words.

Every promise of a rule is tried on small exact problems, with a guess at the slip.
"""

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dgtd.algorithms.digest import digest
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
    found = [*_arithmetic(rule), *_compiles(rule)]
    return found or _promises(rule)  # promises are tried on tensors, so the arithmetic has to hold first


def _arithmetic(rule: Rule) -> list[Complaint]:
    """The same on floats, arrays and tensors, and of u's shape."""
    import torch

    delta, u, rho = np.random.default_rng(0).normal(size=(3, 4))
    rho = np.abs(rho)
    floats = np.array([[float(x) for x in rule(*map(float, point))] for point in zip(delta, u, rho, strict=True)]).T
    out = []
    for kind, make in (("numpy arrays", np.asarray), ("torch tensors", torch.as_tensor)):
        try:
            found = [np.asarray(part) for part in rule(make(delta), make(u), make(rho))]
        except Exception as error:
            out.append(Complaint(kind, f"raises {type(error).__name__} on {kind}: {error}"))
            continue
        wrong = [name for name, part in zip(Cotangents._fields, found, strict=True) if part.shape != u.shape]
        if wrong:
            out.append(Complaint(kind, f"the {wrong[0]} cotangent lost its shape on {kind}: write 0.0 * u for nothing"))
        elif not np.allclose(np.stack(found), floats, rtol=1e-9, atol=1e-12):
            out.append(Complaint(kind, f"gives other numbers on {kind} than on floats: no `if`, no float() in a rule"))
    return out


def _compiles(rule: Rule) -> list[Complaint]:
    try:
        rule_as_data(replace(rule, linear=False), np.ones(1))
    except ValueError as error:
        return [Complaint("numba", str(error))]
    return []


def _promises(rule: Rule) -> list[Complaint]:
    """Theorem 1 on a small network: the two promises that enumeration decides."""
    objective, theta = network_case(small_problem(), "cdf", seed=0)
    checks = {
        Promise.SOLVES_W: (solves_w_error, "w's mean update does not vanish at w*(θ)"),
        Promise.DESCENDS: (descends_error, "at w*(θ), θ's mean update is not −½∇J"),
    }
    out = []
    for promise, (error_of, words) in checks.items():
        if promise not in rule.promises:
            continue

        def fails(each: Rule, error_of: Any = error_of) -> bool:
            return bool(error_of(each, objective, theta) > EXACT)

        if fails(rule):
            off = f"{words} (off by {error_of(rule, objective, theta):.1e})"
            advice = f"{guess(rule, fails)}; promises=… without {promise.name} if that is meant"
            out.append(Complaint(str(promise), f"{off}: {advice}"))
    return out


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


def _said(name: str, problem: Problem) -> list[Complaint]:
    out = []
    if not is_file(name) and problem.name.split("(")[0] != name.split("(")[0].strip():
        out.append(Complaint("name", f"the entry point is {name!r}, the MDP calls itself {problem.name!r}"))
    empty = [part for part in ("summary", "source") if not getattr(problem, part).strip()]
    return out + [Complaint(part, "is empty: `dgtd problem list` shows it") for part in empty]


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
    word = own[0].id.split("/")[0] if own and own[0].file else name  # a file's ids begin with a word of its own
    out = [complaint for claim in own for complaint in _claim(word, claim)]
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
    out += [
        Complaint(claim.id, f"{part!r} is empty") for part in ("says", "source") if not getattr(claim, part).strip()
    ]
    try:
        needs_of(claim, Setting(claim.profiles[0], 0), None)
    except Exception as error:
        out.append(Complaint(claim.id, f"its needs raise {type(error).__name__}: {error}"))
    return out
