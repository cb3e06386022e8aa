"""The default comparison, as the command line runs it and as Python does: three minutes of one core for both."""

import json

import pytest

import dgtd
from dgtd.harness.commands.compare import PROBLEMS, content_key
from tests.harness.test_cli import dgtd as command


@pytest.mark.slow
def test_it_gives_the_numbers_of_the_command(tmp_path):
    """Each from a store of its own, so that every lane is run twice: choices, tests, winners and words are one."""
    done = command("compare", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    theirs = {name: value for name, value in json.loads(done.stdout).items() if name not in ("command", "report")}
    ours = dgtd.compare(store=tmp_path / "python.sqlite", executor="in-process").document
    assert sorted(ours["problems"]) == sorted(PROBLEMS.split(","))
    assert list(ours) == list(theirs)
    assert [name for name in ours if content_key({name: ours[name]}) != content_key({name: theirs[name]})] == []
