"""The default comparison, as the command line runs it and as Python does."""

import json

import pytest

import dgtd
from dgtd.harness.commands.compare import PROBLEMS, content_key
from dgtd.harness.runs.store import Store
from tests.harness.test_cli import dgtd as command


def stored(path):
    """Every lane and every job, with the moment at which it was stored."""
    with Store(path) as store:
        lanes = list(store.query("SELECT run, seed, created FROM lanes ORDER BY run, seed"))
        return lanes + list(store.query("SELECT hash, outcome, created FROM jobs ORDER BY hash"))


@pytest.mark.slow
def test_it_gives_the_numbers_of_the_command(tmp_path):
    """Python asks for the very runs that the command has stored, and for no other; what is made of them is one, too.

    That a run's numbers are those of its hash, wherever it is run, is tested where runs are; that both run a
    comparison from nothing to equal numbers is in test_face.py, for a small one.
    """
    done = command("compare", "--json", "--store", "s.sqlite", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    theirs = {name: value for name, value in json.loads(done.stdout).items() if name not in ("command", "report")}
    before = stored(tmp_path / "s.sqlite")
    ours = dgtd.compare(store=tmp_path / "s.sqlite", executor="in-process").document
    assert stored(tmp_path / "s.sqlite") == before
    assert len(before) > 6_000
    assert sorted(ours["problems"]) == sorted(PROBLEMS.split(","))
    assert list(ours) == list(theirs)
    assert [name for name in ours if content_key({name: ours[name]}) != content_key({name: theirs[name]})] == []
