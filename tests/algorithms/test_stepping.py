"""Schedules keep Theorem 2's conditions, Γ projects, averages average, Mirror-Prox looks ahead and steps back."""

import numpy as np
import pytest

from dgtd.algorithms.fast.kernels import average
from dgtd.algorithms.stepping import (
    Constant,
    PowerLaw,
    RobbinsMonro,
    check_steps,
    mirror_descent,
    mirror_prox,
    project_ball,
)


def test_a_robbins_monro_schedule_falls_as_it_says():
    alpha, beta = RobbinsMonro(0.75, 0.55, offset=10.0).factors(0, 1001)
    assert alpha[0] == beta[0] == 1.0
    assert alpha[1000] == pytest.approx(101**-0.75)
    assert beta[1000] == pytest.approx(101**-0.55)
    later, _ = RobbinsMonro(0.75, 0.55, offset=10.0).factors(500, 10)
    np.testing.assert_array_equal(later, alpha[500:510])


@pytest.mark.parametrize(
    ("exponents", "says"),
    [
        ((1.2, 0.6), "alpha_exponent must be at most 1 so that Σalpha = ∞, got 1.2"),
        ((0.8, 0.5), "beta_exponent must exceed 1/2 so that Σbeta² < ∞, got 0.5"),
        ((0.6, 0.6), "alpha_exponent must exceed beta_exponent so that alpha/beta → 0, got 0.6 and 0.6"),
        ((0.6, 0.7), "alpha/beta → 0"),
        ((float("nan"), 0.6), "alpha_exponent must be at most 1"),
    ],
)
def test_exponents_that_break_a_condition_name_it(exponents, says):
    with pytest.raises(ValueError, match=says):
        RobbinsMonro(*exponents)
    PowerLaw(*exponents)  # a control may


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), 0, np.array([0.1, -0.2])])
def test_step_sizes_must_be_positive_and_finite(bad):
    with pytest.raises(ValueError, match="alpha must be positive and finite, got"):
        check_steps(bad, 0.1)
    with pytest.raises(ValueError, match="beta must be positive and finite, got"):
        check_steps(0.1, bad)


def test_a_constant_schedule_is_constant():
    alpha, beta = Constant().factors(7, 3)
    assert alpha.tolist() == beta.tolist() == [1, 1, 1]


def test_the_ball_projection_is_the_nearest_point():
    assert project_ball(np.array([3.0, 4.0]), 10.0).tolist() == [3.0, 4.0]
    np.testing.assert_allclose(project_ball(np.array([3.0, 4.0]), 1.0), [0.6, 0.8])


def test_the_average_is_weighted_by_the_step_sizes():
    mean, mass = np.zeros((1, 2)), 0.0
    points, weights = np.random.default_rng(0).normal(size=(5, 2)), [1.0, 0.5, 0.25, 0.2, 0.1]
    for point, weight in zip(points, weights, strict=True):
        mass += weight
        average.py_func(mean, point[None], weight / mass)
    np.testing.assert_allclose(mean[0], np.average(points, axis=0, weights=weights))


def test_mirror_prox_is_the_extragradient_and_not_two_plain_steps():
    """On L = θw the field is (w, θ): plain steps spiral out, two of them too; the extragradient spirals in."""
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])

    def field(theta, w):
        return w, theta

    step = 0.5
    z = np.array([1.0, 0.3])
    F = matrix * [[1.0], [-1.0]]  # z ← z − step·F z
    after = mirror_prox(field, *z, step)
    np.testing.assert_allclose(after[:2], z - step * F @ (z - step * F @ z))
    np.testing.assert_allclose(after[2:], z - step * F @ z)
    plain = mirror_descent(field, *z, step)
    twice = mirror_descent(field, *plain[:2], step)
    assert np.linalg.norm(after[:2]) < np.linalg.norm(z) < np.linalg.norm(plain[:2]) < np.linalg.norm(twice[:2])
    assert plain[2:] == (1.0, 0.3)


@pytest.mark.parametrize("radius", [10.0, 0.9], ids=["inside", "on the balls"])
@pytest.mark.parametrize("step", [mirror_descent, mirror_prox], ids=lambda step: step.__name__)
def test_a_step_on_a_saddle_of_two_numbers_is_the_one_written_out(step, radius):
    """L = (b − aθ)w − ½cw²: θ descends, w ascends, both are cut at R; and the point that counts in the average."""
    a, b, c, size, theta, w = 1.3, 0.7, 0.5, 1.5, 0.6, -0.8

    def cut(*numbers):
        return [min(max(number, -radius), radius) for number in numbers]

    middle = cut(theta + size * a * w, w + size * (b - a * theta - c * w))
    ahead = [theta, w] if step is mirror_descent else middle
    after = cut(theta + size * a * ahead[1], w + size * (b - a * ahead[0] - c * ahead[1]))
    found = step(lambda theta, w: (-a * w, b - a * theta - c * w), np.array([theta]), np.array([w]), size, radius)
    np.testing.assert_allclose(np.concatenate(found), [*after, *ahead], rtol=1e-12)
