"""Which tests belong to the slow tier without saying so, those that start a process; and in which order tests run.

A command in a process of its own imports torch and numba first, which takes seconds. So a test whose code, or whose
fixtures' code, leads to `subprocess` is slow, however it gets there; all others run in seconds together.
"""

import subprocess
from functools import cache
from types import FunctionType

import pytest

# A minute or more each. They come first: a long test that starts last keeps one of two cores waiting.
LONGEST = ("golden/test_golden.py", "mutants/test_sample.py", "asv/test_gate.py", "harness/test_bad_input.py")


def longest_first(items: list[pytest.Item]) -> None:
    """The longest files, then the other slow tests, then the rest, each in their order."""

    def turn(item: pytest.Item) -> int:
        path = item.path.as_posix()
        found = [place for place, name in enumerate(LONGEST) if path.endswith(name)]
        return found[0] if found else len(LONGEST) + (item.get_closest_marker("slow") is None)

    items.sort(key=turn)


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
