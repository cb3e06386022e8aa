"""FiniteMDP against its definitions, on random MDPs; and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions, mix, optimal_policy
from dgtd.harness.oracle.objectives import Objective, linear
from dgtd.harness.oracle.returns import projected_law, return_variance, true_law
from dgtd.harness.plugins import find_problem

sizes = st.fixed_dictionaries(
    {
        "states": st.integers(2, 6),
        "actions": st.integers(1, 3),
        "features": st.integers(1, 4),
        "gamma": st.sampled_from([0.0, 0.5, 0.9, 0.99]),
        "seed": st.integers(0, 50),
    }
)


def random(options):
    from dgtd.suites.problems.tables import random_mdp

    return random_mdp(**options)


@settings(max_examples=40, deadline=None)
@given(sizes)
def test_a_b_and_c_are_their_definitions(options):
    mdp = random(options).mdp
    table, X = mdp.table, mdp.features
    A, b, C = np.zeros_like(mdp.A), np.zeros_like(mdp.b), np.zeros_like(mdp.C)
    for o in range(len(table.probability)):
        s, mass = table.state[o], mdp.d[table.state[o]] * table.probability[o]
        phi, phi_next = X[s], X[table.next_state[o]]
        A += mass * table.rho[o] * np.outer(phi, phi - table.discount[o] * phi_next)
        b += mass * table.rho[o] * table.reward[o] * phi
        C += mass * np.outer(phi, phi)
    np.testing.assert_allclose(mdp.A, A, atol=1e-12)
    np.testing.assert_allclose(mdp.b, b, atol=1e-12)
    np.testing.assert_allclose(mdp.C, C, atol=1e-12)
    np.testing.assert_allclose(mdp.d @ mdp.P_behaviour, mdp.d, atol=1e-12)
    np.testing.assert_allclose((mdp.target * mdp.action_values(mdp.v)).sum(1), mdp.v, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 9))
def test_mspbe_is_the_projected_bellman_error_and_zero_at_theta_td(options, seed):
    mdp = random(options).mdp
    theta = np.random.default_rng(seed).normal(size=mdp.features.shape[1])
    X, D = mdp.features, np.diag(mdp.d)
    v = X @ theta
    error = mdp.r_pi + mdp.gamma * mdp.P_pi @ v - v
    projected = X @ np.linalg.lstsq(np.sqrt(D) @ X, np.sqrt(D) @ error, rcond=1e-10)[0]
    expected = projected @ D @ projected
    assert mdp.mspbe(theta) == pytest.approx(expected, rel=1e-6, abs=1e-10)
    assert mdp.mspbe(theta) >= -1e-12
    if np.linalg.cond(mdp.A) < 1e8:
        assert mdp.mspbe(mdp.theta_td) < 1e-12
    objective = Objective(mdp, random(options).target("value"), linear(X))
    assert objective.value(theta) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(sizes)
def test_return_laws_are_laws_with_the_right_moments(options):
    problem = random(options)
    target = problem.target("cdf", atoms=15)
    true, fixed = true_law(problem.mdp, target), projected_law(problem.mdp, target)
    for law in (true.cdf, fixed.cdf):
        assert (law >= -1e-12).all()
        assert (law <= 1 + 1e-12).all()
        assert (np.diff(law, axis=1) >= -1e-12).all()
    scale = problem.support[1] - problem.support[0]
    assert true.mean_error < 1e-9 * scale
    assert fixed.mean_error < 1e-9 * scale  # `cramer` keeps the mean
    assert -1e-9 <= true.variance_excess <= fixed.variance_excess + 1e-9
    # What the fine grid adds is at most a quarter cell squared a step, discounted.
    cell = scale / 1000
    assert true.variance_excess <= cell**2 / 4 / (1 - problem.mdp.gamma**2) + 1e-12


def test_moments_agree_with_simulated_returns():
    """Boyan's chain: 20 000 episodes from state 0, mean and variance within five standard errors."""
    from dgtd.algorithms.streams import lane_streams
    from dgtd.algorithms.table import Sampler

    mdp = find_problem("boyan").mdp
    sampler = Sampler(mdp.table, lane_streams(0, range(20_000)))
    outcomes = sampler.draw(12)
    alive = np.cumsum(mdp.table.ends[outcomes], axis=0) - mdp.table.ends[outcomes] == 0
    returns = (mdp.table.reward[outcomes] * alive).sum(0)
    variance = return_variance(mdp)[0]
    assert abs(returns.mean() - mdp.v[0]) < 5 * np.sqrt(variance / len(returns))
    fourth = ((returns - returns.mean()) ** 4).mean()
    assert abs(returns.var() - variance) < 5 * np.sqrt((fourth - variance**2) / len(returns))


@pytest.mark.slow
def test_cramer_widens_the_law_and_nearest_moves_its_mean():
    problem = find_problem("random_mdp(gamma=0.99)")
    spread = return_variance(problem.mdp).max()
    cramer = projected_law(problem.mdp, problem.target("cdf", 51))
    nearest = projected_law(problem.mdp, problem.target("cdf", 51, "nearest"))
    assert cramer.unique
    assert cramer.mean_error < 1e-9
    assert cramer.variance_excess > 4 * spread
    assert nearest.mean_error > 0.1
    assert not nearest.unique


def test_the_law_of_the_random_walk_is_exact():
    """Returns are ∓1: F is the chance of the left end, (1 − v)/2."""
    problem = find_problem("random_walk")
    law = true_law(problem.mdp, CdfTarget(-1.25, 1.25, 11))
    inside = law.cdf[:, 2:9]
    np.testing.assert_allclose(inside, np.tile((1 - problem.mdp.v[:, None]) / 2, (1, 7)), atol=1e-9)


def test_the_optimal_policy_is_optimal_and_mixing_covers_it():
    mdp = find_problem("frozen_lake").mdp
    best = optimal_policy(mdp)
    evaluated = mdp.with_(target=best, behaviour=mix(best, 0.1))
    assert (evaluated.action_values(evaluated.v) <= evaluated.v[:, None] + 1e-9).all()


def good(**changes):
    rows = [(0, 0, 1.0, 1, 0.0, False), (1, 0, 0.5, 0, 1.0, False), (1, 0, 0.5, 1, 0.0, False)]
    rows += [(s, 1, 1.0, s, 0.0, False) for s in (0, 1)]
    fields = {
        "name": "made up",
        "transitions": Transitions.of(rows),
        "gamma": 0.9,
        "behaviour": [[0.5, 0.5], [0.5, 0.5]],
        "target": [[1.0, 0.0], [1.0, 0.0]],
        "features": np.eye(2),
        "theta_initial": np.zeros(2),
    }
    return FiniteMDP(**(fields | changes))


def short_row():
    return Transitions.of([(s, a, 0.9 if (s, a) == (1, 1) else 1.0, 0, 0.0, False) for s in (0, 1) for a in (0, 1)])


def negative_row():
    rows = [(s, a, 1.0, 0, 0.0, False) for s in (0, 1) for a in (0, 1)][:-1]
    return Transitions.of([*rows, (1, 1, -0.5, 0, 0.0, False), (1, 1, 1.5, 1, 0.0, False)])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"transitions": short_row()}, "probabilities of state 1, action 1 must sum to 1, got 0.9"),
        ({"transitions": negative_row()}, "probability of state 1, action 1 must not be negative, got -0.5"),
        ({"behaviour": [[0.0, 1.0], [0.5, 0.5]]}, "behaviour must cover target: in state 0 target takes action 0"),
        ({"behaviour": [[0.5, 0.6], [0.5, 0.5]]}, "behaviour of state 0 must sum to 1, got 1.1"),
        ({"gamma": 1.0}, "gamma must be below 1 in 'made up': under the target policy an episode need not end"),
        ({"gamma": 1.5}, r"gamma must be in \[0, 1\], got 1.5"),
        ({"features": np.eye(3)}, r"features must have shape \(2, any\), got \(3, 3\)"),
        ({"features": [[np.nan, 0], [0, 1]]}, "features must be finite"),
        ({"weights": [0.5, 0.6]}, "weights of row 0 must sum to 1, got 1.1"),
    ],
)
def test_an_impossible_problem_is_refused_in_one_line(changes, says):
    with pytest.raises(ValueError, match=says) as caught:
        good(**changes)
    assert "\n" not in str(caught.value)


def test_a_chain_without_one_stationary_distribution_is_refused():
    apart = Transitions.of([(s, a, 1.0, s, 0.0, False) for s in (0, 1) for a in (0, 1)])
    with pytest.raises(ValueError, match="no unique stationary distribution"):
        _ = good(transitions=apart).d
    np.testing.assert_array_equal(good(transitions=apart, weights=[0.3, 0.7]).d, [0.3, 0.7])


def test_episodes_must_start_somewhere_and_end_sometime():
    rows = [
        (0, 0, 1.0, 0, 0.0, True),
        (1, 0, 1.0, 1, 0.0, False),
        (0, 1, 1.0, 1, 0.0, False),
        (1, 1, 1.0, 1, 0.0, False),
    ]
    with pytest.raises(ValueError, match="start must be given in 'made up'"):
        _ = good(transitions=Transitions.of(rows)).d
    with pytest.raises(ValueError, match="under the behaviour an episode need not end"):
        _ = good(transitions=Transitions.of(rows), start=[1.0, 0.0]).d


def test_the_object_is_immutable():
    mdp = good()
    with pytest.raises(AttributeError):
        mdp.gamma = 0.5  # type: ignore[misc]
