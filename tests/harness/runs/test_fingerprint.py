"""A stored number is never stale: the hash of a run sees everything that decides its numbers, and nothing else."""

import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from dgtd.algorithms.digest import digest
from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.rule import Cotangents, Rule, rule
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs import fingerprint
from dgtd.harness.runs.driver import RefusedError, execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import parts_of, run_hash
from dgtd.harness.runs.rule_files import _resolve, load, reference, resolve
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.work import Cohort, Job, Task, carry_out
from tests.harness.runs.lanes import ROOT, spec
from tests.harness.test_cli import dgtd

BODY = """
from dgtd.algorithms.rule import Cotangents, rule

K = {k}

@rule(linear={linear})
def mine(delta, u, rho):
    return Cotangents(-rho * delta / (1 + K * abs(delta)), rho * u, rho * delta - u)
"""


def rule_file(folder, name, **values):
    path = folder / f"{name}.py"
    path.write_text(BODY.format(**values))
    return f"{path}:mine"


def test_two_files_with_equal_functions_and_other_constants_are_two_rules(tmp_path):
    """(a): the function's text is the same, and a module constant is 1 or 100."""
    refs = [reference(rule_file(tmp_path, f"k{k}", k=k, linear=False)) for k in (1, 100)]
    hashes = {run_hash(spec(rule=ref)) for ref in refs}
    assert len(hashes) == 2
    slopes = [rule_as_data(resolve(ref), np.ones(1))[1](1.0, 0.0, 1.0)[0] for ref in refs]
    assert slopes == [-1 / 2, -1 / 101]
    curves = [carry_out(Task.of(Cohort(spec(rule=ref), 0))).lanes[0].curves for ref in refs]
    assert not np.array_equal(curves[0], curves[1])


def command(store, *words):
    whole = ["run", "--problem", "boyan", "--alpha", "0.1", "--beta", "0.1", "--seeds", "2"]
    whole += ["--steps", "50", "--executor", "in-process", "--json", "--store", str(store), *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = dgtd(*whole, env=environment, cwd=store.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("linear", [True, False])
def test_a_helper_that_changes_makes_another_run(tmp_path, linear):
    """(b): the rule file imports a module beside it; same size, same second, other number."""
    scale = "gains.gain()" if linear else "GAIN / (1 + abs(delta))"  # numba calls no plain function
    (tmp_path / "mine.py").write_text(
        "from dgtd.algorithms.rule import Cotangents, rule\nfrom gains import GAIN\nimport gains\n"
        f"@rule(linear={linear})\ndef mine(delta, u, rho):\n"
        f"    return Cotangents(-rho * delta * {scale}, rho * u, rho * delta - u)\n"
    )
    found = []
    for gain in ("1.0", "2.0", "1.0"):
        (tmp_path / "gains.py").write_text(f"GAIN = {gain}\ndef gain():\n    return GAIN\n")
        found.append(command(tmp_path / "s.sqlite", "--rule", f"{tmp_path / 'mine.py'}:mine"))
    assert found[0]["run"] == found[2]["run"] != found[1]["run"]
    assert found[0]["final"] == found[2]["final"] != found[1]["final"]


def test_a_helper_travels_with_the_reference(tmp_path):
    """A worker elsewhere has neither file, and runs what it was sent."""
    (tmp_path / "gains.py").write_text("GAIN = 3.0\n")
    text = rule_file(tmp_path, "mine", k="GAIN", linear=True)
    path = tmp_path / "mine.py"
    path.write_text("from gains import GAIN\n" + path.read_text().replace("abs(delta)", "0 * delta"))
    ref = reference(text)
    (tmp_path / "gains.py").unlink()
    path.unlink()
    _resolve.cache_clear()
    load.cache_clear()
    assert resolve(ref)(1.0, 0.0, 1.0).prediction == -1.0
    assert [module for module, _, _ in ref.files] == ["mine", "gains"]
    assert "gains" not in sys.modules


def test_a_problem_is_its_arrays(monkeypatch):
    """(c): a plug-in changes a reward from 1 to 50, under the same name."""
    before = find_problem("random_walk")
    listed = before.mdp.transitions
    after = replace(before, mdp=before.mdp.with_(transitions=replace(listed, reward=50 * listed.reward)))
    assert before.identity == find_problem("random_walk").identity
    assert before.identity != after.identity
    first = run_hash(spec(problem="random_walk"))
    run_hash.cache_clear()
    monkeypatch.setattr(fingerprint, "find_place", lambda name: after)
    assert run_hash(spec(problem="random_walk")) != first
    run_hash.cache_clear()


@pytest.mark.parametrize(
    "change", ["nothing", "features", "gamma", "behaviour", "target", "theta_initial", "start", "weights", "support"]
)
def test_a_problem_is_each_of_its_arrays(change):
    problem = find_problem("random_walk")
    mdp = problem.mdp
    changes = {
        "features": {"features": 2 * mdp.features},
        "gamma": {"gamma": 0.9},
        "behaviour": {"behaviour": np.tile([0.3, 0.7], (5, 1))},
        "target": {"target": np.tile([0.3, 0.7], (5, 1))},
        "theta_initial": {"theta_initial": mdp.theta_initial + 1},
        "start": {"start": np.eye(5)[1]},
        "weights": {"weights": mdp.d},
    }
    support = (0.0, 1.0) if change == "support" else problem.support
    other = Problem(mdp.with_(**changes.get(change, {})), "", "", support)
    assert (other.identity == problem.identity) is (change == "nothing")


def test_equal_specifications_hash_equal():
    """(d): 1 and 1.0, parameters in another order, defaults written out, atoms of a value."""
    assert run_hash(spec(alpha=1, beta=2)) == run_hash(spec(alpha=1.0, beta=2.0))
    texts = ["random_mdp(states=6, gamma=0.5)", "random_mdp(gamma=0.50, states=6.0)", "random-mdp( states=6,gamma=.5 )"]
    texts.append("random_mdp(states=6, gamma=0.5, actions=2)")
    assert len({run_hash(spec(problem=text)) for text in texts}) == 1
    assert run_hash(spec(atoms=21)) == run_hash(spec(atoms=51))
    assert run_hash(spec(problem="random_mdp(states=6)")) != run_hash(spec(problem="random_mdp(states=7)"))


def test_a_worker_with_other_code_is_refused_by_name_and_stores_nothing(tmp_path, monkeypatch):
    """(e): the worker computes the fingerprint itself."""
    task = Task.of(Cohort(spec(), 0))
    run_hash.cache_clear()
    monkeypatch.setattr(fingerprint, "of_code", lambda modules: "other code")
    result = carry_out(task)
    assert result.refused
    assert not result.lanes
    assert f"worker {os.getpid()} on " in result.error
    assert "has another code than this process" in result.error
    monkeypatch.undo()
    run_hash.cache_clear()

    class Elsewhere(InProcess):
        def submit(self, fn, /, task):
            return super().submit(fn, replace(task, hash="0" * 16, parts=task.parts | {"rule": "x", "code": "y"}))

    with Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(RefusedError, match="has another rule and code than this process: install the same version"):
            execute([Request(spec(), 4)], store, Elsewhere)
        assert store.runs() == []


def closed_over(value) -> Rule:
    @rule(linear=False)
    def mine(delta, u, rho):
        return Cotangents(-rho * delta * (value(1.0) if callable(value) else value[-1]), rho * u, rho * delta - u)

    return mine


def test_closures_are_hashed_by_what_they_hold():
    """(f): functions by their source, large arrays by every entry; an object of some class is refused."""

    def one(x):
        return x

    def two(x):
        return 2 * x

    again = {"one": one}["one"]
    assert closed_over(one).source_hash == closed_over(again).source_hash != closed_over(two).source_hash
    long = np.arange(100_000.0)
    other = long.copy()
    other[50_000] = -1.0  # numpy prints neither
    assert closed_over(long).source_hash == closed_over(long.copy()).source_hash != closed_over(other).source_hash
    with pytest.raises(ValueError, match="can't be fingerprinted: use numbers, text, arrays and functions"):
        closed_over(HasLast()).source_hash  # noqa: B018


class HasLast:
    def __getitem__(self, index):
        return 1.0


def test_machine_facts_are_the_workers(tmp_path, monkeypatch):
    """(g)"""

    class Elsewhere(InProcess):
        def submit(self, fn, /, task):
            monkeypatch.setattr("dgtd.harness.runs.work.machine_facts", lambda: '{"machine": "another"}')
            return super().submit(fn, task)

    with Store(tmp_path / "s.sqlite") as store:
        execute([Request(spec(), 4)], store, Elsewhere)
        assert store.query("SELECT DISTINCT facts FROM machines") == [('{"machine": "another"}',)]


def test_a_rule_that_does_the_same_is_the_same_run(tmp_path):
    """A linear rule is its coefficients at the problem's ratios, whatever it is called and however it is written."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from dgtd.algorithms.rule import Cotangents\n"
        "def other_name(d, u, r):\n    return Cotangents(prediction=-(r * u), target=u * r, tangent=d * r - u)\n"
        "def clipped(d, u, r):\n    r = min(r, 5.0)\n    return Cotangents(-r * u, r * u, r * d - u)\n"
    )
    same, clipped = (reference(f"{path}:{name}") for name in ("other_name", "clipped"))
    assert run_hash(spec(rule=same)) == run_hash(spec())
    assert run_hash(spec(rule=clipped)) != run_hash(spec())  # on Baird's star ρ is 7
    assert run_hash(spec(rule=clipped, problem="boyan")) == run_hash(spec(problem="boyan"))


def test_the_parts_tell_what_differs():
    first, second = parts_of(spec()), parts_of(spec(rule="tdc"))
    assert [name for name in first if first[name] != second[name]] == ["rule"]


def test_a_digest_tells_values_apart_and_equal_ones_together():
    assert digest(1) == digest(1.0) == digest(np.int64(1)) != digest(True)
    assert digest([1, 2]) == digest((1, 2)) != digest([2, 1])
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 2, "b": 1})
    assert digest(2**63 + 1) != digest(2**63 + 2)
    assert digest([[1], [2]]) != digest([[1, 2], []])
    assert digest("1") != digest(1)
    assert digest(float("nan")) == digest(float("nan")) != digest(float("inf"))


def test_a_digest_tells_floats_apart_that_differ_in_the_last_bit():
    for value in (0.1, 1 / 3, 1e300, -2.5e-7):
        after = float(np.nextafter(value, np.inf))
        assert digest(value) != digest(after)
        assert digest([value]) != digest([after])
        assert digest(np.array([value])) != digest(np.array([after]))
        assert digest(value) == digest(np.float64(value)) == digest(float(repr(value)))
    assert digest(spec(alpha=0.1).to_json()) != digest(spec(alpha=float(np.nextafter(0.1, 1))).to_json())
    assert run_hash(spec(alpha=0.1)) != run_hash(spec(alpha=float(np.nextafter(0.1, 1))))


def answered(rule):
    """A job that asks a rule."""
    return rule(1.0, 0.0, 1.0).prediction


def test_a_job_sees_its_rule_and_every_file_that_came_with_it(tmp_path):
    """A file that the rule imports and does not use is part of it too: nobody knows what importing it does."""
    path, found = tmp_path / "mine.py", []
    for gain, remark in ((1, "one"), (2, "one"), (1, "two"), (1, "one")):
        (tmp_path / "aside.py").write_text(f"REMARK = {remark!r}\n")
        path.write_text("import aside\n" + BODY.format(k=gain, linear=False))
        found.append(Job.of(answered, reference(f"{path}:mine")))
    hashes = [job.hash for job in found]
    assert len(set(hashes)) == 3
    assert hashes[0] == hashes[3]
    assert [name for name in found[0].parts if found[0].parts[name] != found[1].parts[name]] == ["rule"]
    assert Job.of(answered, reference("td")).hash != Job.of(answered, reference("tdc")).hash
    assert Job.of(answered, reference("td")).hash != Job.of(answered).hash


def test_a_job_sees_the_arrays_of_the_problem_it_names(monkeypatch):
    job = Job.of(find_problem, problem="random_walk")
    first, before = job.hash, find_problem("random_walk")
    listed = before.mdp.transitions
    after = replace(before, mdp=before.mdp.with_(transitions=replace(listed, reward=50 * listed.reward)))
    monkeypatch.setattr("dgtd.harness.runs.work.find_problem", lambda name: after)
    assert job.hash != first


def test_rules_that_differ_in_a_declaration_alone_are_two_runs():
    assert run_hash(spec(rule="tdrc(0.5)")) != run_hash(spec(rule="tdrc(1)"))


def test_a_job_sees_the_code(monkeypatch):
    job = Job.of(find_problem, problem="random_walk")
    first = job.hash
    monkeypatch.setattr("dgtd.harness.runs.work.of_code", lambda modules: "other code")
    assert job.hash != first


WEIGHED = """
from dgtd.algorithms.rule import Cotangents, rule

@rule
def mine(delta, u, rho):
    return Cotangents(prediction=-rho * delta, target=0 * u, tangent=delta - u)
"""


def test_a_rule_that_policy_iteration_weighs_by_other_ratios_than_1_is_another_rule(tmp_path):
    """At ρ = 1 both have the same coefficients; with more exploration than the policy's they learn differently."""
    from dgtd.harness.experiment.search import iterating_learner, run_spec

    hashes = {}
    for behave in (0.0, 0.5):
        for name, text in (("with", WEIGHED), ("without", WEIGHED.replace("-rho *", "-"))):
            (tmp_path / f"{name}.py").write_text(text)
            made = iterating_learner(f"{tmp_path / name}.py:mine", "cartpole-v0", behave=behave)
            hashes[behave, name] = run_hash(run_spec("cartpole-v0", made, 100))
    assert hashes[0.0, "with"] == hashes[0.0, "without"]
    assert hashes[0.5, "with"] != hashes[0.5, "without"]
