"""Worlds, suites, rules and networks from a file of the user's, `file.py:name`, and gymnasium's from the folder."""

import json
import sys

import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.conformance import examine_suite
from dgtd.harness.judging.ledger import collect, needs_of, suite_and_claim
from dgtd.harness.places.world import WorldInfo, find_place, find_world, is_world
from dgtd.harness.plugins import digest_of
from tests.harness.test_cli import ROOT, dgtd

KINDS = {"world": "corridor", "suite": "peace", "problem": "house", "rule": "mine"}
NET = """import torch
def net(i, o):
    return torch.nn.Sequential(torch.nn.Linear(i, 3), torch.nn.Tanh(), torch.nn.Linear(3, o))
"""
ENV = """import gymnasium as gym
import numpy as np
from {name}_help import REWARD

class Env(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return np.zeros(2, dtype=np.float32), {{}}

    def step(self, action):
        self.age += 1
        return np.zeros(2, dtype=np.float32), REWARD * float(action), self.age >= 10, False, {{}}

gym.register("{name}-v0", entry_point=Env)
"""
ON = ("--steps", "60", "--seeds", "2", "--executor", "pool", "--workers", "1", "--store", "s.sqlite", "--json")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, name in KINDS.items():
        text = (ROOT / f"harness/templates/{kind}.py.txt").read_text(encoding="utf-8")
        (tmp_path / f"a_{kind}.py").write_text(text.format(name=name), encoding="utf-8")
    (tmp_path / "a_net.py").write_text(NET)
    return tmp_path


def put_environment(folder, name):
    (folder / f"{name}.py").write_text(ENV.format(name=name))
    (folder / f"{name}_help.py").write_text("REWARD = 1.0\n")


def test_a_function_that_makes_a_world_is_a_world_and_one_that_makes_a_problem_is_none(folder):
    assert isinstance(find_place("a_world.py:corridor"), WorldInfo)
    assert is_world("a_world.py:corridor")
    assert not is_world("a_problem.py:house(gamma=0.5)")
    with pytest.raises(ValueError, match="must be a WorldInfo, got Problem"):
        find_world("a_problem.py:house")


def test_a_world_is_another_one_when_its_file_or_one_that_it_imports_has_changed(folder):
    file, text = folder / "a_world.py", (folder / "a_world.py").read_text()
    (folder / "a_length.py").write_text("LENGTH = 5\n")
    file.write_text(text.replace("LENGTH, LIMIT = 5, 50", "from a_length import LENGTH\nLIMIT = 50"))
    first = find_world("a_world.py:corridor").identity
    assert find_world("a_world.py:corridor").identity == first
    (folder / "a_length.py").write_text("LENGTH = 6\n")
    second = find_world("a_world.py:corridor").identity
    file.write_text(file.read_text() + "# more\n")
    assert len({first, second, find_world("a_world.py:corridor").identity}) == 3


def test_an_environment_of_the_working_folder_is_found_and_its_imports_count(folder):
    put_environment(folder, "envs_here")
    before = list(sys.path)
    info = find_world("gym:envs_here:envs_here-v0")
    assert (info.observations, info.actions) == (2, 2)
    assert sys.path == before
    first = digest_of(folder / "envs_here.py", "envs_here")
    assert first in info.version
    (folder / "envs_here_help.py").write_text("REWARD = 2.0\n")
    assert digest_of(folder / "envs_here.py", "envs_here") != first


def test_imports_of_packages_are_followed_and_those_of_others_are_not(tmp_path):
    package = tmp_path / "pack"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("from . import deep\nfrom .. import beside\n")
    (package / "inner" / "deep.py").write_text("import json, numpy.linalg\n")
    (package / "beside.py").write_text("x = 1\n")
    (package / "start.py").write_text("def late():\n    from pack.inner import deep\n")
    (package / "stranger.py").write_text("y = 1\n")

    def now():
        return digest_of(package / "start.py", "pack.start")

    first = now()
    (package / "stranger.py").write_text("y = 2\n")
    assert now() == first
    seen = {first}
    for name in ("start.py", "__init__.py", "inner/__init__.py", "inner/deep.py", "beside.py"):
        (package / name).write_text((package / name).read_text() + "# changed\n")
        seen.add(now())
    assert len(seen) == 6


def test_a_suite_of_a_file_is_whole_and_its_claims_say_where_they_are(folder):
    assert examine_suite("a_suite.py:claims") == []
    first, control = collect("a_suite.py:claims", None, "ci")
    assert (first.id, first.suite, control.control) == ("peace/gtd2/zero", "a_suite.py:claims", True)
    (job,) = needs_of(first, Setting(), None)
    (folder / "a_suite.py").write_text((folder / "a_suite.py").read_text() + "# changed\n")
    (other,) = needs_of(first, Setting(), None)
    assert job.hash != other.hash
    with pytest.raises(ValueError, match="has changed since"):
        job.run()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rates/boyan/gtd2", ("rates", "rates/boyan/gtd2")),
        ("a_suite.py:claims", ("a_suite.py:claims", "")),
        ("some/where.py:claims/peace/zero", ("some/where.py:claims", "peace/zero")),
    ],
)
def test_a_claim_of_a_file_has_the_file_in_front(text, parts):
    assert suite_and_claim(text) == parts


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("world", "show", "a_world.py:corridor", "--json"),
        ("world", "list", "a_world.py:corridor", "--json"),
        ("run", "--problem", "a_world.py:corridor", "--rule", "a_rule.py:mine", *ON),
        ("run", "--problem", "a_problem.py:house", "--rule", "a_rule.py:mine", "--predictor", "a_net.py:net", "--alpha",
         "0.01", "--beta", "0.01", *ON),
        ("compare", "--problems", "a_world.py:corridor", "--rules", "dqn,a_rule.py:mine", "--targets", "value",
         "--alpha", "0.01", "--beta", "0.01", *ON),
        ("run", "--problem", "gym:envs_far:envs_far-v0", "--rule", "dqn", *ON),
        ("compare", "--problems", "gym:envs_far:envs_far-v0", "--rules", "dqn", "--alpha", "0.01", *ON),
        ("compare", "--problems", "a_problem.py:house", "--rules", "td,a_rule.py:mine", "--targets", "value",
         "--predictor", "a_net.py:net", "--alpha", "0.01", "--beta", "0.01", *ON),
        ("sweep", "--problem", "a_problem.py:house", "--rule", "a_rule.py:mine", "--predictor", "a_net.py:net",
         "--alphas", "0.01", "--ratios", "1", "--sweep-seeds", "2", *ON),
        ("curve", "a_rule.py:mine", "--problem", "a_problem.py:house", "--alpha", "0.01", "--beta", "0.01", "--json"),
        ("certify", "a_rule.py:mine", "--problem", "a_problem.py:house", "--alpha", "0.01", "--beta", "0.01", "--json"),
        ("suite", "a_suite.py:claims", "--rule", "a_rule.py:mine", *ON[4:]),
        ("suite", "check", "a_suite.py:claims", "--json"),
        ("explain", "a_suite.py:claims/peace/mine/zero", "--rule", "a_rule.py:mine", *ON[4:]),
        ("rule", "show", "a_rule.py:mine", "--json"),
        ("rule", "check", "a_rule.py:mine", "--json"),
        ("problem", "show", "a_problem.py:house", "--json"),
        ("problem", "check", "a_problem.py:house", "--json"),
    ],
    ids=lambda words: " ".join(words[:3]),
)  # fmt: skip
def test_every_command_takes_files(folder, words):
    put_environment(folder, "envs_far")
    done = dgtd(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("world", "show", "a_world.py:corridr"), "did you mean 'corridor'"),
        (("world", "show", "none.py:corridor"), "no file 'none.py'"),
        (("world", "show", "a_world.py"), "no problem 'a_world.py'"),
        (("suite", "a_suite.py:claim"), "no function in a_suite.py 'claim'; did you mean 'claims'"),
        (("suite", "none.py:claims"), "no file 'none.py' for suite"),
        (("suite", "a_suite.py"), "must name a function, as in 'a_suite.py:my_suite'"),
        (("explain", "a_suite.py:claims/peace/gtd/zero"), "did you mean 'peace/gtd2/zero'"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_mistake_is_one_line(folder, words, says):
    done = dgtd(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_ran_on_a_file_is_listed_and_exported_where_the_file_is_not(folder):
    words = ("--rule", "td", "--alpha", "0.01", "--beta", "0.01", *ON)
    assert dgtd("run", "--problem", "a_problem.py:house(gamma=0.5)", *words, cwd=folder).returncode == 0
    (folder / "a_problem.py").unlink()
    done = dgtd("runs", "--store", "s.sqlite", "--json", cwd=folder)
    assert [run["problem"] for run in json.loads(done.stdout)] == ["a_problem.py:house(gamma=0.5)"]
    assert dgtd("export", "--store", "s.sqlite", cwd=folder).stdout.count("\n") == 1 + 16  # a cohort
    gone = dgtd("run", "--problem", "a_problem.py:house(gamma=0.5)", *words, cwd=folder)
    assert (gone.returncode, gone.stderr.count("\n")) == (2, 1)
    assert "no file 'a_problem.py'" in gone.stderr
