"""The notebook in examples/ runs from top to bottom, and prints what it is committed with."""

import re

import pytest

from tests.notebook import printed, read, run


def told(notebook):
    """What is printed, the size of a picture apart."""
    return re.sub(r"a picture, \d+ bytes", "a picture", printed(notebook)).splitlines()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # the kernel's client, not ours
def test_the_notebook_prints_what_it_is_committed_with(tmp_path):
    assert told(run(tmp_path)) == told(read())


def test_what_a_reader_sees_is_compared():
    notebook = read()
    text = "\n".join(told(notebook))
    for part in ("true values", "TDC against GTD2", "a picture", "rmspbe", "diverging", "learned", "PASS"):
        assert part in text
