"""What is wrong with a rule, in words: every promise tried on small exact problems, with a guess at the slip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from algorithms.fast.compiled_loop import rule_as_data
from algorithms.rule import Cotangents, Promise, Rule
from algorithms.rules import gtd2, tdc
from harness.oracle.theorem import EXACT, descends_error, network_case, small_problem, solves_w_error


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
            hint = guess(rule, fails)
            promised = f"promises=… without {promise.name} if that is meant"
            out.append(
                Complaint(str(promise), f"{words} (off by {error_of(rule, objective, theta):.1e}): {hint}; {promised}")
            )
    return out


def guess(rule: Rule, fails: Any) -> str:
    """Which one cotangent, replaced by GTD2's or TDC's, mends the failing check."""
    for reference in (gtd2, tdc):
        for field in Cotangents._fields:

            def mended(delta: Any, u: Any, rho: Any, field: str = field, reference: Rule = reference) -> Cotangents:
                return rule(delta, u, rho)._replace(**{field: getattr(reference(delta, u, rho), field)})

            if not fails(replace(rule, function=mended, name=rule.name)):
                theirs = f"{reference.name}'s cotangent of {_LETTER[field]}"
                return f"with {theirs} in place of yours it holds: look at `{field}`"
        if not rule.curvature and not fails(replace(rule, curvature=True)):
            return "with the curvature term it holds: declare curvature=True"
    return "no one cotangent of GTD2 or TDC mends it"


_LETTER = {"prediction": "f", "target": "g", "tangent": "u"}
