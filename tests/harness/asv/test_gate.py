"""The gate on a small repository of its own: asv runs for real, in a virtualenv that sees this one's packages.

Its clock counts lines, so that what is said does not depend on how busy the machine is. `make asv-aa` has a real clock.
"""

import json
import math

import pytest

from dgtd.harness.asv import gate
from dgtd.harness.asv.gate import LOOKS, TURNS, AsvError, Code, Gate, Side, compare, judge, read
from dgtd.harness.cli import main
from tests.harness.asv.scratch import OFFLINE, build, git


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

    def outcome(head, base="base", turns=("base", "head"), bench=None):
        report = compare(Gate(root, bench, turns), commits[base], commits[head])
        return report.code, "\n".join(report.lines)

    code, words = outcome("same")
    assert code == Code.PASSED, words
    assert words == "3 numbers compared; the times' largest ratio is 1.000, steps.Steps.time_step(1000)"
    code, words = outcome("extra pass", bench="Work")
    assert code == Code.WORSE
    assert "grew: steps.Work.track_touches()  100 → 200" in words
    code, words = outcome("slower", turns=(*TURNS, "head"))  # as many as a first look needs to be sure
    assert code == Code.WORSE
    assert "slower: steps.Steps.time_step(20000)  0.040001 → 0.075002  (1.875 ×)" in words
    assert "grew" not in words
    code, words = outcome("broken", bench="Work")
    assert code == Code.BROKEN
    assert "broken at HEAD: steps.Work.track_touches()" in words
    code, words = outcome("no build")
    assert code == Code.BUILD
    assert words == "build failed: HEAD"
    code, words = outcome("no build", base="no build")
    assert (code, words) == (Code.BUILD, "build failed: BASE")
    monkeypatch.chdir(root)
    capsys.readouterr()
    assert gate.run(commits["base"], commits["same"], bench="nonesuch") == Code.NOTHING
    said = capsys.readouterr().out
    assert said == "no benchmark matches 'nonesuch'\nnothing was measured on both sides (exit code 4)\n"


def test_a_turn_is_read_as_its_fastest_sample_but_for_what_the_clock_lost(tmp_path):
    results = {
        "b.time_a": [[2.0, None, math.nan], [["1", "2", "3"]], [[3.0, 1.0, 2.0], None, None], 0.1],
        "b.track_b": [[7.0], [], None, 0.1],
        "b.time_c": [[2.0], [], [[0.5] + [1.0] * 20 + [2.0] * 79], 0.1],
    }
    stored = {"result_columns": ["result", "params", "samples", "duration"], "results": results}
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "01234567-environment.json").write_text(json.dumps(stored))
    found = read(tmp_path, "0123456789")
    assert found.turns == {("b.time_a", "1"): [1.0], ("b.track_b", ""): [7.0], ("b.time_c", ""): [1.0]}
    assert found.broken == {("b.time_a", "2")}
    assert found.built
    with pytest.raises(AsvError, match="asv stored nothing for fedcba98"):
        read(tmp_path, "fedcba9876")


def side(broken=(), **numbers):
    """Two turns that agree, unless a list says otherwise."""
    turns = {(f"b.{name}", ""): value if isinstance(value, list) else [value] * 2 for name, value in numbers.items()}
    return Side(turns=turns, broken=set(broken))


def test_judging():
    base = side(time_a=1.0, track_b=100.0, peakmem_c=50.0)
    assert judge(base, base)[0].code == Code.PASSED
    report, doubtful = judge(base, side(time_a=1.29, track_b=99.0, peakmem_c=52.0))
    assert (report.code, doubtful) == (Code.PASSED, [])
    report, doubtful = judge(base, side(time_a=1.31, track_b=100.0, peakmem_c=50.0))
    assert (report.code, doubtful) == (Code.NOISY, [("b.time_a", "")])
    assert judge(base, side(time_a=[1.31] * 3, track_b=100.0, peakmem_c=50.0))[0].code == Code.WORSE
    report, doubtful = judge(base, side(time_a=1.0, track_b=101.0, peakmem_c=50.0))
    assert (report.code, doubtful) == (Code.WORSE, [])
    assert report.lines[0].startswith("grew: b.track_b")
    assert judge(side(), side(time_z=1.0))[0].code == Code.NOTHING
    assert judge(base, side(time_z=1.0, broken=[("b.time_a", "")]))[0].code == Code.BROKEN
    report, _ = judge(base, side(time_a=1.0, track_b=100.0))  # an import that HEAD lost skips the benchmark
    assert report.code == Code.BROKEN
    assert report.lines[0] == "ran at BASE, skipped or missing at HEAD: b.peakmem_c()"
    assert judge(side(time_a=1.0), side(time_a=1.0, broken=[("b.time_z", "")]))[0].code == Code.PASSED  # new and broken
    assert judge(side(track_b=0.0), side(track_b=1.0))[0].code == Code.WORSE
    assert judge(side(track_b=-5.0), side(track_b=-5.0))[0].code == Code.PASSED
    assert judge(side(track_b=100.0), side(track_b=[100.0, 250.0]))[0].code == Code.WORSE  # not exact after all
    assert judge(base, side(time_a=1.0, track_b=100.0, peakmem_c=[53.0] * 3))[0].code == Code.WORSE
    report, _ = judge(side(time_a=1.0), side(time_a=1.02, time_z=1.0))
    assert report.lines == [
        "did not run at BASE, so not compared: b.time_z()",
        "1 numbers compared; the times' largest ratio is 1.020, b.time_a()",
    ]
    known = side(broken=[("b.time_z", "")], time_a=1.0)
    assert judge(known, known)[0].code == Code.PASSED  # it was broken before
    assert judge(Side(built=False), base)[0].lines == ["build failed: BASE"]


class Rehearsed(Gate):
    """A gate whose looks are written down beforehand: base's turns and head's."""

    def __init__(self, *looks):
        self.looks, self.taken = iter(looks), 0

    def resolve(self, name):
        return name

    def measure(self, commits, keys=None):
        self.taken += 1
        base, head = next(self.looks)
        return {"base": side(time_a=base), "head": side(time_a=head)}


def test_two_turns_that_agree_settle_a_time():
    quiet = Rehearsed(([1.0, 1.02], [1.01, 1.0]))
    assert (compare(quiet, "a", "b").code, quiet.taken) == (Code.PASSED, 1)


def test_a_busy_spell_does_not_feign_a_slow_down():
    once = Rehearsed(([1.0, 1.0], [2.0, 2.0]), ([1.0, 1.0], [1.0, 1.0]))
    assert (compare(once, "a", "b").code, once.taken) == (Code.PASSED, 2)
    twice = Rehearsed(([1.0, 1.0], [2.0, 2.0]), ([1.0, 1.0], [1.6, 1.6]))
    assert (compare(twice, "a", "b").code, twice.taken) == (Code.WORSE, 2)


def test_a_busy_spell_does_not_hide_a_slow_down():
    hidden = Rehearsed(([1.6, 1.3], [1.5, 1.5]), ([1.0, 1.0], [1.5, 1.5]))
    assert (compare(hidden, "a", "b").code, hidden.taken) == (Code.WORSE, 2)


def test_a_time_that_never_settles_is_named():
    wild = Rehearsed(*[([4.0 - i / 2, 9.0], [1.0, 1.0]) for i in range(LOOKS)])
    report = compare(wild, "a", "b")
    assert (report.code, wild.taken) == (Code.NOISY, LOOKS)
    assert report.lines[0] == "too noisy to be sure of: b.time_a()  2.5 → 1  (0.400 ×)"


def test_a_single_lucky_turn_does_not_keep_a_time_from_settling():
    lucky = Rehearsed(([1.0, 1.0], [0.9, 1.0]), *[([1.0, 1.0], [1.0, 1.0])] * (LOOKS - 1))
    assert (compare(lucky, "a", "b").code, lucky.taken) == (Code.PASSED, LOOKS)


def test_a_time_that_seems_slower_and_never_settles_is_not_called_slower():
    """One lucky turn of base, and head is the faster one ever after."""
    lucky = Rehearsed(([1.0, 1.5], [1.4, 1.42]), *[([1.5, 1.5], [1.4, 1.45])] * (LOOKS - 1))
    assert compare(lucky, "a", "b").code == Code.NOISY


def test_a_crash_is_not_a_slow_down(monkeypatch, capsys):
    monkeypatch.setattr(gate, "compare", lambda *_: {}["missing"])
    assert gate.run("HEAD", "HEAD") == Code.BAD
    assert capsys.readouterr().out.startswith("KeyError: 'missing'\n")


def test_bad_input_is_named_and_has_code_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    assert gate.run("no-such-commit", "HEAD") == Code.BAD
    assert capsys.readouterr().out.startswith(f"no commit 'no-such-commit' in {tmp_path}\nbad input")
    with pytest.raises(SystemExit) as stopped:
        main(["gate", "HEAD", "--factor", "0.5"])
    assert stopped.value.code == 2
