"""A network of the user's own acts in a world by the same way as ours: command, pool, checkpoint, and what is said."""

import json

import pytest
import torch

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.runs.executors import executor_maker
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.spec import Request
from tests.harness.runs.agents import KilledError, cohort, keeper
from tests.harness.runs.lanes import run_all
from tests.harness.test_cli import dgtd

NETWORK = """
import torch

def small(inputs, outputs):
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, inputs)), torch.nn.Conv1d(1, 4, 2), torch.nn.Tanh(), torch.nn.Flatten(),
        torch.nn.Linear(4 * (inputs - 1), outputs))

class Fixed(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.register_buffer("features", torch.randn(inputs, 8))
        self.last = torch.nn.Linear(8, outputs)

    def forward(self, x):
        return self.last(torch.tanh(x @ self.features))

def raising(inputs, outputs):
    class Raising(torch.nn.Linear):
        def forward(self, x):
            raise AttributeError("no way")
    return Raising(inputs, outputs)

def a_tuple(inputs, outputs):
    class Tuple(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x), x
    return Tuple(inputs, outputs)

def nothing(inputs, outputs):
    class Nothing(torch.nn.Module):
        def forward(self, x):
            return torch.zeros(*x.shape[:-1], outputs, dtype=x.dtype)
    return Nothing()

def forgetful(inputs, outputs):
    return torch.nn.Sequential(torch.nn.Linear(inputs, outputs), torch.nn.Dropout(0.5))

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
    made = agent_learner(name, "cartpole-v0", alpha=1e-3, predictor=parse(f"{file}:small"), **SETTINGS)
    return run_spec("cartpole-v0", made, steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dqn", "c51", "greedy_gq(0.5)"])
def test_a_pool_and_a_checkpoint_give_the_same(name, file, tmp_path, monkeypatch):
    monkeypatch.setattr("dgtd.harness.runs.checkpoints.SHARE", float("inf"))
    what = spec(file, name)
    assert (
        run_all(tmp_path / "a", [Request(what, 2)])[1]
        == run_all(tmp_path / "b", [Request(what, 2)], executor_maker("pool", 1))[1]
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
def test_what_is_random_and_no_parameter_is_the_same_in_every_run(file, tmp_path):
    made = agent_learner("dqn", "cartpole-v0", alpha=1e-3, predictor=parse(f"{file}:Fixed"), **SETTINGS)
    what = run_spec("cartpole-v0", made, 300)
    torch.randn(3)  # wherever torch's global stream is
    first = run_all(tmp_path / "a", [Request(what, 2)])[1]
    torch.randn(5)
    assert run_all(tmp_path / "b", [Request(what, 2)])[1] == first


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
        ("raising", "dqn", "raised AttributeError: no way"),
        ("a_tuple", "dqn", "raised AttributeError"),
        ("nothing", "dqn", "has no parameters that could learn"),
        ("forgetful", "dqn", "has Dropout, which is no function of one input and the weights"),
    ],
)
def test_an_observation_that_does_not_fit_the_network_is_one_line(name, rule, said, file, tmp_path):
    words = ["run", "--problem", "cartpole-v0", "--rule", rule, "--predictor", f"{file}:{name}"]
    done = dgtd(*words, "--store", str(tmp_path / "s.sqlite"))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "s.sqlite").exists()
