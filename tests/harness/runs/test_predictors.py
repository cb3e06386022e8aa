"""Every predictor takes the path of the linear one: run, store, metrics, lanes that do not disturb each other."""

import numpy as np
import pytest

from dgtd.harness.oracle.objectives import flat
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.predictors import parse, shown
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Learner, Outcome, PlaceSpec, PredictorSpec, Probe, Request, RunSpec, log_times
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import train, trainer_of
from dgtd.harness.runs.work import Cohort, Task, carry_out
from tests.harness.test_cli import dgtd

NETWORK = """
import torch

class Small(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = torch.nn.Linear(inputs, {units})
        self.last = torch.nn.Linear({units}, outputs)

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)))

def small(inputs, outputs):
    return Small(inputs, outputs)

def three(inputs, outputs):
    return torch.nn.Linear(inputs, 3)

def number(inputs, outputs):
    return 3
"""


def spec_of(predictor, target="cdf", problem="random_walk", metrics=(), steps=60, **rest):
    spec = parse(predictor) if isinstance(predictor, str) else predictor
    learner = Learner(reference("gtd2"), 0.05, 0.1, target, 5, predictor=spec, **rest)
    return RunSpec(PlaceSpec(problem), learner, Probe(log_times(steps, 5), metrics))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("linear", PredictorSpec()),
        ("table", PredictorSpec("table", pinned=True, inputs="most-states")),
        ("mlp(50)", PredictorSpec("mlp", (50,))),
        (" mlp( 64,64 , relu ) ", PredictorSpec("mlp", (64, 64), "relu")),
        ("mlp(8,float32)", PredictorSpec("mlp", (8,), single=True)),
        ("mlp(8,pinned,inputs=features)", PredictorSpec("mlp", (8,), pinned=True, inputs="features")),
        ("own", PredictorSpec("own")),
    ],
)
def test_a_text_is_a_predictor_and_back(text, expected):
    assert parse(text) == expected
    assert parse(shown(expected)) == expected


@pytest.fixture
def network(tmp_path):
    path = tmp_path / "nets.py"
    path.write_text(NETWORK.format(units=4))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("target", ["value", "cdf"])
@pytest.mark.parametrize("kind", ["linear", "table", "mlp(4)", "mlp(4,3,relu)", "file"])
def test_a_lane_alone_is_the_lane_among_sixteen(kind, target, network):
    """To 1e-12, with every metric: torch's products may be rounded otherwise in another batch."""
    predictor = parse(f"{network}:small" if kind == "file" else kind)
    names = ("rmspbe", "rmsve", "size", "J", "gradient", "w_gap", *(("rdmspbe", "cramer") if target == "cdf" else ()))
    learning = trainer_of(spec_of(predictor, target, metrics=names))
    many, one = train(learning, range(16)), train(learning, range(5, 6))
    assert np.isfinite(many.curves).all()
    np.testing.assert_allclose(many.curves[:, 5:6], one.curves, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(many.law[5:6], one.law, rtol=1e-12, atol=1e-12)
    assert not np.allclose(many.curves[-1, 5], many.curves[-1, 6])


def test_batched_metrics_are_those_of_one_point():
    learning = trainer_of(spec_of("mlp(4,pinned)", metrics=("J", "gradient", "w_gap")))
    state = learning.start(range(3))
    learning.engine.run(state, 20, 0.05, 0.1)
    found = learning.measure(state)
    objective = learning._objective
    for lane in range(3):
        theta, w = flat(state.theta, lane), flat(state.w, lane)
        expected = [
            objective.value(theta),
            np.linalg.norm(objective.gradient(theta)),
            objective.distance_to_optimal_w(theta, w),
        ]
        np.testing.assert_allclose(found[lane], expected, rtol=1e-9)
    state.theta[1] = np.nan
    assert np.isnan(learning.measure(state)).any(1).tolist() == [False, True, False]


def test_metrics_of_a_linear_network_are_the_linear_ones():
    """J of a linear predictor is the square of its own objective."""
    learning = trainer_of(spec_of("linear", metrics=("rdmspbe", "J")))
    trial = train(learning, range(4))
    np.testing.assert_allclose(trial.of("rdmspbe") ** 2, trial.of("J"), rtol=1e-9)


def test_a_users_network_that_changes_is_another_run(network):
    first = run_hash(spec_of(f"{network}:small"))
    assert first == run_hash(spec_of(f"{network}:small"))
    network.write_text(NETWORK.format(units=5))
    assert run_hash(spec_of(f"{network}:small")) != first


def test_the_spiral_runs_like_any_problem(tmp_path):
    words = ["--problem", "spiral", "--rule", "gtd2", "--alpha", "3e-5", "--beta", "1e-4", "--steps", "50"]
    done = dgtd("run", *words, "--seeds", "4", "--store", str(tmp_path / "s.sqlite"), "--executor", "in-process")
    assert done.returncode == 0, done.stderr
    assert "4 lanes" in done.stdout
    assert "rmspbe" in done.stdout


def test_networks_are_stored_and_resumed(tmp_path):
    spec = spec_of("table", steps=30)
    with Store(tmp_path / "s.sqlite") as store:
        assert execute([Request(spec, 20)], store, InProcess).done == 2
        assert execute([Request(spec, 20)], store, InProcess).done == 0
        lanes = store.lanes(run_hash(spec), 20)
        assert {lane.outcome for lane in lanes} == {Outcome.BUDGET_SPENT}
        assert lanes[0].law.shape == (4,)
        assert store.runs()[0]["predictor"] == "table"
    again = carry_out(Task.of(Cohort(spec, 0))).lanes[3]
    np.testing.assert_array_equal(again.curves, lanes[3].curves)


BASE = ["run", "--problem", "random_walk", "--rule", "gtd2", "--alpha", "0.1", "--beta", "0.1", "--store", "s.sqlite"]


@pytest.mark.parametrize(
    ("predictor", "says"),
    [
        ("mpl(50)", "no predictor 'mpl(50)'; did you mean 'mlp(50)'?"),
        ("mlp()", "predictor 'mlp()' needs at least one layer"),
        ("mlp(0)", "predictor 'mlp(0)': a layer must have at least 1 unit, got 0"),
        ("mlp(-3,relu)", "a layer must have at least 1 unit, got -3"),
        ("mlp(5,rellu)", "no activation 'rellu'; did you mean 'relu'?"),
        ("mlp(5,inputs=staets)", "no inputs 'staets'; did you mean 'states'?"),
        ("table(3)", "predictor 'table(3)' takes no arguments"),
        ("own", "has no network of its own"),
        ("nets.py", "predictor 'nets.py' must name a function"),
        ("none.py:net", "no file 'none.py' for predictor 'none.py:net'"),
        ("nets.py:smal", "did you mean 'small'?"),
        ("nets.py:three", "must give 1 outputs for this target, got shape [2, 3]"),
        ("nets.py:number", "must return a torch.nn.Module, got int"),
    ],
)
def test_a_predictor_that_does_not_fit_is_one_line_and_no_store(network, tmp_path, predictor, says):
    done = dgtd(*BASE, "--predictor", predictor, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "s.sqlite").exists()


def test_averages_are_for_linear_predictors():
    with pytest.raises(ValueError, match="averages and Mirror-Prox are for linear predictors"):
        spec_of("mlp(3)", average=True)
    with pytest.raises(ValueError, match="no metric 'rmpsbe'; did you mean 'rmspbe'"):
        trainer_of(spec_of("linear", metrics=("rmpsbe",)))
