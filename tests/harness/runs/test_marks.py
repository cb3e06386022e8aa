"""What the mark of a rule and of the code is taken of: constants and sources, and nothing else."""

from dataclasses import replace

import pytest

from dgtd.harness.runs.fingerprint import DECISIVE, of_code, parts_of
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.work import Job
from dgtd.suites.stability.lanes import contradicts
from tests.harness.planted import run_of

RULE = """
from dgtd.algorithms.rule import Cotangents, rule

GAIN = {gain}

@rule(linear={linear})
def mine(delta, u, rho):
    return Cotangents(-GAIN * rho * delta{bend}, rho * u, rho * delta - u)
"""


@pytest.mark.parametrize(("linear", "bend"), [(True, ""), (False, " / (1 + abs(delta))")])
def test_rules_with_two_constants_are_two_and_a_copy_is_the_same(tmp_path, linear, bend):
    marks = []
    for name, gain in (("first", 1.0), ("copy", 1.0), ("second", 2.0)):
        file = tmp_path / f"{name}.py"
        file.write_text(RULE.format(gain=gain, linear=linear, bend=bend), encoding="utf-8")
        marks.append(parts_of(run_of(reference(f"{file}:mine")))["rule"])
    assert marks[0] == marks[1] != marks[2]


def test_the_code_of_a_run_is_all_that_decides_its_numbers():
    mark = parts_of(run_of())["code"]
    assert mark == of_code(DECISIVE)
    for name in DECISIVE:
        assert mark != of_code(tuple(each for each in DECISIVE if each != name))


def test_the_code_of_a_job_is_ours_and_its_package():
    job = Job.of(contradicts, kind="stable", share=0.0)
    assert job.parts["code"] == of_code(("dgtd.algorithms", "dgtd.harness", "dgtd.suites"))
    other = replace(job, package="dgtd.harness")
    assert other.parts["code"] != job.parts["code"]
    assert other.hash != job.hash


def test_one_digit_of_a_source_is_seen(tmp_path, monkeypatch):
    """A package that is written with a 1, with a 2 and with a 1 again; nothing is imported, nor taken from a cache."""
    package = tmp_path / "dgtd_planted_package"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    marks = []
    for value in (1, 2, 1):
        (package / "inner.py").write_text(f"VALUE = {value}\n", encoding="utf-8")
        marks.append(of_code.__wrapped__((package.name,)))
    assert marks[0] == marks[2] != marks[1]
