"""One battery for every trainer, at places that fit it, on values and on return distributions.

What a run gives must not depend on how it is divided into calls, on its neighbours, or on being left and entered again.
"""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.search import learner, run_spec
from dgtd.harness.plugins import installed
from dgtd.harness.runs.predictors import parse
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.trainers.trainer import train, trainer_class, trainer_of

LANES, STEPS = 3, 90
SUMS = 1e-12  # steps are bit-equal there; metrics are sums over states, in another order
ROUNDING = 2e-4  # agents' networks are in single precision, and products of several lanes are summed in another order
SMALL = {"begin": 16, "batch": 4, "capacity": 40, "explore_steps": 50}
# trainer: (its kind, what its learner is told, the places it is tried at)
CASES = {
    "linear": ("", {"alpha": 0.02, "beta": 0.05}, ("baird", "boyan")),
    "linear, averaged": ("", {"alpha": 0.02, "beta": 0.05}, ("boyan",)),
    "network": ("", {"alpha": 0.02, "beta": 0.05, "predictor": parse("mlp(4)")}, ("baird", "boyan")),
    "network, torch": ("", {"alpha": 0.02, "beta": 0.05, "predictor": parse("mlp(4,torch)")}, ("boyan",)),
    "module": ("", {"alpha": 1e-4, "beta": 1e-4}, ("spiral",)),
    "agent": ("agent", {"predictor": parse("mlp(6,relu)")} | SMALL, ("cartpole-v0", "gym:Acrobot-v1", "treadmill")),
    "policy-iteration": ("policy-iteration", {"episodes": 1, "capacity": 30, "batch": 2}, ("cartpole-v0",)),
}
EVERY = [
    pytest.param(case, place, target, id=f"{case}-{place}-{target}")
    for case, (_, _, places) in CASES.items()
    for place in places
    for target in ("value", "cdf")
    if (case, target) != ("module", "cdf")  # the spiral's own network has one output
]


def spec_of(case, place, target):
    kind, said, _ = CASES[case]
    made = learner(kind, "tdc", place, target=target, atoms=5, cohort=LANES, **said)
    made = replace(made, average="averaged" in case)
    return RunSpec.from_json(run_spec(place, made, STEPS, seed=3).to_json())


def numbers(lanes):
    return lanes.curves.tobytes(), lanes.died.tobytes(), lanes.law.tobytes()


def test_every_trainer_of_ours_is_tried():
    ours = {name for name, point in installed("trainers").items() if point.value.startswith("dgtd.")}
    assert {case.split(",")[0] for case in CASES} == ours


@pytest.mark.parametrize(("case", "place", "target"), EVERY)
def test_it_keeps_the_protocol(case, place, target):
    spec = spec_of(case, place, target)
    assert case.split(",")[0] == spec.learner.trainer
    trainer = trainer_of(spec)
    state = trainer.start(range(LANES))
    assert state.steps == 0
    assert state.died.tolist() == [-1] * LANES
    first = trainer.measure(state)
    assert first.shape == (LANES, len(trainer.names))
    trainer.advance(state, 7)
    assert state.steps == 7
    assert trainer.laws(state).shape[0] == LANES
    assert bool(trainer.laws(state).size) is (target == "cdf")
    assert trainer_class(spec.learner.trainer).times(STEPS)[-1] == STEPS


@pytest.mark.parametrize(("case", "place", "target"), EVERY)
def test_how_a_run_is_divided_changes_nothing(case, place, target):
    trainer = trainer_of(spec_of(case, place, target))
    whole, parts = trainer.start(range(LANES)), trainer.start(range(LANES))
    trainer.advance(whole, 60)
    for steps in (1, 20, 39):
        trainer.advance(parts, steps)
    np.testing.assert_array_equal(trainer.measure(whole), trainer.measure(parts))
    np.testing.assert_array_equal(trainer.laws(whole), trainer.laws(parts))


@pytest.mark.parametrize(("case", "place", "target"), EVERY)
def test_a_lane_is_the_same_among_others_and_alone(case, place, target):
    trainer = trainer_of(spec_of(case, place, target))
    many, one = train(trainer, range(LANES)), train(trainer, range(1, 2))
    near = SUMS if case in ("linear", "network") else ROUNDING
    np.testing.assert_allclose(many.curves[:, 1], one.curves[:, 0], rtol=near, atol=near)
    assert numbers(many) == numbers(train(trainer_of(trainer.spec), range(LANES)))  # and again, to the last bit
    assert (many.curves[1:, 0] != many.curves[1:, 1]).any()  # lanes draw from streams of their own


@pytest.mark.parametrize(("case", "place", "target"), EVERY)
def test_leaving_and_entering_again_is_to_go_on(case, place, target):
    trainer = trainer_of(spec_of(case, place, target))
    on, again = trainer.start(range(LANES)), trainer.start(range(LANES))
    trainer.advance(on, 41)
    saved = {name: np.array(array) for name, array in trainer.arrays(on).items()}
    assert all(array.dtype.kind in "biuf" for array in saved.values())
    trainer.restore(again, saved)
    again.steps = on.steps
    for state in (on, again):
        trainer.advance(state, 30)
    np.testing.assert_array_equal(trainer.measure(on), trainer.measure(again))
    np.testing.assert_array_equal(on.died, again.died)
    other = trainer.start(range(LANES + 1))
    with pytest.raises(ValueError, match="saved"):
        trainer.restore(other, saved)
