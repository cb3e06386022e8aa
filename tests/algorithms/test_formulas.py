"""Rules in plain numpy: one formula for floats, arrays, tensors and compiled code; anything else is one line."""

import math
import random

import numpy as np
import pytest
import torch
from numpy import tanh as bare_tanh

from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.fast.heads import TensorBatch
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.formulas import FUNCTIONS, FormulaError
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import ValueTarget

WEIGHT = 0.5


def helped(delta):
    """A helper of the same file."""
    return np.maximum(delta, 0.0) * WEIGHT


FORMULAS = {
    "np.minimum": lambda d, u, r: np.minimum(r, 1.0) * d,
    "np.maximum": lambda d, u, r: np.maximum(d, u),
    "np.clip": lambda d, u, r: np.clip(d, -0.5, 0.5),
    "np.tanh": lambda d, u, r: np.tanh(d) * r,
    "np.where": lambda d, u, r: np.where(d > u, d, 0.1 * u),
    "np.where of numbers": lambda d, u, r: np.where((d > 0) & (u < 1), 1.0, -1.0) * r,
    "np.sign": lambda d, u, r: np.sign(d) * r,
    "np.abs": lambda d, u, r: np.abs(u) + 0.0 * d,
    "abs": lambda d, u, r: abs(d) * r,
    "min": lambda d, u, r: min(r, 1.0) * d,
    "max": lambda d, u, r: max(d, u, 0.0),
    "np.exp": lambda d, u, r: np.exp(-(d**2)) * np.pi,
    "np.sqrt": lambda d, u, r: np.sqrt(np.square(d) + 1.0),
    "bare": lambda d, u, r: bare_tanh(d) * r,
    "helper": lambda d, u, r: helped(d) * r,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_floats_arrays_tensors_and_compiled_code_agree(name):
    formula = FORMULAS[name]

    @rule(linear=False)
    def made(delta, u, rho):
        value = formula(delta, u, rho)
        return Cotangents(-value, rho * u + value, rho * delta - u + value)

    rng = np.random.default_rng(0)
    points = np.stack([rng.normal(size=50), rng.normal(size=50), rng.uniform(0, 4, size=50)])
    floats = np.array([made(*map(float, point)) for point in points.T]).T
    arrays = np.array(made(*points))
    tensors = torch.stack(list(made(*torch.as_tensor(points)))).numpy()
    np.testing.assert_allclose(arrays, floats, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tensors, floats, rtol=1e-12, atol=1e-12)
    single = torch.stack(list(made(*torch.as_tensor(points, dtype=torch.float32))))
    assert single.dtype == torch.float32
    inner = rule_as_data(made, np.array([1.0]))[1]
    np.testing.assert_allclose([inner(*point) for point in points.T], floats.T, rtol=1e-12, atol=1e-12)


@rule(linear=False)
def clipped(delta, u, rho):
    """GTD2 with ratios and errors clipped."""
    rho = np.minimum(rho, 1.0)
    d = np.clip(delta, -1, 1)
    return Cotangents(-rho * u, rho * u, rho * d - u)


def test_an_engine_of_tensors_takes_the_step_of_the_compiled_one():
    """A network without hidden layers is linear: one batch, two engines."""
    from dgtd.algorithms.fast.linear import directions

    rng = np.random.default_rng(1)
    x, x_next = rng.normal(size=(2, 1, 6, 3))
    reward, discount, rho = rng.normal(size=(1, 6)) * 3, np.full((1, 6), 0.9), rng.uniform(0, 3, (1, 6))
    batch = Batch(x, x_next, ValueTarget().shift(reward, discount), rho)
    engine = MlpEngine(clipped, (3,), ValueTarget())
    theta = engine.init(generators(0, [0]))
    w = [torch.as_tensor(rng.normal(size=part.shape)) for part in theta]
    both = [np.concatenate([part.numpy().reshape(1, 1, -1) for part in parts], -1) for parts in (theta, w)]
    biased = [np.concatenate([each, np.ones((1, 6, 1))], -1) for each in (x, x_next)]
    ours = directions(clipped, *both, Batch(*biased, batch.shift, rho))
    theirs = engine.directions(theta, w, TensorBatch.of(batch, torch.float64))
    for one, other in zip(ours, theirs, strict=True):
        flat = np.concatenate([part.numpy().reshape(1, 1, -1) for part in other], -1)
        np.testing.assert_allclose(flat, one, rtol=1e-12, atol=1e-12)
    assert rule_as_data(clipped, np.array([1.0]))[0].shape == (1, 3, 2)


def branch(delta, u, rho):
    if delta > 0:
        delta = 2 * delta
    return Cotangents(-rho * u, rho * u, rho * delta - u)


def short_branch(delta, u, rho):
    big = abs(delta)
    return Cotangents(-rho * u, rho * u, rho * (delta if big > 1 else u) - u)


def loop(delta, u, rho):
    total = 0.0
    for each in [delta, u]:
        total = total + each
    return Cotangents(-rho * u, rho * u, total)


def spin(delta, u, rho):
    while delta > 1:
        delta = delta / 2
    return Cotangents(-rho * u, rho * u, delta)


def draws(delta, u, rho):
    return Cotangents(-rho * u, rho * u, rho * delta - u + 0.0 * np.random.normal())  # noqa: NPY002


def draws_too(delta, u, rho):
    return Cotangents(-rho * u, rho * u, rho * delta - u + 0.0 * random.random())


def unknown_function(delta, u, rho):
    return Cotangents(-rho * u, rho * u, np.nan_to_num(delta))


def single_numbers(delta, u, rho):
    return Cotangents(-rho * u, rho * u, math.tanh(delta))


def both(delta, u, rho):
    return Cotangents(-rho * u, rho * u, np.where(delta > 0 and u > 0, delta, u))


def chain(delta, u, rho):
    return Cotangents(-rho * u, rho * u, np.where(0 < delta < 1, delta, u))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (branch, "branches on 'delta' by `if`, but many lanes are computed at once: write np.where(condition, a, b)"),
        (short_branch, "branches on 'big' by `if`"),
        (loop, "loops over 'delta', but it gets one number per lane: write a formula without a loop"),
        (spin, "branches on 'delta' by `while`"),
        (draws, "draws random numbers: a rule must be a function of its arguments"),
        (draws_too, "draws random numbers"),
        (unknown_function, "uses np.nan_to_num: a rule may use arithmetic, comparisons, abs, min, max and np.minimum"),
        (single_numbers, "uses math.tanh, which takes single numbers only: write np.tanh"),
        (both, "uses `and` or `or` on 'delta': write (a) & (b), or (a) | (b)"),
        (chain, "uses a chain of comparisons on 'delta': write (a < b) & (b < c)"),
    ],
)
def test_what_is_no_formula_is_one_line_with_file_and_line(function, says):
    with pytest.raises(FormulaError) as error:
        rule(linear=False)(function)
    words = str(error.value)
    assert says in words
    assert "\n" not in words
    assert f"rule {function.__name__!r} (" in words
    assert "test_formulas.py, line " in words
    line = int(words.split("line ")[1].split(")")[0])
    assert function.__code__.co_firstlineno < line <= function.__code__.co_firstlineno + 4


def test_a_branch_on_a_constant_is_fine():
    @rule(linear=False)
    def switched(delta, u, rho):
        scale = 2.0 if WEIGHT > 0.1 else 1.0
        for power in range(2):
            scale = scale * (power + 1)
        return Cotangents(-rho * u, rho * u, rho * np.tanh(scale * delta) - u)

    assert switched(torch.ones(2), torch.ones(2), torch.ones(2)).tangent.shape == (2,)


def test_every_function_is_known_to_all_three():
    for name, theirs in FUNCTIONS.items():
        assert callable(getattr(np, name))
        assert callable(getattr(torch, theirs))
