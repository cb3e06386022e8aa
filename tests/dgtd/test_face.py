"""The public face: what Python offers is what the command line does, with objects in place of names."""

import doctest
import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

import dgtd
from dgtd import calls, comparing
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.runs.rule_files import reference, resolve
from dgtd.harness.runs.store import Store
from tests import forked
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
    done = forked.run(code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"


# ---------------------------------------------------------------------- what a notebook does

GIVEN = {"targets": "value", "seeds": 4, "steps": 100, "alpha": 0.05, "beta": 0.05}
SCALE = 0.5


def scaled(delta, u, rho):
    return dgtd.Cotangents(prediction=-rho * delta, target=SCALE * rho * u, tangent=rho * delta - u)


def test_a_constant_that_changed_makes_another_rule(here, monkeypatch):
    numbers = []
    for value in (0.5, 0.0, 0.5):
        monkeypatch.setitem(globals(), "SCALE", value)
        numbers.append(dgtd.run(scaled, "boyan", 0.1, steps=100, seeds=2, **here).of("rmspbe"))
    assert np.array_equal(numbers[0], numbers[2])
    assert not np.array_equal(numbers[0], numbers[1])


def test_two_functions_of_one_name_and_two_on_one_line_are_two_rules(here):
    C = dgtd.Cotangents
    A, B = (lambda d, u, r: C(-r * d, 0.0 * u, r * d - u)), (lambda d, u, r: C(-r * d, r * u, r * d - u))  # fmt: skip
    result = dgtd.compare([A, B], "boyan", **GIVEN, **here)
    assert result.summary["rule"].tolist() == ["<lambda> (1)", "<lambda> (2)"]
    first, second = (entry.lanes.of("rmspbe") for entry in result.comparison.entries)
    assert not np.array_equal(first, second)
    assert repr(result)


def test_two_problems_of_one_name_in_one_comparison_are_refused(here):
    with pytest.raises(ValueError, match="two problems are named 'p'"):
        dgtd.compare("td", [own_problem("p", 0.9), own_problem("p", 0.2)], **GIVEN, **here)


def test_an_installed_problem_may_be_given_as_an_object_and_names_given_twice_are_one(here):
    result = dgtd.compare(["td", "gtd2", "td"], [dgtd.problem("boyan"), "boyan"], **GIVEN, **here)
    assert result.summary["problem"].tolist() == ["boyan", "boyan"]
    assert repr(result)


@pytest.mark.parametrize("name", ["cartpole-v1", "random-walk", "gym:Mine-v0", "two words", "f.py:x"])
def test_a_name_that_means_something_else_is_refused(name):
    with pytest.raises(ValueError, match=r"is the name of an installed one|name must be"):
        dgtd.run("td", own_problem(name), 0.1)


def test_numbers_of_numpy_are_numbers(here):
    assert dgtd.run("td", "boyan", 0.05, steps=50, seeds=np.int64(2), **here).of("rmspbe").shape[1] == 2
    sizes = {"alphas": np.array([0.1, 0.05]), "ratios": 1.0, "steps": 50, "seeds": 4, "targets": "value"}
    assert len(dgtd.compare("td", "boyan", **sizes, **here).comparison.entries[0].choice.sweep) == 2


def test_brackets_in_a_list_of_names_are_read_as_the_command_line_reads_them(here):
    names = "random_mdp(states=5, seed=1),boyan"
    result = dgtd.compare("greedy_gq(eta=0.5),td", names, **GIVEN, **here)
    assert len(result.summary) == 4


def test_the_command_of_a_result_makes_it_again(here):
    result = dgtd.compare(["gtd2", "td"], "boyan", **GIVEN, seed=3, **here)
    assert "seed=3" in result.command
    again = eval(result.command.replace(")", ", **here)"), {"dgtd": dgtd, "here": here})
    assert again.summary.equals(result.summary)


def test_a_comparison_runs_until_it_is_decided(here):
    result = dgtd.compare(["gtd2", "td"], "boyan", **GIVEN | {"seeds": 8}, matters=0.1, until_decided=True,
                          at_most="64 seeds", **here)  # fmt: skip
    assert result.comparison.experiment.seeds in (8, 16, 32, 64)
    assert not any(duel.open for duel in result.comparison.duels)
    with pytest.raises(ValueError, match="at_most goes with until_decided"):
        dgtd.compare(["gtd2", "td"], "boyan", at_most="64 seeds", **here)
    with pytest.raises(ValueError, match="until_decided needs a question to decide"):
        dgtd.compare("gtd2", "boyan", "value", until_decided=True, **here)


def test_a_world_has_the_command_lines_steps(here):
    result = dgtd.compare("dqn", "cartpole-v0", alphas=[1e-3], steps=60, seeds=2, **here)
    (pair,) = result.comparison.experiment.pairs()
    assert result.comparison.experiment.points(*pair) == [(1e-3, 0.01)]
    with pytest.raises(ValueError, match="ratios are those of step sizes on finite problems"):
        dgtd.compare("dqn", "cartpole-v0", alphas=[1e-3], ratios=[1.0], steps=60, seeds=2, **here)


TWO = """
from dgtd import Cotangents, rule

@rule
def broken(delta, u, rho):
    return Cotangents(-rho * delta, rho * u)

@rule
def branching(delta, u, rho):
    if delta > 0:
        return Cotangents(-rho * delta, rho * u, rho * delta - u)
    return Cotangents(-rho * delta, rho * u, rho * delta - u)

@rule
def fine(delta, u, rho):
    return Cotangents(-rho * delta, rho * u, rho * delta - u)
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(TWO)
    return tmp_path


def test_a_file_with_a_wrong_rule_still_gives_its_others(two, here):
    assert len(dgtd.run("two.py:fine", "two_state", 0.1, steps=20, seeds=2, **here).times)
    for name, says in (("broken", "missing 1 required positional argument"), ("branching", "branches on 'delta'")):
        with pytest.raises(ValueError, match=says):
            dgtd.run(f"two.py:{name}", "two_state", 0.1, **here)
    with pytest.raises(ValueError, match=r"no function in two\.py 'fin'; did you mean 'fine'"):
        dgtd.run("two.py:fin", "two_state", 0.1, **here)


def test_what_repeats_a_judgement_names_the_rule(two):
    from dgtd.algorithms import rules

    loaded = resolve(reference("two.py:fine"))
    for given, name in (
        ("td", "td"), (rules.tdc, "tdc"), ("greedy_gq(0.5)", "greedy_gq(eta=0.5)"), ("two.py:fine", "two.py:fine"),
        (loaded, "two.py:fine"),
    ):  # fmt: skip
        (first, *_) = dgtd.suite("contraction", given, claim="contraction/kl", executor="in-process", store=":memory:")
        assert shlex.split(first.command)[-2:] == ["--rule", name]
    (first, *_) = dgtd.suite("contraction", mine, claim="contraction/kl", executor="in-process", store=":memory:")
    assert first.command == "none: rule 'mine' is a function of this process; as 'file.py:name' it has a command"
    told = dgtd.explain("contraction/kl", mine, executor="in-process", store=":memory:")
    assert told["command"] == first.command


def test_a_rule_of_a_file_is_the_same_run_as_a_name_and_as_an_object(two, here):
    objects = [
        dgtd.run(each, "two_state", 0.1, steps=20, seeds=2, **here)
        for each in ("two.py:fine", resolve(reference("two.py:fine")))
    ]
    assert np.array_equal(*(each.curves for each in objects))
    with Store(here["store"]) as store:
        assert len(store.runs()) == 1


NET = """
from torch import nn
def drop(i, o): return nn.Sequential(nn.Linear(i, 4), nn.Dropout(), nn.Linear(4, o))
def norm(i, o): return nn.Sequential(nn.Linear(i, 4), nn.BatchNorm1d(4), nn.Linear(4, o))
class flat(nn.Linear):
    def forward(self, x): return super().forward(x).squeeze()
"""


@pytest.mark.parametrize(("rule", "problem"), [("gtd2", "two_state"), ("dqn", "cartpole-v0")])
@pytest.mark.parametrize(
    ("name", "says"),
    [("drop", "nothing for Dropout"), ("norm", "write LayerNorm for BatchNorm"), ("flat", "must give . outputs")],
)
def test_networks_that_do_not_fit_are_refused_before_any_step(two, here, rule, problem, name, says):
    (two / "net.py").write_text(NET)
    with pytest.raises(ValueError, match=says):
        dgtd.run(rule, problem, 0.1, predictor=f"net.py:{name}", steps=20, seeds=2, **here)
    assert not here["store"].exists()


@pytest.mark.slow
def test_a_script_without_a_guard_says_what_to_write(tmp_path):
    script = "import dgtd\ndgtd.run('td', 'boyan', 0.05, steps=50, seeds=4, executor='pool', workers=1)\n"
    (tmp_path / "x.py").write_text(script)
    done = subprocess.run([sys.executable, "x.py"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert "if __name__ == '__main__'" in done.stderr
    (tmp_path / "y.py").write_text(
        script.replace("dgtd.run", "if __name__ == '__main__':\n    print(dgtd.run")[:-1] + ".times[-1])\n"
    )
    done = subprocess.run([sys.executable, "y.py"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.stdout == "50\n"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dgtd.compare("td", "boyan", step=50), "did you mean 'store'|no argument 'step'"),
        (lambda: dgtd.run("td", "boyan", 0.1, executor="foo"), "foo"),
        (lambda: dgtd.suite("contraction", claim="typo", executor="in-process", store=":memory:"), "no claim 'typo'"),
        (lambda: dgtd.sweep("dqn", "cartpole-v0"), "a sweep is on finite problems"),
    ],
)
def test_a_slip_leaves_nothing_behind(call, says, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=says):
        call()
    assert not list(tmp_path.iterdir())
