"""Limits on time, alone and one inside another."""

import time

import pytest

from dgtd.harness.runs.timeouts import time_limit


def test_a_limit_rings():
    with pytest.raises(TimeoutError, match="nap took more than"), time_limit(0.05, "nap"):
        time.sleep(5)


@pytest.mark.parametrize("inner", [0.02, 5.0])
def test_an_inner_limit_that_ends_leaves_the_outer_one_standing(inner):
    def nap_after_an_inner_limit():
        with time_limit(inner, "inner"):
            pass
        time.sleep(5)

    start = time.monotonic()
    with pytest.raises(TimeoutError, match="outer took more than"), time_limit(0.2, "outer"):
        nap_after_an_inner_limit()
    assert time.monotonic() - start < 2


def test_an_inner_limit_rings_inside_an_outer_one():
    with time_limit(5.0, "outer"), pytest.raises(TimeoutError, match="inner"), time_limit(0.05, "inner"):
        time.sleep(5)
