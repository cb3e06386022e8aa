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


def find_problem(text: str) -> Problem:
    """A problem by name, `baird`, or with parameters, `random_mdp(states=20, seed=3)`."""
    make, parameters = _parsed(text)
    problem: Problem = make(**parameters)
    return problem


def canonical_problem(text: str) -> str:
    """One text for one problem: parameters in order, as the function takes them, and without those at their default."""
    make, parameters = _parsed(text)
    given = {key: value for key, value in parameters.items() if value != _defaults(make)[key].default}
    inside = ", ".join(f"{key}={given[key]!r}" for key in sorted(given))
    name = text.split("(")[0].strip().replace("-", "_")
    return f"{name}({inside})" if inside else name


def _parsed(text: str) -> tuple[Any, dict[str, Any]]:
    """The function behind a name, and its keyword arguments."""
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no problem {text!r}; write a name, or name(key=value) as in 'random_mdp(states=20)'")
    make = look_up("problem", match["name"].replace("-", "_"), installed("problems")).load()
    return make, _parameters(text, match["inside"], make)


def _defaults(make: Any) -> Any:
    return inspect.signature(make).parameters


def _parameters(name: str, inside: str | None, make: Any) -> dict[str, Any]:
    """Keyword arguments written as in Python, numbers and strings only, checked against the function's own."""
    if not inside or not inside.strip():
        return {}
    allowed = _defaults(make)
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
        if isinstance(default, int | float):
            if not isinstance(found[key], int | float):
                raise ValueError(f"problem {name!r}: {key} must be a number, got {value!r}")
            if float(found[key]).is_integer() or isinstance(default, float):  # 1 and 1.0 are one number
                found[key] = type(default)(found[key])
    return found
