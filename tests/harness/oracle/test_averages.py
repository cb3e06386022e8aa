"""The average without noise and of noise alone, against every path written out, long runs and closed forms."""

import itertools

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.oracle.averages import Quieter, at_horizon, mean_map, noise_alone, noise_free, resting_point
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.plugins import find_problem
from tests.harness.oracle.test_moments import two_states

RULES = [rules.gtd2, rules.tdc, rules.gtd2_sb, rules.td, rules.tdrc(0.7)]
STEP, STEPS = 0.3, 3


def averages_of_paths(rule, mdp, theta):
    """(chances, averages [paths, 2k] of (θ, w)) over every sequence of outcomes, by the engine's own directions."""
    target, count = ValueTarget(), len(mdp.mass)
    paths = np.array(list(itertools.product(range(count), repeat=STEPS)))
    at, w = np.tile(theta, (len(paths), 1, 1)), np.zeros((len(paths), 1, len(theta)))
    sums = np.zeros((len(paths), 2 * len(theta)))
    for outcome in paths.T:
        sums += np.concatenate([at[:, 0], w[:, 0]], axis=1)
        g_theta, g_w = directions(rule, at, w, mdp.table.batch(outcome[:, None], mdp.features, target))
        at, w = at - STEP * g_theta, w + STEP * g_w
    return mdp.mass[paths].prod(1), sums / STEPS


def rotated(moments, mdp):
    """[2k, 2k]: from the problem's features to the coordinates of their row space."""
    turn = np.linalg.pinv(moments.features) @ mdp.features
    return np.kron(np.eye(2), turn)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_both_are_sums_over_every_path(rule):
    mdp = two_states(0, iid=True, ends=False)
    moments = Moments(rule, mdp, ValueTarget())
    turn = rotated(moments, mdp)
    chance, found = averages_of_paths(rule, mdp, mdp.theta_initial)
    np.testing.assert_allclose(
        np.concatenate(noise_free(moments, STEP, STEPS, mdp.theta_initial[None])), turn @ (chance @ found), atol=1e-12
    )
    chance, found = averages_of_paths(rule, mdp, mdp.theta_td)
    away = (found - np.append(mdp.theta_td, np.zeros(2))) @ turn.T
    expected = np.einsum("p,pi,pj->ij", chance, away, away)
    np.testing.assert_allclose(noise_alone(moments, STEP, STEPS), expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 37, 1000])
def test_noise_alone_has_the_e_mspbe_of_the_recursion_step_by_step(n):
    problem = find_problem("random_walk_dependent")
    mdp = problem.mdp.with_(weights=problem.mdp.d)
    moments = Moments(rules.gtd2, mdp, ValueTarget())
    expected = moments.run(0.1, 0.1, [n], metrics=("rmspbe",), average=True, theta=mdp.theta_td[None]).of("rmspbe")[0]
    second = noise_alone(moments, 0.1, n)[: moments.size, : moments.size]
    form = moments.forms(("rmspbe",)).square[0]
    assert float((form * second).sum()) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_of_many_steps_it_is_the_long_run_covariance():
    """n E[z̄z̄ᵀ] → V + KV + VKᵀ with V = E[MVMᵀ] + E[ccᵀ] and K = Σ_k≥1 E[M]^k, solved and not summed."""
    problem = find_problem("random_walk_dependent")
    mdp = problem.mdp.with_(weights=problem.mdp.d)
    moments, n = Moments(rules.gtd2, mdp, ValueTarget()), 10**9
    written = list(moments.written_out(0.1, 0.1))
    inner, _ = mean_map(written)
    size = len(inner)
    square = sum(chance * np.kron(M, M) for chance, M, _ in written)
    pushes = sum(chance * np.outer(c, c) for chance, _, c in written)
    V = np.linalg.solve(np.eye(size**2) - square, pushes.ravel()).reshape(size, size)
    K = inner @ np.linalg.inv(np.eye(size) - inner)
    np.testing.assert_allclose(n * noise_alone(moments, 0.1, n), V + K @ V + V @ K.T, rtol=1e-4, atol=1e-7)


def test_a_share_of_the_noise_has_its_square_in_the_first_step_that_feels_it():
    """After one step w has moved by c: its share of the second moment is the share squared."""
    mdp = two_states(1, iid=True, ends=False)
    whole, half, none = (noise_alone(Quieter(rules.gtd2, mdp, ValueTarget(), share), STEP, 2) for share in (1, 0.5, 0))
    np.testing.assert_allclose(half, whole / 4, atol=1e-14)
    np.testing.assert_allclose(none, 0, atol=1e-14)
    np.testing.assert_allclose(whole, noise_alone(Moments(rules.gtd2, mdp, ValueTarget()), STEP, 2), atol=1e-14)


def test_without_noise_only_the_mean_is_left():
    mdp = two_states(1, iid=True, ends=False)
    quiet, theta = Quieter(rules.gtd2, mdp, ValueTarget(), 0.0), mdp.theta_initial[None]
    found = at_horizon(quiet, STEP, STEP, [50], metrics=("rmspbe",), average=True, theta=theta).of("rmspbe")[0]
    mean = noise_free(quiet, STEP, 50, theta)[0]
    form = quiet.forms(("rmspbe",))
    away = mean - quiet.fixed.ravel()
    assert found == pytest.approx(away @ form.square[0] @ away + form.line[0] @ away + form.constant[0], rel=1e-9)


def test_where_the_recursion_does_not_rest_at_the_solution_it_says_so():
    moments = Moments(rules.gtd2, two_states(0, iid=True, ends=False), ValueTarget())
    moments.__dict__["fixed"] = np.zeros((1, 2))  # as where the solution is far from the start
    with pytest.raises(ValueError, match="rests at θ"):
        noise_alone(moments, 0.1, 10)


def test_two_draws_rest_at_the_solution_and_one_draw_does_not():
    mdp = two_states(2, iid=True, ends=False)
    moments = Moments(rules.gtd2, mdp, ValueTarget())
    theta, w = resting_point(moments, STEP, draws=2)
    np.testing.assert_allclose(theta[0], mdp.theta_td, atol=1e-9)
    np.testing.assert_allclose(w, 0, atol=1e-9)
    assert np.linalg.norm(resting_point(moments, STEP, draws=1)[0][0] - mdp.theta_td) > 0.01
