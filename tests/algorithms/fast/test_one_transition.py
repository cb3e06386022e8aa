"""One transition of one lane: the mlp engine's compiled pass is its torch pass, on the same memory."""

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.network_batches import OneTransition, as_one_vector
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget

INPUTS = 3
TARGETS = {"value": ValueTarget(), "cramer": CdfTarget(-2, 2, 6), "nearest": CdfTarget(-2, 2, 5, "nearest")}


def transitions(target, lanes=1, count=1, seed=0):
    rng = np.random.default_rng(seed)
    x, x_next = rng.normal(size=(2, lanes, count, INPUTS))
    shift = target.shift(rng.normal(size=(lanes, count)), np.full((lanes, count), 0.9))
    return Batch(x, x_next, shift, rng.uniform(0.5, 2, size=(lanes, count)))


def pair(each, hidden, target, **options):
    """The two engines; θ and w of one lane, and copies whose layers lie anywhere."""
    ours, theirs = (MlpEngine(each, (INPUTS, *hidden), target, compiled=on, **options) for on in (True, False))
    theta = ours.init(generators(0, [0]))
    w = ours.zeros(theta)
    for layer in w:
        layer += 0.1 * torch.randn(layer.shape, generator=torch.Generator().manual_seed(1), dtype=layer.dtype)
    return ours, theirs, (theta, w), tuple([layer.clone() for layer in part] for part in (theta, w))


@pytest.mark.parametrize("each", [rules.gtd2, rules.tdc, rules.tdrc(0.5), rules.greedy_gq(0.5)], ids=lambda r: r.name)
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize(("hidden", "activation"), [((), "tanh"), *[((4, 5), name) for name in ACTIVATIONS]])
def test_a_few_steps_are_those_of_torch(monkeypatch, each, name, hidden, activation):
    target, taken = TARGETS[name], []
    step = OneTransition.step
    monkeypatch.setattr(OneTransition, "step", lambda *given: taken.append(1) or step(*given))
    ours, theirs, flat, apart = pair(each, hidden, target, activation=activation, pinned=name == "nearest")
    for seed in range(5):
        batch = transitions(target, seed=seed)
        ours.step(*flat, batch, 0.1, 0.2)
        theirs.step(*apart, batch, 0.1, 0.2)
    assert len(taken) == 5
    for part, expected in zip([*flat[0], *flat[1]], [*apart[0], *apart[1]], strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-12)


def test_single_precision_and_step_sizes_of_a_lane():
    ours, theirs, flat, apart = pair(rules.gtd2, (4,), TARGETS["cramer"], dtype=torch.float32)
    batch = transitions(TARGETS["cramer"])
    ours.step(*flat, batch, np.array([0.1]), torch.tensor([0.2]))
    theirs.step(*apart, batch, 0.1, 0.2)
    for part, expected in zip([*flat[0], *flat[1]], [*apart[0], *apart[1]], strict=True):
        assert part.dtype == torch.float32
        np.testing.assert_allclose(part, expected, atol=1e-6)


def test_other_memory_batches_lanes_and_rules_stay_in_torch(monkeypatch):
    monkeypatch.setattr(OneTransition, "step", lambda *given: pytest.fail("compiled"))
    target = TARGETS["value"]
    ours, _, flat, apart = pair(rules.gtd2, (4,), target)
    ours.step(*apart, transitions(target), 0.1, 0.1)
    ours.step(*flat, transitions(target, count=2), 0.1, 0.1)
    many = ours.init(generators(0, range(2)))
    ours.step(many, ours.zeros(many), transitions(target, lanes=2), 0.1, 0.1)
    bent = rule(lambda delta, u, rho: Cotangents(-rho * delta, rho * u, abs(delta) - u), linear=False)
    MlpEngine(bent, (INPUTS, 4), target).step(*flat, transitions(target), 0.1, 0.1)


def test_a_number_that_is_not_finite_is_said():
    ours, _, (theta, w), _ = pair(rules.gtd2, (4,), TARGETS["value"])
    assert all(torch.isfinite(part).all() for part in ours.step(theta, w, transitions(TARGETS["value"]), 0.1, 0.1))
    theta[-1][:] = float("inf")
    assert not all(torch.isfinite(part).all() for part in ours.step(theta, w, transitions(TARGETS["value"]), 0.1, 0.1))


def test_one_vector_is_the_layers_own_memory():
    ours, _, (theta, _), (apart, _) = pair(rules.gtd2, (4, 5), TARGETS["cramer"])
    whole = as_one_vector(theta)
    assert whole.shape == (1, 1, sum(layer.numel() for layer in theta))
    theta[1][0, 2, 3] = 7.0
    assert whole[0, 0, theta[0].numel() + 2 * theta[1].shape[2] + 3] == 7.0
    assert as_one_vector(apart) is None
    assert as_one_vector(ours.init(generators(0, range(2)))) is None
