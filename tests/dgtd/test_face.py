"""The public face: what Python offers is what the command line does, with objects in place of names."""

import doctest
import json
import subprocess
import sys

import numpy as np
import pytest

import dgtd
from dgtd import calls, comparing
from dgtd.harness.oracle.problem import Problem
from tests.harness.test_cli import ROOT
from tests.harness.test_cli import dgtd as command

SMALL = {"seeds": 8, "steps": 300, "alphas": (0.1, 0.05), "ratios": (1.0,)}


@pytest.fixture
def here(tmp_path):
    return {"store": tmp_path / "results.sqlite", "executor": "in-process"}


def mine(delta, u, rho):
    return dgtd.Cotangents(prediction=-rho * delta, target=0.5 * rho * u, tangent=rho * delta - u)


def own_problem(name="mine_own", gamma=0.9):
    mdp = dgtd.problem("two_state").mdp.with_(name=name, gamma=gamma)
    return Problem(mdp, "two states", "this test", (-20.0, 20.0))


@pytest.mark.parametrize("module", [calls, comparing])
def test_the_examples_in_the_docstrings_are_right(module, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(module).failed == 0


def test_a_comparison_gives_the_numbers_of_the_command(tmp_path, here):
    result = dgtd.compare(["gtd2", "tdc"], ["two_state", "boyan"], "value", **SMALL, **here)
    done = command(
        "compare", "--rules", "gtd2,tdc", "--problems", "two_state,boyan", "--targets", "value", "--seeds", "8",
        "--steps", "300", "--alphas", "0.1,0.05", "--ratios", "1", "--json", cwd=tmp_path,
    )  # fmt: skip
    theirs = json.loads(done.stdout)["problems"]
    ours = json.loads(json.dumps(result.document["problems"]))
    for problem, rules in theirs.items():
        for rule, numbers in rules.items():
            assert ours[problem][rule]["metrics"] == numbers["metrics"]
            assert ours[problem][rule]["run"] == numbers["run"]


def test_the_frame_has_every_number_once(here):
    result = dgtd.compare(["gtd2"], "two_state", ["value", "cdf"], seeds=4, steps=100, alpha=0.05, beta=0.05, **here)
    frame = result.frame
    assert list(frame.columns) == ["problem", "rule", "target", "seed", "step", "metric", "value"]
    entry = result.comparison.entries[0]
    lanes = entry.lanes
    assert not frame.duplicated(["problem", "rule", "target", "seed", "step", "metric"]).any()
    one = frame.query("target == 'value' and metric == 'rmspbe' and seed == 2").value.to_numpy()
    assert one.tolist() == lanes.of("rmspbe")[:, 2].tolist()
    assert len(frame) == sum(entry.lanes.curves.size for entry in result.comparison.entries)


def test_a_function_and_a_problem_of_this_process_take_part(here, capsys):
    result = dgtd.compare(["gtd2", mine], own_problem(), "value", seeds=4, steps=100, alpha=0.05, beta=0.05, **here)
    assert set(result.summary["rule"]) == {"GTD2", "mine"}
    assert set(result.winners) == {"mine_own"}
    assert "<table" in result._repr_html_()


def test_another_problem_of_the_same_name_is_another_problem(here):
    found = [
        dgtd.run("td", own_problem("twice", gamma), 0.01, steps=50, seeds=2, **here).of("rmspbe")
        for gamma in (0.9, 0.5)
    ]
    assert not np.array_equal(*found)


def test_a_page_and_a_picture_are_written(tmp_path, here):
    result = dgtd.compare("gtd2,tdc", "two_state", "value", seeds=4, steps=100, alpha=0.05, beta=0.05, **here)
    assert "GTD2" in result.report(tmp_path / "page.html").read_text()
    assert result.plot(tmp_path / "curves.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dgtd.compare(["gtd3"], "baird"), "did you mean 'gtd2'"),
        (lambda: dgtd.compare([3], "baird"), "rule must be a name or a function"),
        (lambda: dgtd.compare(["gtd2"], [3]), "problem must be a name or a dgtd.Problem"),
        (lambda: dgtd.compare([mine], "baird", executor="pool"), "has no file: executor must be 'in-process'"),
        (lambda: dgtd.run("td", own_problem("baird"), 0.1), "is the name of an installed one"),
        (lambda: dgtd.explain("contraction/nothing", executor="in-process", store=":memory:"), "no claim"),
        (lambda: dgtd.curve("gtd2", "spiral", 0.1, 0.1), "nonlinear predictor"),
    ],
)
def test_a_mistake_is_an_error_that_names_the_argument(call, says, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=says):
        call()


def test_importing_is_light_and_nothing_else_is_on_the_path():
    code = (
        "import sys, dgtd; dir(dgtd); "
        "print([m for m in ('torch', 'numba', 'numpy', 'algorithms', 'harness', 'suites') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT.parent, check=True)
    assert done.stdout == "[]\n"


def test_our_own_modules_have_one_name():
    """A module that is imported by two names is two modules, with two of every class."""
    code = (
        "import sys, dgtd.harness.cli, dgtd.suites.cost, dgtd.suites.control, dgtd.comparing, dgtd.calls; "
        "print([name for name in sys.modules if name.split('.')[0] in ('algorithms', 'harness', 'suites')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"
