"""A network of the user's own acts in a world by the same way as ours: command, pool, checkpoint, and what is said."""

import json

import pytest

from harness.compare.agents import learner, run_spec
from harness.runs.executors import make_executor
from harness.runs.predictors import parse
from harness.runs.spec import Request
from tests.harness.runs.agents import KilledError, cohort, keeper
from tests.harness.runs.lanes import run_all
from tests.harness.test_cli import dgtd

NETWORK = """
import torch

def small(inputs, outputs):
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, inputs)), torch.nn.Conv1d(1, 4, 2), torch.nn.Tanh(), torch.nn.Flatten(),
        torch.nn.Linear(4 * (inputs - 1), outputs))

def stubborn(inputs, outputs):
    return torch.nn.Linear(7, outputs)

def short():
    return torch.nn.Linear(4, 3)
"""
SETTINGS = {"begin": 64, "batch": 16, "capacity": 300, "explore_steps": 300, "atoms": 11, "cohort": 2}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NETWORK)
    return path


def spec(file, name, steps=700):
    made = learner(name, "cartpole-v0", alpha=1e-3, predictor=parse(f"{file}:small"), **SETTINGS)
    return run_spec("cartpole-v0", made, steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dqn", "c51", "greedy_gq(0.5)"])
def test_a_pool_and_a_checkpoint_give_the_same(name, file, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.runs.checkpoints.SHARE", float("inf"))
    what = spec(file, name)
    assert (
        run_all(tmp_path / "a", [Request(what, 2)])[1]
        == run_all(tmp_path / "b", [Request(what, 2)], lambda: make_executor("pool", 1))[1]
    )
    whole, looks = cohort(what)
    folder = tmp_path / "c"
    folder.mkdir()
    with pytest.raises(KilledError):
        cohort(what, keeper(folder, []), 0.6 * looks)
    said = []
    again, more = cohort(what, keeper(folder, said))
    assert again == whole
    assert more < 0.5 * looks
    assert "go on from step" in said[0]


@pytest.mark.slow
def test_the_command(file, tmp_path):
    words = ["run", "--problem", "cartpole-v0", "--rule", "c51", "--steps", "1100", "--seeds", "2", "--json"]
    done = dgtd(*words, "--predictor", f"{file}:small", "--store", str(tmp_path / "s.sqlite"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["outcomes"] == {"budget spent": 2}
    assert (found["name"], found["predictor"].rpartition(":")[2]) == ("C51", "small")


@pytest.mark.parametrize(
    ("name", "rule", "said"),
    [
        ("stubborn", "dqn", "can't take 4 inputs"),
        ("short", "dqn", "must give 2 outputs"),
        ("short", "c51", "must give 80 outputs"),
    ],
)
def test_an_observation_that_does_not_fit_the_network_is_one_line(name, rule, said, file, tmp_path):
    words = ["run", "--problem", "cartpole-v0", "--rule", rule, "--predictor", f"{file}:{name}"]
    done = dgtd(*words, "--store", str(tmp_path / "s.sqlite"))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "s.sqlite").exists()
