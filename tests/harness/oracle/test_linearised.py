"""The diagnosis of an evaluation by a network: its Jacobian against differences, its headings against Theorem 1."""

import numpy as np
import pytest

from dgtd.algorithms.rules import gtd2, residual_gradient, td, tdc, tdrc
from dgtd.harness.oracle.theorem import diagnose, linear_case, mean_jacobian, network_case, small_problem

RULES = [gtd2, tdc, tdrc(0.5), td, residual_gradient]
PROBLEM = small_problem()


@pytest.mark.parametrize("target", ["value", "cdf"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_jacobian_is_that_of_the_mean_update(rule, target):
    objective, theta = network_case(PROBLEM, target, 1)
    w, size, tiny = np.random.default_rng(0).normal(size=theta.size), theta.size, 1e-5
    found = mean_jacobian(objective, rule, theta, w, 0.3, 0.7)
    y = np.concatenate([theta, w])

    def field(y):
        d_theta, d_w = objective.mean_update(rule, y[:size], y[size:])
        return np.concatenate([0.3 * d_theta, 0.7 * d_w])

    for i in np.random.default_rng(1).choice(2 * size, 6, replace=False):
        step = tiny * np.eye(2 * size)[i]
        np.testing.assert_allclose(found[:, i], (field(y + step) - field(y - step)) / (2 * tiny), atol=1e-7)


@pytest.mark.parametrize("rule", [gtd2, tdc], ids=lambda rule: rule.name)
@pytest.mark.parametrize("target", ["value", "cdf"])
def test_at_the_best_w_the_mean_update_descends_and_elsewhere_need_not(rule, target):
    objective, theta = network_case(PROBLEM, target, 2)
    best = objective.optimal_w(theta)
    there = diagnose(objective, rule, theta, best, 0.1, 0.1, 10, linearise=False)
    assert there.heading == pytest.approx(1.0, abs=1e-6)
    assert there.gap == pytest.approx(0.0, abs=1e-6)
    against = diagnose(objective, rule, theta, -best, 0.1, 0.1, 10, linearise=False)
    assert against.gap == pytest.approx(2.0, abs=1e-6)
    assert against.heading_at_best == pytest.approx(1.0, abs=1e-6)
    assert against.heading < 0.99


def test_without_curvature_gtd2_at_the_wrong_w_ascends():
    objective, theta = linear_case(PROBLEM, "cdf", 0)
    best = objective.optimal_w(theta)
    assert diagnose(objective, gtd2, theta, -best, 0.1, 0.1, 1, linearise=False).heading == pytest.approx(-1.0)


def test_what_w_misses_is_what_its_mean_steps_leave():
    objective, theta = network_case(PROBLEM, "cdf", 3)
    best, w, beta = objective.optimal_w(theta), np.zeros(theta.size), 0.4
    for _ in range(25):
        w = w + beta * objective.mean_update(gtd2, theta, w)[1]
    found = diagnose(objective, gtd2, theta, w, 0.1, beta, 25, linearise=False)
    left = objective.distance_to_optimal_w(theta, w) / objective.distance_to_optimal_w(theta, 0 * best)
    assert found.missing == pytest.approx(left, rel=1e-6)
    assert found.gap == pytest.approx(left, rel=1e-6)
    assert diagnose(objective, gtd2, theta, w, 0.1, beta, 0, linearise=False).missing == pytest.approx(1.0)


def test_a_linear_predictor_has_the_abscissa_of_its_matrices():
    """GTD2: (0, αAᵀ; −βA, −βC), whose eigenvalues have negative real parts; TD where it diverges has one above 0."""
    objective, theta = linear_case(PROBLEM, "value", 0)
    mdp, zero = PROBLEM.mdp, np.zeros(theta.size)
    found = mean_jacobian(objective, gtd2, theta, zero, 0.2, 0.5)
    expected = np.block([[0 * mdp.A, 0.2 * mdp.A.T], [-0.5 * mdp.A, -0.5 * mdp.C]])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    abscissa = diagnose(objective, gtd2, theta, zero, 0.2, 0.5, 1).abscissa
    assert abscissa == pytest.approx(np.linalg.eigvals(expected).real.max())
    assert abscissa < 0


def test_bad_input_is_named():
    objective, theta = network_case(PROBLEM, "value", 1)
    with pytest.raises(ValueError, match="alpha must be positive"):
        diagnose(objective, gtd2, theta, theta, 0.0, 0.1, 1)
