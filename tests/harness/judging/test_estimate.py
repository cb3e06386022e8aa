"""What a run would cost where nothing similar is stored: agents by their weights, batches and worlds."""

import pytest

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.estimate import USERS, estimate
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.spec import PredictorSpec, Request
from dgtd.harness.runs.store import Store


def hours(request):
    return estimate([request], Store(":memory:"))["core_hours"]


def request(name, world="cartpole-v1", steps=1000, seeds=2, **options):
    return Request(run_spec(world, agent_learner(name, world, cohort=seeds, **options), steps), seeds)


def test_a_law_costs_more_than_a_value_and_w_more_than_none():
    dqn, c51, greedy = (hours(request(name)) for name in ("dqn", "c51", "greedy_gq(0.5)"))
    assert dqn < c51 < greedy < 5 * dqn
    assert hours(request("dqn", steps=2000)) == pytest.approx(2 * dqn)


def test_an_update_in_every_step_and_a_world_that_is_not_compiled_cost_more():
    assert hours(request("c51", every=1)) > 2 * hours(request("c51"))
    assert hours(request("c51", "gym:CartPole-v1")) > hours(request("c51"))


def test_a_users_network_is_slow_and_what_was_measured_counts(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("import torch\n\ndef net(inputs, outputs):\n    return torch.nn.Linear(inputs, outputs)\n")
    assert hours(request("dqn", predictor=parse(f"{file}:net"))) == pytest.approx(2 * 1000 * USERS * 1e-6 / 3600)
    small = {"predictor": PredictorSpec("mlp", (4,), "relu")}
    with Store(tmp_path / "s.sqlite") as store:
        execute([request("dqn", steps=200, begin=64, **small)], store, InProcess)
        assert estimate([request("dqn", **small)], store)["basis"].startswith("1 runs by what similar ones took")
