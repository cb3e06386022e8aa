"""What a rule is taken for: its name's number, its linearity, its fingerprint and its own compiled code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from algorithms.rule import Cotangents, Rule
from algorithms.rules import find_rule, gtd2, tdrc
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly
from suites.instrument.points import off

SOURCE = "definitions"
RATIOS = (0.0, 0.4, 7.0)


def claims() -> list[Claim]:
    """They are about how rules are told apart, whichever rule is judged."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "names": ("greedy_gq(η) and tdrc(κ), found by name, have the number that the name says", numbers_are_named),
        "linear": ("a rule that is not linear in (δ, u) can't be declared linear", others_are_refused),
        "fingerprint": (
            "rules that differ in a number, in curvature or in κ have different fingerprints, "
            "and the name is no part of them",
            fingerprints_differ,
        ),
        "compiled": (
            "two rules of one name that differ in a constant each run their own compiled code",
            compiled_apart,
        ),
    }
    return [
        Claim(id=f"instrument/rules/{name}", says=words, source=SOURCE, check=check, seeded=False)
        for name, (words, check) in says.items()
    ]


def numbers_are_named(setting: Setting) -> Finding:
    """Greedy-GQ's rows are (−ρδ, ηρu, ρδ − u) for every η, and κ is w's decay."""
    errors = []
    for eta in (0.0, 0.25, 0.5, 1.0):
        for rho in RATIOS:
            expected = np.array([[-rho, 0.0], [0.0, eta * rho], [rho, -1.0]])
            errors.append(float(np.abs(find_rule(f"greedy_gq({eta})").coefficients(rho) - expected).max()))
    errors += [abs(find_rule(f"tdrc({kappa})").w_decay - kappa) for kappa in (0.0, 0.5, 3.0)]
    return exactly(max(errors), 0.0, f"coefficients and κ of {len(errors)} named rules are off by {max(errors):.1e}")


def others_are_refused(setting: Setting) -> Finding:
    """Each of these agrees with some linear rule at (1, 0) and at (0, 1), which alone would not show it."""

    def squared(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-rho * delta * delta, rho * u, rho * delta - u)

    def crossed(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-rho * delta, rho * u + delta * u, rho * delta - u)

    def one_sided(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-rho * delta, rho * u, np.maximum(rho * delta, 0.0) - u)

    accepted = [function.__name__ for function in (squared, crossed, one_sided) if _declared_linear(function)]
    return exactly(float(len(accepted)), 0.0, f"accepted as linear: {', '.join(accepted) or 'none of three'}")


def _declared_linear(function: Callable[[Any, Any, Any], Cotangents]) -> bool:
    try:
        Rule("declared", function, linear=True)
    except ValueError:
        return False
    return True


def fingerprints_differ(setting: Setting) -> Finding:
    """Pairs of different rules with one fingerprint, and pairs of equal rules with two."""
    ratios = np.array(RATIOS)
    different = [
        gtd2, replace(gtd2, curvature=False), replace(gtd2, w_decay=0.5), replace(gtd2, linear=False),
        tdrc(0.25), tdrc(0.5), find_rule("greedy_gq(0.25)"), find_rule("greedy_gq(0.5)"),
    ]  # fmt: skip
    same = [(gtd2, replace(gtd2, name="another name")), (tdrc(0.5), find_rule("tdrc(0.5)"))]
    doubles = len(different) - len({each.fingerprint(ratios) for each in different})
    torn = sum(one.fingerprint(ratios) != other.fingerprint(ratios) for one, other in same)
    words = f"{doubles} of {len(different)} different rules share a fingerprint; {torn} of {len(same)} equal ones don't"
    return exactly(float(doubles + torn), 0.0, words)


def compiled_apart(setting: Setting) -> Finding:
    """TDC with δ clipped at 1 and at 3 in the linear engine, where δ is beyond 3: −G_θ over φ is the clipped δ."""
    from algorithms.batch import Batch
    from algorithms.fast.linear import directions
    from algorithms.targets import ValueTarget

    x, zero = np.full((1, 1, 1), 2.0), np.zeros((1, 1, 1))
    batch = Batch(x, zero, ValueTarget().shift(np.full((1, 1), 10.0), np.zeros((1, 1))), np.ones((1, 1)))
    bounds = (1.0, 3.0)
    found = [float(directions(clipped(bound), zero, zero, batch)[0][0, 0, 0]) for bound in bounds]
    error = off(np.array(found), np.array([-2.0 * bound for bound in bounds]))
    return exactly(error, 1e-12, f"directions of the two rules are {found[0]:g} and {found[1]:g}, off by {error:.1e}")


def clipped(bound: float) -> Rule:
    """TDC whose δ in θ's step is at most `bound`: the name does not say which."""

    def clipped(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-rho * np.minimum(delta, bound), rho * u, rho * delta - u)

    return Rule("clipped", clipped, linear=False)
