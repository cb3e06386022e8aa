"""The quick tier holds no test that starts a process."""

import subprocess

import pytest

from tests.harness.test_cli import dgtd, test_problem_list_names_every_problem_once
from tests.tiers import starts_a_process


def direct():
    return subprocess.run(["true"], check=True)


def through_another():
    return direct()


def none():
    return through_none()


def through_none():
    return 1


@pytest.mark.parametrize("function", [direct, through_another, dgtd, test_problem_list_names_every_problem_once])
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
