"""The quick tier holds no test that starts a process."""

import subprocess
from pathlib import Path

import pytest

from tests import forked
from tests.forked import Nursery
from tests.harness.test_cli import dgtd, test_problem_list_names_every_problem_once
from tests.tiers import LONGEST, longest_first, starts_a_process


def direct():
    return subprocess.run(["true"], check=True)


def through_another():
    return direct()


def forks():
    return forked.run("", cwd=Path())


def forks_another():
    return Nursery("python")


def none():
    return through_none()


def through_none():
    return 1


PROCESSES = [direct, through_another, forks, forks_another, dgtd, test_problem_list_names_every_problem_once]


@pytest.mark.parametrize("function", PROCESSES)
def test_what_leads_to_a_process_is_seen(function):
    assert starts_a_process(function)


def test_what_leads_to_none_is_left_alone():
    assert not starts_a_process(none)


def test_marks_reach_the_items(request):
    """Of this run: tests of the command line are slow, this one is not."""
    for item in request.session.items:
        if item.nodeid.startswith("tests/harness/test_cli.py"):
            assert item.get_closest_marker("slow") is not None
    assert request.node.get_closest_marker("slow") is None


class Item:
    """What of a test its order depends on."""

    def __init__(self, path, slow=False):
        self.path, self.slow = Path(path), slow

    def get_closest_marker(self, name):
        return "yes" if self.slow else None


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_share_begins_with_long_tests_and_ends_with_quick_ones(workers):
    long = [Item(f"tests/{name}", slow=True) for name in LONGEST for _ in range(2)]
    slow, quick = ([Item("tests/a.py", slow=each) for _ in range(30)] for each in (True, False))
    items = [*quick, *long, *slow]
    longest_first(items, workers)
    assert sorted(map(id, items)) == sorted(map(id, [*quick, *long, *slow]))  # none lost, none twice
    share = len(items) // workers
    for worker in range(workers):
        part = items[worker * share : (worker + 1) * share]
        assert any(item in long for item in part)
        assert any(item in quick for item in part)
    assert items[0] is long[0]
    assert items[-1] in quick
