"""Growth of long products where there is no chance, and laws that are fixed points: one state, one feature."""

import numpy as np
import pytest

from dgtd.algorithms.rules import tdc
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.certificates import Dynamics, lyapunov_rates
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.oracle.returns import projected_law

GAMMA, PHI = 0.9, 1.5


def one_state(reward):
    """A state that leads to itself."""
    one = np.ones((1, 1))
    return FiniteMDP(
        "one state", Transitions.of([(0, 0, 1.0, 0, reward, False)]), gamma=GAMMA, behaviour=one, target=one,
        features=PHI * one, theta_initial=np.zeros(1), start=np.ones(1),
    )  # fmt: skip


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.4), (20.0, 0.4)], ids=["shrinks", "grows"])
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_the_exponent_of_tdc_is_the_log_of_its_matrixs_radius_whatever_the_reward(alpha, beta, reward):
    """Of a deviation (θ, w): δ = (γ − 1)φθ, θ ← θ + αφ(δ − γu), w ← w + βφ(δ − u) with u = φw."""
    square = PHI**2
    matrix = [
        [1 + alpha * (GAMMA - 1) * square, -alpha * GAMMA * square],
        [beta * (GAMMA - 1) * square, 1 - beta * square],
    ]
    found = lyapunov_rates(Dynamics(tdc, one_state(reward), ValueTarget(), alpha, beta), 3, 160, seed=0)
    np.testing.assert_allclose(found, np.log(np.abs(np.linalg.eigvals(matrix)).max()), rtol=0, atol=1e-9)


def test_with_nearest_a_slow_discount_moves_no_atom_and_every_law_is_a_fixed_point():
    """Five atoms: each is nearest to where γ moves it, so I − T is 0. With `cramer` one law is a fixed point."""
    assert max(abs(z / GAMMA - z) for z in range(4)) < 0.5
    assert not projected_law(one_state(0.0), CdfTarget(0.0, 4.0, 5, "nearest")).unique
    assert projected_law(one_state(0.0), CdfTarget(0.0, 4.0, 5, "cramer")).unique
