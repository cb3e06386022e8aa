"""Cases at the edges of the oracle: ill-conditioned features, many parameters, long horizons, where lanes start."""

import numpy as np
import pytest

from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle import objectives, returns
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.oracle.objectives import Objective, linear
from dgtd.harness.oracle.returns import true_law

RNG = np.random.default_rng(4)
P, R = RNG.dirichlet(np.ones(3), size=(3, 2)), RNG.random((3, 2, 3))
BEHAVIOUR, TARGET = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]), np.array([[0.4, 0.6], [0.5, 0.5], [0.9, 0.1]])


def going_on(features=None, gamma=0.9, **rest):
    """Three states and two actions; nothing ends."""
    X = np.eye(3) if features is None else np.asarray(features, dtype=float)
    return FiniteMDP.from_arrays(
        "going on", P, R, gamma=gamma, behaviour=BEHAVIOUR, target=TARGET, features=X,
        theta_initial=np.zeros(X.shape[1]), **rest,
    )  # fmt: skip


def coin(gamma=0.9):
    """In state 0 a fair coin decides between rewards 1 and −1, and one goes on there; from state 1 one gets there."""
    rows = [(0, 0, 0.5, 0, 1.0, False), (0, 0, 0.5, 0, -1.0, False), (1, 0, 1.0, 0, 0.0, False)]
    sure = np.ones((2, 1))
    return FiniteMDP("coin", Transitions.of(rows), gamma, sure, sure, np.eye(2), np.zeros(2), weights=[0.5, 0.5])


# ---------------------------------------------------------------------- where lanes start


def test_a_problem_that_goes_on_starts_where_its_behaviour_is_in_the_long_run():
    chain = np.einsum("sa,sat->st", BEHAVIOUR, P)
    long = np.linalg.matrix_power(chain, 4096)  # every row
    mdp = going_on()
    np.testing.assert_allclose(mdp.table.start, long[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(mdp.d, long[0], rtol=0, atol=1e-12)
    assert long[0].min() > 0.1


def test_episodes_start_where_it_is_said_and_independent_transitions_where_their_weights_are():
    rows = [(0, 0, 1.0, 1, 0.0, False), (1, 0, 1.0, 1, 1.0, True), (2, 0, 1.0, 1, 0.0, False)]
    sure, start = np.ones((3, 1)), [0.25, 0.0, 0.75]
    ends = FiniteMDP("ends", Transitions.of(rows), 1.0, sure, sure, np.eye(3), np.zeros(3), start)
    assert ends.table.start.tolist() == start
    assert ends.d.tolist() == [0.125, 0.5, 0.375]
    assert going_on(weights=[0.2, 0.3, 0.5]).table.start.tolist() == [0.2, 0.3, 0.5]


# ---------------------------------------------------------------------- returns


@pytest.mark.parametrize("gamma", [0.0, 0.9, 0.999])
def test_bounds_of_returns_are_those_of_the_sum(gamma):
    low, high = coin(gamma).return_bounds()
    most = 1 / (1 - gamma)
    assert (low, high) == pytest.approx((-most, most), rel=0, abs=1e-6)


def test_the_resolution_of_a_law_is_how_far_a_grid_half_as_fine_is(monkeypatch):
    """Both laws by dense matrices, from a grid of 100 cells and from one of 50; in state 1 it is another than in 0."""
    monkeypatch.setattr(returns, "FINE", 100)
    target, laws = CdfTarget(-10.5, 10.5, 6), []
    for cells in (100, 50):
        grid = CdfTarget(-10.5, 10.5, cells + 1)
        up, down, still = (grid.shift(reward, 0.9) for reward in (1.0, -1.0, 0.0))
        T, t = (up.matrix() + down.matrix()) / 2, (up.constant + down.constant) / 2
        first = np.linalg.solve(np.eye(cells) - T, t)
        second = still.matrix() @ first + still.constant
        laws.append(np.stack([first, second])[:, :: cells // 5])
    found = true_law(coin(), target)
    np.testing.assert_allclose(found.cdf, laws[0], rtol=0, atol=1e-10)
    each = np.sqrt(target.spacing * ((laws[0] - laws[1]) ** 2).sum(1))
    assert found.resolution == pytest.approx(each.max(), rel=1e-9)
    assert each.max() > 1.05 * each.min() > 1e-5


# ---------------------------------------------------------------------- projections


def test_directions_in_which_features_are_small_are_projected_on_too():
    """The second feature is about a thousandth of the first: C's condition number is 10⁶."""
    X = np.array([[1.0, 1.0], [0.5, -1.0], [1.0, 2.0]]) * [1.0, 8e-4]
    mdp = going_on(X)
    assert 1e6 < np.linalg.cond(mdp.C) < 2e6
    np.testing.assert_allclose(mdp.C_inverse @ mdp.C, np.eye(2), rtol=0, atol=1e-6)
    root, error = np.sqrt(mdp.d), mdp.r_pi
    fitted = (root[:, None] * X) @ np.linalg.lstsq(root[:, None] * X, root * error, rcond=None)[0]
    assert mdp.mspbe(np.zeros(2)) == pytest.approx(fitted @ fitted, rel=1e-8)
    only = X[:, 0] @ (mdp.d * error) / np.sqrt(X[:, 0] @ (mdp.d * X[:, 0]))
    assert fitted @ fitted > 1.01 * only**2  # what the first feature alone explains is less


@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-4])
def test_with_more_than_256_parameters_w_is_the_shortest_that_solves_its_equations(smallest):
    """260 features of three states: 257 directions are null, and one may be small without being so."""
    draws = [np.random.default_rng(seed).normal(size=(size, 3)) for seed, size in ((0, 3), (1, 260))]
    left, right = (np.linalg.qr(each)[0] for each in draws)
    d = going_on().d
    X = (left * [1.0, 0.5, smallest]) @ right.T / np.sqrt(d)[:, None]
    mdp, theta = going_on(X), np.linspace(-1.0, 1.0, 260)
    objective = Objective(mdp, ValueTarget(), linear(X))
    assert X.shape[1] > objectives.MANY
    values = X @ theta
    delta = mdp.r_pi + 0.9 * mdp.P_pi @ values - values
    best = np.linalg.lstsq(np.sqrt(d)[:, None] * X, np.sqrt(d) * delta, rcond=1e-10)[0]
    found = objective.optimal_w(theta)
    np.testing.assert_allclose(found, best, rtol=0, atol=1e-6 * np.abs(best).max())
    assert objective.value(theta) == pytest.approx(d @ delta**2, rel=1e-7)  # three directions are all there are
