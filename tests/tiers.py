"""Which tests belong to the slow tier without saying so, those that start a process; and in which order tests run.

A command in a process of its own imports torch and numba first, which takes seconds. So a test whose code, or whose
fixtures' code, leads to `subprocess` or to `forked` is slow, however it gets there; all others run in seconds together.
"""

import subprocess
from functools import cache
from types import FunctionType

import pytest

from tests import forked

# A minute or more each, the longest first.
LONGEST = (
    "golden/test_golden.py", "dgtd/test_default_comparison.py", "asv/test_gate.py", "mutants/test_sample.py",
    "tests/test_installed.py", "harness/test_bad_input.py",
)  # fmt: skip


def longest_first(items: list[pytest.Item], workers: int) -> None:
    """pytest-xdist gives each worker a share of neighbours, and who is done takes from the ends of the others' shares.

    So a share is some of the longest files, then its part of the other slow tests, then of the rest: a long test that
    starts last, or behind another long one, keeps a core waiting.
    """
    files = {name: [item for item in items if item.path.as_posix().endswith(name)] for name in LONGEST}
    long = [item for found in files.values() for item in found]
    others = [item for item in items if item not in long]
    slow = [item for item in others if item.get_closest_marker("slow") is not None]
    quick = [item for item in others if item.get_closest_marker("slow") is None]
    dealt: list[pytest.Item] = []
    for worker in range(workers):
        for name in LONGEST[worker::workers]:
            dealt += files[name]
        for tier in (slow, quick):
            dealt += tier[worker * len(tier) // workers : (worker + 1) * len(tier) // workers]
    items[:] = dealt


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
    """Whether it uses `subprocess` or `forked`, or calls a function of the tests that does."""
    seen: set[FunctionType] = set()
    todo = [getattr(function, "__wrapped__", function)]
    while todo:
        found = todo.pop()
        if found in seen:
            continue
        seen.add(found)
        for name in found.__code__.co_names:
            value = found.__globals__.get(name)
            if value is subprocess or value is forked or value is forked.Nursery:
                return True
            if isinstance(value, FunctionType) and (value.__module__ or "").startswith("tests"):
                todo.append(value)
    return False
