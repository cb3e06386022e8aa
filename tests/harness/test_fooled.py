"""What a rule file may not do: end a command in silence, promise what nobody knows, answer differently each time."""

import json
import sys
from dataclasses import replace

import pytest

from dgtd.algorithms.rule import Cotangents, Rule, RuleError, rule
from dgtd.harness.plugins import answering
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess, executor_maker
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from tests.harness.runs.lanes import spec
from tests.harness.runs.test_predictors import spec_of
from tests.harness.test_cli import dgtd

HEAD = "import os, random, sys\nfrom dgtd.algorithms.rule import Cotangents, rule\n"
GTD2 = "    return Cotangents(-rho * u, rho * u, rho * delta - u)\n"
RUN = ("--problem", "two_state", "--alpha", ".1", "--beta", ".1", "--steps", "50", "--seeds", "2")
COMMANDS = {
    "check": ("rule", "check", "mine.py:mine"),
    "run": ("run", "--rule", "mine.py:mine", *RUN),
    "suite": ("suite", "gradients", "--rule", "mine.py:mine", "--claim", "gradients/random_walk/value/linear"),
    "compare": ("compare", "--rules", "gtd2,mine.py:mine", "--problems", "two_state", "--steps", "50"),
}
ENDS = {
    "at import": "sys.exit(0)\ndef mine(delta, u, rho):\n" + GTD2,
    "when called": "def mine(delta, u, rho):\n    sys.exit(0)\n",
    "on arrays": "@rule\ndef mine(delta, u, rho):\n    if not isinstance(u, float):\n        sys.exit(0)\n" + GTD2,
    "another": "class Odd(BaseException):\n    pass\n@rule\ndef mine(delta, u, rho):\n    raise Odd('bye')\n",
    "a keyboard": "@rule\ndef mine(delta, u, rho):\n    raise KeyboardInterrupt\n",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("where", ENDS)
def test_a_rule_can_end_a_command_only_with_an_error_that_names_it(tmp_path, where, command):
    (tmp_path / "mine.py").write_text(HEAD + ENDS[where])
    done = dgtd(*COMMANDS[command], cwd=tmp_path)
    if where == "on arrays" and command in ("run", "compare"):  # numba refuses it, or nobody calls it on arrays
        assert done.returncode in (0, 1, 2)
    else:
        assert done.returncode in (1, 2, 5)
        assert "mine" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_rule_that_exits_in_a_worker_only_fails_by_name(tmp_path):
    (tmp_path / "mine.py").write_text(
        HEAD + "if 'multiprocessing.spawn' in sys.modules and sys.modules['__main__'].__name__ != '__main__' or "
        "os.environ.get('DGTD_PARENT') != str(os.getpid()) and 'DGTD_PARENT' in os.environ:\n    sys.exit(0)\n"
        "os.environ['DGTD_PARENT'] = str(os.getpid())\ndef mine(delta, u, rho):\n" + GTD2
    )
    done = dgtd(*COMMANDS["run"], "--executor", "pool", "--workers", "1", cwd=tmp_path)
    assert done.returncode != 0
    assert "raised SystemExit" in done.stdout + done.stderr
    done = dgtd(*COMMANDS["suite"], "--executor", "pool", "--workers", "1", "--json", cwd=tmp_path)
    assert done.returncode == 5
    assert any("raised SystemExit" in entry["error"] for entry in json.loads(done.stdout)["claims"])


def test_a_misspelt_promise_is_an_error_with_a_suggestion():
    with pytest.raises(ValueError, match="no promise of rule 'mine' 'descend'; did you mean 'descends'"):

        @rule(promises={"descend"})
        def mine(delta, u, rho):
            return Cotangents(-rho * delta, rho * u, rho * delta - u)

    with pytest.raises(ValueError, match="promises must be a set"):
        Rule("mine", lambda d, u, r: Cotangents(-r * u, r * u, r * d - u), promises="stable")


def test_an_unknown_keyword_of_a_plug_in_is_an_error_with_a_suggestion():
    from dgtd.harness.judging.claims import Claim
    from dgtd.harness.oracle.problem import Problem

    says = "suite 'theirs': no keyword of Claim 'chek'; did you mean 'check'"
    with pytest.raises(ValueError, match=says), answering("suite 'theirs'"):
        Claim(id="a/b", says="", source="", chek=None)
    says = "problem 'theirs': no keyword of Problem 'suport'; did you mean 'support'"
    with pytest.raises(ValueError, match=says), answering("problem 'theirs'"):
        Problem(suport=(0, 1))
    with pytest.raises(ValueError, match="problem 'theirs' raised SystemExit: 0"), answering("problem 'theirs'"):
        sys.exit(0)


def _unsteady(kind):
    calls = [0]

    def counts(delta, u, rho):
        calls[0] += 1
        return Cotangents(-rho * u, rho * u * calls[0], rho * delta - u)

    def jitters(delta, u, rho):
        import random

        return Cotangents(-rho * u, rho * u * (1 + 1e-13 * random.random()), rho * delta - u)

    def mutates(delta, u, rho):
        u *= 2
        return Cotangents(-rho * u, rho * u, rho * delta - u)

    return locals()[kind]


@pytest.mark.parametrize("kind", ["counts", "jitters", "mutates"])
def test_a_rule_that_is_not_a_function_of_its_arguments_is_refused(kind):
    with pytest.raises(RuleError, match=r"is not a function of|changes its arguments in place"):
        Rule("mine", _unsteady(kind))


@pytest.mark.slow
def test_a_rule_that_changes_later_is_found_before_anything_is_stored(tmp_path):
    """It answers like GTD2 while it is probed, and differently from some call on: one cohort, run twice, differs."""
    path = tmp_path / "late.py"
    path.write_text(
        HEAD + "calls = [0]\n@rule\ndef late(delta, u, rho):\n    calls[0] += 1\n"
        "    k = 1.0 + 1e-9 * (calls[0] > 250)\n    return Cotangents(-rho * u, k * rho * u, rho * delta - u)\n"
    )
    network = spec_of("mlp(4,torch)", steps=300)
    late = replace(network, learner=replace(network.learner, rule=reference(f"{path}:late")))
    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(RuleError, match=r"one cohort, run twice on .*, gave two results"):
            execute([Request(late, 4)], store, InProcess)
        assert store.runs() == []


@pytest.mark.slow
def test_a_nonlinear_rule_with_random_numbers_inside_is_never_stored(tmp_path):
    path = tmp_path / "dice.py"
    path.write_text(
        "import numpy as np\nfrom dgtd.algorithms.rule import Cotangents, rule\n@rule(linear=False)\n"
        "def dice(delta, u, rho):\n"
        "    return Cotangents(-rho * u, rho * u * (1 + 0.1 * np.random.random()), rho * delta - u)\n"
    )
    with pytest.raises(ValueError, match="draws random numbers: a rule must be a function of its arguments"):
        reference(f"{path}:dice")


def test_a_rule_of_ours_is_not_run_twice(tmp_path, monkeypatch):
    seen = []
    from dgtd.harness.runs import driver

    original = driver.carry_out
    monkeypatch.setattr(driver, "carry_out", lambda task: seen.append(task.work.twice) or original(task))
    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(steps=20), 40)], store, executor_maker("in-process"))
    assert seen == [False, False, False]
