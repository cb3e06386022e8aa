"""A few faults go the whole way: some of the list, and some that are planted where others are drawn."""

import random
from dataclasses import replace

import pytest

from tests.mutants import sample
from tests.mutants.baseline import Baseline, share
from tests.mutants.campaign import Campaign
from tests.mutants.catalogue import MUTANTS
from tests.mutants.catching import compiles_anew
from tests.mutants.results import Results
from tests.mutants.sites import draw, sites_in
from tests.mutants.test_catalogue import ROOT

EXACT = ("gradients", "contraction")


@pytest.mark.slow
def test_ten_listed_faults_are_caught(tmp_path):
    """Of those that compile nothing anew and that an exact claim or a test catches: a minute."""
    quick = [
        mutant
        for mutant in MUTANTS
        if not compiles_anew(ROOT, mutant.file)
        and (mutant.catchers[0].kind == "test" or mutant.catchers[0].suite in EXACT)
    ]
    mutants = random.Random(0).sample(quick, 10)
    campaign = Campaign(ROOT, tmp_path, Results(tmp_path / "results.jsonl"))
    assert campaign.check_catchers(mutants) == {}
    assert [result.name for result in campaign.run(mutants, jobs=1) if not result.by] == []


PLANTED = "harness/planted.py"
TEXT = """def turns(limit):
    done = 0
    while done < limit:
        done += 1
    return done


def unseen():
    return 1
"""
TEST = """from dgtd.harness.planted import turns


def test_turns():
    assert turns(3) == 3


def test_red():
    assert turns(0) == 1
"""


@pytest.mark.slow
def test_drawn_faults_are_caught_hang_or_survive_and_a_red_test_catches_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sample, "COMPILING", 20.0)
    drawn = sample.Sample(ROOT, tmp_path / "work", Results(tmp_path / "results.jsonl"), jobs=1)
    sources = drawn.right.sources
    (sources / PLANTED).write_text(TEXT)
    (sources / "tests/test_planted.py").write_text(TEST)
    drawn.baseline = Baseline.of({"tests": share(drawn.right, ["tests/test_planted.py"], 0), "suites": {}})
    assert [test.name for test in drawn.baseline.tests] == ["tests/test_planted.py::test_turns"]
    sites = sites_in(PLANTED, TEXT)
    changes = {change.what: change for seed in range(60) for change in draw(sources, sites, 99, seed)}

    def outcome(what):
        return drawn.judge(changes[what]).outcome

    assert outcome("done = 0  →  done = 1") == sample.SURVIVED  # nobody asks for fewer turns than that
    assert outcome("while done < limit:  →  while done <= limit:") == sample.CAUGHT
    assert outcome("done += 1  →  done += 0") == sample.INCOMPETENT
    assert outcome("return 1  →  return 2") == sample.SURVIVED  # nobody calls it
    drawn.catches_nothing_where_nothing_is_broken(list(changes.values()))
    monkeypatch.setattr(drawn.right.__class__, "another", None)  # a second time nothing is run
    assert drawn.judge(changes["done += 1  →  done += 0"]).by == "too slow"
    red = replace(drawn.baseline.tests[0], name="tests/test_planted.py::test_red")
    drawn.baseline.tests[:] = [red]
    with pytest.raises(RuntimeError, match=r"nothing is broken, and yet: caught .*test_red"):
        drawn.catches_nothing_where_nothing_is_broken(list(changes.values())[:1])
