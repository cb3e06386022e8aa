"""Problems, rules and suites by name, found through entry points: ours are declared like anyone's."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from algorithms.names import look_up
from harness.oracle.problem import Problem

_CALL = re.compile(r"(?P<name>[\w-]+)\s*(\((?P<inside>.*)\))?")


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name, loaded by nobody yet."""
    return {point.name: point for point in entry_points(group=f"dgtd.{group}")}


def find_problem(name: str) -> Problem:
    """A problem by name, `baird`, or with parameters, `random_mdp(states=20, seed=3)`."""
    match = _CALL.fullmatch(name.strip())
    if match is None:
        raise ValueError(f"no problem {name!r}; write a name, or name(key=value) as in 'random_mdp(states=20)'")
    make = look_up("problem", match["name"].replace("-", "_"), installed("problems")).load()
    return make(**_parameters(name, match["inside"], make))


def _parameters(name: str, inside: str | None, make: Any) -> dict[str, Any]:
    """Keyword arguments written as in Python, numbers and strings only, checked against the function's own."""
    if not inside or not inside.strip():
        return {}
    allowed = inspect.signature(make).parameters
    found: dict[str, Any] = {}
    for part in inside.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise ValueError(f"problem {name!r}: write key=value, got {part.strip()!r}")
        look_up("parameter", key, allowed)
        try:
            found[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[key] = value
        default = allowed[key].default
        if isinstance(default, int | float) and not isinstance(found[key], int | float):
            raise ValueError(f"problem {name!r}: {key} must be a number, got {value!r}")
    return found
