"""Every fast loop takes the steps that step.py writes down."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.activations import ACTIVATIONS, activation
from dgtd.algorithms.fast.linear import directions as linear_directions
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.step import directions
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, ValueTarget

SIZE, INPUTS, HIDDEN = 5, 3, (4, 6)


@rule(linear=False)
def squashed(delta, u, rho):
    return Cotangents(-rho * delta / (1 + abs(delta)), rho * u, rho * delta - u)


every_rule = pytest.mark.parametrize(
    "each", [*rules.RULES.values(), rules.greedy_gq(0.5), rules.tdrc(0.7), squashed], ids=lambda r: r.name
)
every_target = pytest.mark.parametrize("target", [ValueTarget(), CdfTarget(-2, 2, 6)], ids=["value", "cdf"])


def transitions(rho=None):
    rng = np.random.default_rng(0)
    x, x_next = rng.normal(size=(2, 1, SIZE, INPUTS))
    reward, discount = rng.normal(size=(1, SIZE)), rng.choice([0.0, 0.9, 1.0], size=(1, SIZE))
    return x, x_next, reward, discount, rng.uniform(0, 2, size=(1, SIZE)) if rho is None else rho


def written_down(each, predict, theta, w, batch):
    """(G_θ, G_w − κw) of step.py, each as one vector."""
    shift, rho = batch.shift.take(0).tensors(torch.float64), torch.as_tensor(batch.rho[0])[:, None]
    x, x_next = torch.as_tensor(batch.x[0]), torch.as_tensor(batch.x_next[0])
    found = directions(each, predict, theta, w, x, x_next, shift, rho)
    return [torch.cat([part.flatten() for part in side.values()]).numpy() for side in found]


def layered(target, kind):
    """θ and w of one network [1, d], and its prediction from them by name, the layers in order."""
    widths = (INPUTS, *HIDDEN, target.logits(False))
    shapes = [(rows + 1, columns) for rows, columns in pairwise(widths)]
    rng = np.random.default_rng(1)
    flat = rng.normal(size=(2, 1, sum(rows * columns for rows, columns in shapes))) / 2

    def named(vector):
        parts = torch.as_tensor(vector).split([rows * columns for rows, columns in shapes])
        return {str(i): part.reshape(shape) for i, (part, shape) in enumerate(zip(parts, shapes, strict=True))}

    def predict(theta, x):
        for i in range(len(shapes)):
            x = x @ theta[str(i)][:-1] + theta[str(i)][-1]
            x = activation(kind).function(x) if i < len(shapes) - 1 else x
        return target.head().predict(x)

    return flat, named, predict


def assert_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.ravel(one), other, rtol=0, atol=1e-12)


@every_rule
@every_target
def test_the_linear_loop(each, target):
    x, x_next, reward, discount, rho = transitions()
    batch = Batch(x, x_next, target.shift(reward, discount), rho)
    theta, w = np.random.default_rng(1).normal(size=(2, 1, target.outputs, INPUTS))
    given = [{"theta": torch.as_tensor(part[0])} for part in (theta, w)]
    expected = written_down(each, lambda at, x: x @ at["theta"].T, *given, batch)
    assert_close(linear_directions(each, theta, w, batch), expected)


@every_rule
@every_target
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_the_loops_of_networks(each, target, kind):
    x, x_next, reward, discount, rho = transitions()
    batch = Batch(x, x_next, target.shift(reward, discount), rho)
    (theta, w), named, predict = layered(target, kind)
    expected = written_down(each, predict, named(theta[0]), named(w[0]), batch)
    small = SmallEngine(each, (INPUTS, *HIDDEN), target, activation=kind)
    assert_close(small.directions(theta[:, None], w[:, None], batch), expected)
    mlp = MlpEngine(each, (INPUTS, *HIDDEN), target, activation=kind)
    layers = ([torch.as_tensor(layer) for layer in small.layers(part[:, None])] for part in (theta, w))
    found = [torch.cat([part.flatten() for part in side]).numpy() for side in mlp.directions(*layers, batch)]
    assert_close(found, expected)


@every_rule
@every_target
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_the_batches_of_agents(each, target, kind):
    """One action: there is nothing to choose."""
    x, x_next, reward, discount, rho = transitions(np.ones((1, SIZE)))
    batch = Batch(x.astype(np.float32), x_next.astype(np.float32), target.shift(reward, discount), rho)
    (theta, w), named, predict = layered(target, kind)
    expected = written_down(each, predict, named(theta[0]), named(w[0]), batch)
    engine = ReplayEngine(each, (INPUTS, *HIDDEN), target, dtype=torch.float64, activation=kind)
    drawn = Transitions(batch.x, batch.x_next, np.zeros((1, SIZE), dtype=np.int64), reward, discount)
    g_theta, g_w, health = engine.gradients(theta, w, drawn)
    assert_close([g_theta, *([g_w] if engine.uses_w else [])], expected[: 1 + engine.uses_w])
    assert health.tolist() == [0.0]
