"""The gate on a small repository of its own: asv runs for real, in a virtualenv that sees this one's packages."""

import pytest

from harness import gate
from harness.gate import BAD, BROKEN, BUILD, NOTHING, PASSED, TURNS, WORSE, Gate, Side, compare, judge
from tests.harness.scratch import OFFLINE, build, git


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    root = tmp_path_factory.mktemp("scratch")
    return root, build(root)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.slow
def test_every_outcome_has_its_own_code_and_words(scratch, offline, monkeypatch, capsys):
    root, commits = scratch

    def outcome(head, base="base", turns=("base", "head")):
        report = compare(Gate(root, turns=turns), commits[base], commits[head])
        return report.code, "\n".join(report.lines)

    code, words = outcome("same", turns=TURNS)
    assert code == PASSED, words
    assert "3 numbers compared" in words
    code, words = outcome("extra pass")
    assert code == WORSE
    assert "grew: steps.Work.track_touches()  100 → 200" in words
    # Three times slower: a busy machine hides 1.5 now and then, and `make asv-aa` counts how often.
    code, words = outcome("much slower", turns=TURNS)
    assert code == WORSE
    assert "slower: steps.Steps.time_step(20000)" in words
    assert "grew" not in words
    code, words = outcome("broken")
    assert code == BROKEN
    assert "broken at HEAD: steps.Work.track_touches()" in words
    code, words = outcome("no build")
    assert code == BUILD
    assert words == "build failed: HEAD"
    code, words = outcome("same", base="no build")
    assert (code, words) == (BUILD, "build failed: BASE")
    monkeypatch.chdir(root)
    capsys.readouterr()
    assert gate.main([commits["base"], commits["same"], "--bench", "nonesuch"]) == NOTHING
    assert capsys.readouterr().out == "no benchmark matches 'nonesuch'\n"


def side(broken=(), **numbers):
    return Side(numbers={(f"b.{name}", ""): value for name, value in numbers.items()}, broken=set(broken))


def test_judging():
    base = side(time_a=1.0, track_b=100.0, peakmem_c=50.0)
    assert judge(base, base)[0].code == PASSED
    report, slow = judge(base, side(time_a=1.29, track_b=99.0, peakmem_c=60.0))
    assert (report.code, slow) == (PASSED, [])
    report, slow = judge(base, side(time_a=1.31, track_b=100.0, peakmem_c=50.0))
    assert (report.code, slow) == (WORSE, [("b.time_a", "")])
    report, slow = judge(base, side(time_a=1.0, track_b=101.0, peakmem_c=50.0))
    assert (report.code, slow) == (WORSE, [])
    assert report.lines[0].startswith("grew: b.track_b")
    assert judge(side(), side(time_z=1.0))[0].code == NOTHING
    assert judge(base, side(time_z=1.0, broken=[("b.time_a", "")]))[0].code == BROKEN
    report, _ = judge(base, side(time_a=1.0, track_b=100.0))  # an import that HEAD lost skips the benchmark
    assert report.code == BROKEN
    assert report.lines[0] == "ran at BASE, skipped or missing at HEAD: b.peakmem_c()"
    assert judge(side(time_a=1.0), side(time_a=1.0, broken=[("b.time_z", "")]))[0].code == PASSED  # new and broken
    assert judge(side(track_b=0.0), side(track_b=1.0))[0].code == WORSE
    known = side(broken=[("b.time_z", "")], time_a=1.0)
    assert judge(known, known)[0].code == PASSED  # it was broken before
    assert judge(Side(built=False), base)[0].lines == ["build failed: BASE"]


def test_a_time_that_looks_slower_counts_only_if_it_is_so_twice():
    class Fake(Gate):
        def __init__(self, heads):
            self.heads = iter(heads)

        def resolve(self, name):
            return name

        def measure(self, commits, keys=None):
            return {"base": side(time_a=1.0, track_b=1.0), "head": next(self.heads)}

    once = Fake([side(time_a=2.0, track_b=1.0), side(time_a=1.0)])
    assert compare(once, "a", "b").code == PASSED
    twice = Fake([side(time_a=2.0, track_b=1.0), side(time_a=1.6)])
    assert compare(twice, "a", "b").code == WORSE


def test_bad_input_is_one_line_and_code_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    assert gate.main(["no-such-commit"]) == BAD
    assert capsys.readouterr().out == f"no commit 'no-such-commit' in {tmp_path}\n"
    with pytest.raises(SystemExit) as stopped:
        gate.main(["HEAD", "--factor", "0.5"])
    assert stopped.value.code == 2
