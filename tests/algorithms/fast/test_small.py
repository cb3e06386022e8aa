"""The small engine is the mlp engine, compiled: directions, steps and whole runs, to 1e-12 in float64."""

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.small import SmallEngine, SmallLoop
from dgtd.algorithms.stepping import RobbinsMonro
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, Shift, ValueTarget
from tests.algorithms.fast.test_conformance import INPUTS, LANES, RULES, every_rule, every_target, random_batch
from tests.problems import walk

pytestmark = pytest.mark.slow  # the first run compiles two kernels, half a minute each
DEPTHS = [(), (4,), (4, 3), (4, 3, 5)]


def twins(each, target, hidden, **options):
    """Both engines, and the same θ and w in the layout of each."""
    small = SmallEngine(each, (INPUTS, *hidden), target, **options)
    mlp = MlpEngine(each, (INPUTS, *hidden), target, **options)
    theta, w = (small.init(generators(seed, range(LANES))) for seed in (0, 1))
    layers = [[torch.as_tensor(layer.copy()) for layer in small.layers(part)] for part in (theta, w)]
    return small, mlp, (theta, w), layers


def assert_same(small, arrays, tensors, tolerance=1e-12):
    for array, layers in zip(arrays, tensors, strict=True):
        np.testing.assert_allclose(array, small.flat(layers), rtol=tolerance, atol=tolerance)


@every_rule
@every_target
@pytest.mark.parametrize("pinned", [False, True])
def test_directions_are_the_mlp_engines(each, target, pinned):
    batch = random_batch(target)
    for hidden in DEPTHS:
        for activation in ACTIVATIONS:
            small, mlp, flat, layers = twins(each, target, hidden, activation=activation, pinned=pinned)
            assert_same(small, small.directions(*flat, batch), mlp.directions(*layers, batch))


@every_target
@pytest.mark.parametrize("given", [False, True], ids=["greedy", "given"])
@pytest.mark.parametrize("pinned", [False, True])
def test_actions_choose_outputs(target, given, pinned):
    rng = np.random.default_rng(3)
    chosen = {"action": rng.integers(3, size=(LANES, 2))}
    if given:
        chosen["next_action"] = rng.integers(3, size=(LANES, 2))
    batch = random_batch(target, **chosen)
    for each in (rules.gtd2, rules.tdc, rules.greedy_gq(0.5)):
        small, mlp, flat, layers = twins(each, target, (4,), actions=3, pinned=pinned)
        assert_same(small, small.directions(*flat, batch), mlp.directions(*layers, batch))


def test_a_step_on_a_batch_is_the_mlp_engines_with_a_step_size_per_lane():
    target, alpha, beta = CdfTarget(-2, 2, 6), np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
    small, mlp, flat, layers = twins(rules.tdrc(0.7), target, (4, 3))
    for seed in range(5):
        small.step(*flat, random_batch(target, seed), alpha, beta)
        mlp.step(*layers, random_batch(target, seed), torch.as_tensor(alpha), torch.as_tensor(beta))
    assert_same(small, flat, layers)


def test_first_weights_are_the_mlp_engines():
    small, mlp, (theta, _), _ = twins(rules.gtd2, CdfTarget(-2, 2, 6), (4, 3))
    assert np.array_equal(theta, small.flat(mlp.init(generators(0, range(LANES)))))
    assert np.array_equal(theta[:2], small.init(generators(0, range(2))))


def both_loops(each, target, hidden, steps, lanes=LANES, spread=1.0, inputs=None, **options):
    inputs = np.eye(5) if inputs is None else inputs
    shape = {"activation": options.pop("activation", "tanh"), "pinned": options.pop("pinned", False)}
    small = SmallEngine(each, (inputs.shape[1], *hidden), target, **shape)
    mlp = MlpEngine(each, (inputs.shape[1], *hidden), target, **shape)
    theta = spread * small.init(generators(0, range(lanes)))
    streams = lane_streams(0, range(lanes))
    one, other = SmallLoop(small, walk(), inputs), TorchLoop(mlp, walk(), inputs, target)
    state = one.start(theta, streams)
    torch_state = other.start([torch.as_tensor(layer.copy()) for layer in small.layers(theta)], streams)
    at = [0, steps // 3, steps]
    curves = one.run(state, steps, 0.05, 0.2, snapshots=at, keep_w=True, **options)
    found = other.run(torch_state, steps, 0.05, 0.2, snapshots=at, **options)
    return small, state, curves, torch_state, found


@pytest.mark.parametrize("each", [rules.gtd2, rules.tdc, rules.tdrc(1.0), RULES[-1]], ids=lambda r: r.name)
@pytest.mark.parametrize("target", [ValueTarget(), CdfTarget(-2, 2, 6), CdfTarget(-2, 2, 6, "nearest")], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"radius": 1.0}, {"schedule": RobbinsMonro(offset=10.0)}, {"activation": "relu", "pinned": True}],
    ids=str,
)
def test_a_run_is_the_torch_loops(each, target, options):
    small, state, curves, torch_state, found = both_loops(each, target, (4, 3), 300, **options)
    for i in range(3):
        assert_same(small, (curves.theta[i], curves.w[i]), (found.theta[i], found.w[i]), 1e-10)
    assert_same(small, (state.theta, state.w), (torch_state.theta, torch_state.w), 1e-10)
    if "radius" in options:
        norm = np.linalg.norm(curves.theta[:, :, 0], axis=-1)
        assert (norm[0] > 1.5).all()  # Γ binds
        assert (norm[1:] <= 1 + 1e-12).all()


def test_inputs_that_are_not_states_run_alike():
    inputs = np.random.default_rng(0).normal(size=(5, 3))
    small, state, _, torch_state, _ = both_loops(rules.gtd2, CdfTarget(-2, 2, 30), (50,), 60, inputs=inputs)
    assert_same(small, (state.theta, state.w), (torch_state.theta, torch_state.w))


def test_deaths_have_the_torch_loops_dates():
    _, state, _, torch_state, _ = both_loops(rules.gtd2, ValueTarget(), (4,), 400, spread=300.0, activation="relu")
    assert (state.died >= 0).any()
    assert state.died.tolist() == torch_state.died.tolist()
    assert np.isnan(state.theta[state.died >= 0]).all()


def test_a_lane_run_alone_is_the_lane_among_64_to_the_bit_and_death_stays_at_home():
    small = SmallEngine(rules.gtd2, (5, 4), ValueTarget())
    theta, streams = small.init(generators(0, range(64))), lane_streams(0, range(64))
    theta[3] = 1e300
    loop = SmallLoop(small, walk(), np.eye(5))
    many, one = loop.start(theta, streams), loop.start(theta[37:38], streams[37:38])
    loop.run(many, 500, 0.05, 0.2, threads=2)
    loop.run(one, 500, 0.05, 0.2)
    assert many.theta[37].tobytes() == one.theta[0].tobytes()
    assert many.w[37].tobytes() == one.w[0].tobytes()
    assert np.flatnonzero(many.died >= 0).tolist() == [3]


def test_parts_of_a_run_join_and_averages_are_those_of_the_path():
    small = SmallEngine(rules.gtd2, (5, 4), ValueTarget())
    loop, schedule = SmallLoop(small, walk(), np.eye(5)), RobbinsMonro(offset=10.0)
    whole, parts = (loop.start(small.init(generators(0, range(2))), lane_streams(0, range(2))) for _ in range(2))
    curves = loop.run(whole, 30, 0.1, 0.2, schedule=schedule, average=True, snapshots=range(30))
    for steps in (1, 29):
        loop.run(parts, steps, 0.1, 0.2, schedule=schedule, average=True)
    assert whole.theta.tobytes() == parts.theta.tobytes()
    assert whole.theta_mean.tobytes() == parts.theta_mean.tobytes()
    alpha = 0.1 * schedule.factors(0, 30)[0]
    expected = np.tensordot(alpha, curves.theta, 1) / alpha.sum()
    np.testing.assert_allclose(whole.theta_mean, expected, rtol=1e-12)


def test_bad_input_names_the_argument():
    value, target = ValueTarget(), CdfTarget(-2, 2, 6)
    with pytest.raises(ValueError, match="sizes must be at least 1, got 0"):
        SmallEngine(rules.gtd2, (3, 0), value)
    with pytest.raises(ValueError, match="actions must be at least 1, got 0"):
        SmallEngine(rules.gtd2, (3,), value, actions=0)
    with pytest.raises(ValueError, match="activation"):
        SmallEngine(rules.gtd2, (3,), value, activation="tan")
    with pytest.raises(ValueError, match="target must have a compiled head"):
        SmallEngine(rules.gtd2, (3,), object())
    small = SmallEngine(rules.gtd2, (INPUTS, 4), target, actions=2)
    theta = small.init(generators(0, range(LANES)))
    with pytest.raises(ValueError, match=r"batch\.action must be given when actions=2"):
        small.directions(theta, theta, random_batch(target))
    with pytest.raises(ValueError, match=r"batch\.action must be below 2, got 2"):
        small.directions(theta, theta, random_batch(target, action=np.full((LANES, 2), 2)))
    with pytest.raises(ValueError, match=r"batch\.shift must have 5 outputs, got 1"):
        small.directions(theta, theta, random_batch(value, action=np.zeros((LANES, 2), dtype=int)))
    wide = Batch(
        np.zeros((LANES, 1, 4)), np.zeros((LANES, 1, 4)), target.shift(*np.zeros((2, LANES, 1))), np.ones((LANES, 1)),
        action=np.zeros((LANES, 1), dtype=int),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"batch\.x must have 3 inputs, got 4"):
        small.directions(theta, theta, wide)
    with pytest.raises(ValueError, match="no actions to choose from, got actions=2"):
        SmallLoop(small, walk(), np.zeros((5, INPUTS)))
    one = SmallEngine(rules.gtd2, (5, 4), target)
    with pytest.raises(ValueError, match=r"inputs must have shape \(5, 5\), got \(5, 4\)"):
        SmallLoop(one, walk(), np.zeros((5, 4)))
    loop = SmallLoop(one, walk(), np.eye(5))
    with pytest.raises(ValueError, match="theta must have shape"):
        loop.start(theta, lane_streams(0, range(LANES)))
    state = loop.start(one.init(generators(0, [0])), lane_streams(0, [0]))
    with pytest.raises(ValueError, match="Mirror-Prox is for linear predictors"):
        loop.run(state, 1, 0.1, 0.1, extragradient=True)
    with pytest.raises(ValueError, match="alpha must be positive"):
        loop.run(state, 1, -0.1, 0.1)


def test_a_shift_that_points_off_the_grid_never_reaches_the_kernel():
    target = CdfTarget(-2, 2, 6)
    shift = target.shift(np.zeros((1, 1)), np.full((1, 1), 0.9))
    with pytest.raises(ValueError, match=r"shift\.row must be in"):
        Batch(
            np.zeros((1, 1, 3)),
            np.zeros((1, 1, 3)),
            Shift(shift.row + 9, shift.weight, shift.constant),
            np.ones((1, 1)),
        )


def test_rows_longer_than_what_a_pass_takes_at_once_are_the_mlp_engines():
    """More than one block of columns, more than are prefetched; two steps, with a w that is not 0 and decays."""
    target, rule, sizes = CdfTarget(-2, 2, 4), rules.tdrc(0.5), (5, 520, 1030)
    small, mlp = SmallEngine(rule, sizes, target), MlpEngine(rule, sizes, target, compiled=False)
    theta, w = (small.init(generators(seed, [0])) for seed in (0, 1))
    ours, theirs = SmallLoop(small, walk(), np.eye(5)), TorchLoop(mlp, walk(), np.eye(5), target)
    state = ours.start(theta, lane_streams(0, [0]))
    layers = [[torch.as_tensor(layer.copy()) for layer in small.layers(part)] for part in (theta, w)]
    torch_state = theirs.start(layers[0], lane_streams(0, [0]))
    state.w, torch_state.w = w.copy(), layers[1]
    for loop, lanes in ((ours, state), (theirs, torch_state)):
        loop.run(lanes, 2, 0.3, 0.8)
    for begin, end, expected in ((theta, state.theta, torch_state.theta), (w, state.w, torch_state.w)):
        moved = small.flat(expected) - begin
        np.testing.assert_allclose(end - begin, moved, rtol=0, atol=1e-9 * np.abs(moved).max())
