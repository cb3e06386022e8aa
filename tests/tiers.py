"""Which tests belong to the slow tier without saying so: those that start a process.

A command in a process of its own imports torch and numba first, which takes seconds. So a test whose code, or whose
fixtures' code, leads to `subprocess` is slow, however it gets there; all others run in seconds together.
"""

import subprocess
from functools import cache
from types import FunctionType

import pytest


def mark_slow_ones(items: list[pytest.Item]) -> None:
    """By what they call."""
    for item in items:
        fixtures = getattr(item, "_fixtureinfo", None)
        made = [each for defs in (fixtures.name2fixturedefs.values() if fixtures else ()) for each in defs]
        functions = [getattr(item, "function", None), *(each.func for each in made)]
        if any(starts_a_process(function) for function in functions if isinstance(function, FunctionType)):
            item.add_marker(pytest.mark.slow)


@cache
def starts_a_process(function: FunctionType) -> bool:
    """Whether it uses `subprocess`, or calls a function of the tests that does."""
    seen: set[FunctionType] = set()
    todo = [getattr(function, "__wrapped__", function)]
    while todo:
        found = todo.pop()
        if found in seen:
            continue
        seen.add(found)
        for name in found.__code__.co_names:
            value = found.__globals__.get(name)
            if value is subprocess:
                return True
            if isinstance(value, FunctionType) and (value.__module__ or "").startswith("tests"):
                todo.append(value)
    return False
