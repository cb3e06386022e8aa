"""What the network engines rest on: elementary functions, and traces that stand in for a module."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from algorithms.checks import Floats
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding, exactly

SOURCE = "definitions"
UNITS = 4.0  # of the last digit


def claims() -> list[Claim]:
    """One of each."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "instrument/small/elementary": (
            f"exp, tanh and the logistic function of the small engine are exact to {UNITS:g} units of the last digit",
            functions_are_exact,
        ),
        "instrument/module/trace": (
            "a trace that replaces a module is the module: not one that changes between calls, nor of other shapes",
            traces_are_the_function,
        ),
    }
    return [
        Claim(id=name, says=words, source=SOURCE, check=check, seeded=False) for name, (words, check) in says.items()
    ]


def functions_are_exact(setting: Setting) -> Finding:
    """Relative errors over the machine precision, on both sides of 0 and at every size."""
    from algorithms.fast import elementary

    x = np.concatenate([np.linspace(-30.0, 30.0, 2000), np.logspace(-12, 1.4, 200), [-700.0, 700.0]])
    functions: dict[str, tuple[Callable[[float], float], Callable[[Floats], Floats], Floats]] = {
        "exp": (elementary.exp, np.exp, x),
        "tanh": (elementary.tanh, np.tanh, x),
        "sigmoid": (elementary.sigmoid, lambda at: 1.0 / (1.0 + np.exp(-at)), x[np.abs(x) < 100]),
    }
    errors = {}
    for name, (ours, exact, at) in functions.items():
        found, expected = np.array([ours(float(each)) for each in at]), exact(at)
        errors[name] = float((np.abs(found - expected) / np.abs(expected)).max() / np.finfo(float).eps)
    words = ", ".join(f"{name} {error:.2g}" for name, error in errors.items())
    return exactly(float(np.max([*errors.values()])), UNITS, f"largest errors in units of the last digit: {words}")


def traces_are_the_function(setting: Setting) -> Finding:
    """Wrong answers over many calls of three functions: an unchanging one, one that counts, one that sees its shape."""
    import torch

    from algorithms.fast.traced import AFTER, Traced

    calls, offset, wrong = AFTER + 5, [0.0], 0
    counting, shaped = Traced(lambda x: x + offset[0]), Traced(lambda x: x * x.shape[0])
    for call in range(calls):
        offset[0] = float(call)
        wrong += float(counting(torch.ones(3))[0]) != 1.0 + call
        wrong += float(shaped(torch.full((3,), float(call)))[0]) != 3.0 * call
    for size in (7, 2):
        wrong += float(shaped(torch.ones(size))[0]) != size
    return exactly(float(wrong), 0.0, f"{wrong} of {2 * calls + 2} answers are not the function's")
