"""Certificates where the answer is known: scalar problems in closed form, others by E[M⊗M] of the engine's own steps.

Many cases lie above 1, so that an error that makes a radius or an exponent smaller is seen.
"""

from functools import cache

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import TransitionTable
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.certificates import (
    Certificate,
    Class,
    Dynamics,
    certify,
    classify,
    lyapunov,
    lyapunov_rates,
    mean_square,
)
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.plugins import find_problem

FALSE_ALARM = 1e-6  # of each interval for an exponent, for any seed
STABLE, MARGINAL, HEAVY, DIVERGING = Class.STABLE, Class.MARGINAL, Class.HEAVY_TAILED, Class.DIVERGING


def small(rows, features, gamma, **rest):
    one = np.ones((len(features), 1))
    return FiniteMDP(
        "small", Transitions.of([(s, 0, p, to, r, False) for s, p, to, r in rows]), gamma=gamma, behaviour=one,
        target=one, features=np.array(features), theta_initial=np.zeros(len(features[0])), **rest,
    )  # fmt: skip


def still():
    """One state, φ = 1, γ = ½: M = 1 − α/2, and no chance in it."""
    return small([(0, 1.0, 0, 1.0)], [[1.0]], 0.5)


def pair():
    """Two states, φ = 1 and 2, γ = ½, the next one of either with chances 0.3 and 0.7: on-policy, with rewards."""
    moves = [(s, p, to, 0.4 * s - 0.3 * to) for s in (0, 1) for to, p in ((0, 0.3), (1, 0.7))]
    return small(moves, [[1.0], [2.0]], 0.5)


def swing():
    """Two states in turn, two features, off the mark: every second M is the same."""
    return small([(0, 1.0, 1, 1.0), (1, 1.0, 0, -0.5)], [[1.0, 0.3], [-0.4, 1.0]], 0.9)


def scalars(name, alpha):
    """(chance, from, to, M) of TD, by hand: M = 1 + αρφ(γφ' − φ)."""
    if name == "still":
        return [(1.0, 0, 0, 1 - alpha / 2)]
    if name == "two_state":  # ρ = 0 to the first state, 2 to the second
        return [(0.25, 0, 0, 1.0), (0.25, 0, 1, 1 + 1.6 * alpha), (0.25, 1, 0, 1.0), (0.25, 1, 1, 1 - 0.8 * alpha)]
    return [
        (0.09, 0, 0, 1 - 0.5 * alpha), (0.21, 0, 1, 1.0), (0.21, 1, 0, 1 - 3 * alpha), (0.49, 1, 1, 1 - 2 * alpha),
    ]  # fmt: skip


@cache
def mdp_of(name):
    made = {"still": still, "pair": pair, "swing": swing}
    return made[name]() if name in made else find_problem(name).mdp


# TD at these α. At 0.625 on θ → 2θ E log|M| = ¼log(2 · ½) = 0; on one state M = −1 at α = 4.
SCALARS = [
    ("still", 1.0, STABLE),
    ("still", 4.0, MARGINAL),
    ("still", 5.0, DIVERGING),
    ("two_state", 0.01, DIVERGING),
    ("two_state", 0.1, DIVERGING),
    ("two_state", 0.625, MARGINAL),
    ("two_state", 1.0, HEAVY),
    ("two_state", 1.4, HEAVY),
    ("two_state", 2.5, DIVERGING),
    ("pair", 0.05, STABLE),
    ("pair", 0.4, STABLE),
    ("pair", 0.9, HEAVY),
    ("pair", 1.5, DIVERGING),
]


@pytest.mark.parametrize(("name", "alpha", "kind"), SCALARS)
def test_a_scalar_problem_has_its_closed_form_and_its_class(name, alpha, kind):
    """Radius E[M²], exponent E log|M|. False alarm: 1e-6 each."""
    outcomes = scalars(name, alpha)
    mean, square, exponent = (
        sum(p * f(M) for p, _, _, M in outcomes) for f in (lambda M: M, lambda M: M * M, lambda M: np.log(abs(M)))
    )
    found = certify(rules.td, mdp_of(name), ValueTarget(), alpha, 1.0, steps=8000, confidence=1 - FALSE_ALARM)
    assert found.mean_radius == pytest.approx(abs(mean), rel=1e-12)
    assert found.mean_abscissa == pytest.approx((mean - 1) / alpha, rel=1e-9)
    assert found.mean_square_radius == pytest.approx(square, rel=1e-9)
    low, high = found.mean_square_bracket
    assert low <= square <= high
    assert high - low < 1e-9
    low, high = found.lyapunov
    assert low - 1e-12 <= exponent <= high + 1e-12
    assert high - low < 0.05
    assert found.kind is kind
    assert found.stable == (None if name == "still" and kind is MARGINAL else kind is STABLE)


@pytest.mark.parametrize(("name", "alpha"), [("two_state", 0.1), ("two_state", 1.0), ("pair", 0.9), ("pair", 1.5)])
def test_along_a_trajectory_a_scalar_keeps_its_exponent_and_has_another_radius(name, alpha):
    """The radius of [to, from] ↦ P(to | from) M²; the exponent is an average, which order does not change."""
    outcomes, mdp = scalars(name, alpha), mdp_of(name)
    along = np.zeros((2, 2))
    for p, s, to, M in outcomes:
        along[to, s] += p / mdp.d[s] * M * M
    trace, determinant = np.trace(along), np.linalg.det(along)
    radius = trace / 2 + np.sqrt(trace**2 / 4 - determinant)
    dynamics = Dynamics(rules.td, mdp, ValueTarget(), alpha, 1.0)
    found = mean_square(dynamics, trajectory=True)
    assert found.low <= radius <= found.high
    assert found.high - found.low < 1e-9
    assert abs(radius - mean_square(dynamics).radius) > 1e-4
    low, high = lyapunov(dynamics, steps=8000, confidence=1 - FALSE_ALARM, trajectory=True)
    assert low <= sum(p * np.log(abs(M)) for p, _, _, M in outcomes) <= high
    assert high - low < 0.05


@pytest.mark.parametrize(("alpha", "growth"), [(1.0, np.log(0.5)), (5.0, np.log(1.5)), (20.0, np.log(9.0))])
def test_growth_without_chance_is_exact_in_every_lane(alpha, growth):
    dynamics = Dynamics(rules.td, mdp_of("still"), ValueTarget(), alpha, 1.0)
    np.testing.assert_allclose(lyapunov_rates(dynamics, 4, 2000, seed=0), growth, rtol=1e-12)
    low, high = lyapunov(dynamics, lanes=4, steps=2000)
    assert low == pytest.approx(growth, rel=1e-12)
    assert high == pytest.approx(growth, rel=1e-12)


def test_an_interval_for_an_exponent_is_the_t_interval_of_its_lanes():
    """Student's t with 5 degrees of freedom has 2.571 at 95 % and 4.032 at 99 %."""
    dynamics = Dynamics(rules.td, mdp_of("two_state"), ValueTarget(), 1.0, 1.0)
    rates = lyapunov_rates(dynamics, 6, 2000, seed=3)
    error = np.sqrt(((rates - rates.mean()) ** 2).sum() / 5 / 6)
    for confidence, critical in ((0.95, 2.5706), (0.99, 4.0321)):
        low, high = lyapunov(dynamics, 6, 2000, 3, confidence)
        assert low == pytest.approx(rates.mean() - critical * error, rel=1e-4)
        assert high == pytest.approx(rates.mean() + critical * error, rel=1e-4)


# ---------------------------------------------------------------------- E[M⊗M] from the engine


def steps_of(rule, mdp, target, alpha, beta):
    """M of every outcome of the table: an engine that can take only this step, from 0 and from each unit vector."""
    t, n, k = mdp.table, target.outputs, mdp.features.shape[1]
    size, out = n * k, []
    for o in range(len(t.probability)):
        every = np.full(t.states, o)
        only = TransitionTable(
            offsets=np.arange(t.states + 1), probability=np.ones(t.states), next_state=t.next_state[every],
            reward=t.reward[every], discount=t.discount[every], rho=t.rho[every], ends=t.ends[every],
            start=np.eye(t.states)[t.state[o]], iid=True,
        )  # fmt: skip
        engine = LinearEngine(rule, only, mdp.features, target)
        x = np.vstack([np.zeros(2 * size), np.eye(2 * size)])
        lanes = engine.start(x[:, :size].reshape(-1, n, k), lane_streams(0, range(len(x))))
        lanes.w[:] = x[:, size:].reshape(-1, n, k)
        engine.run(lanes, 1, alpha, beta)
        after = np.concatenate([part.reshape(len(x), size) for part in (lanes.theta, lanes.w)], axis=1)
        out.append((after[1:] - after[0]).T)
    return np.array(out)


def radius_of(mdp, M, trajectory):
    """Of E[M⊗M], or of its version with one second moment per state."""
    t, side = mdp.table, M.shape[1] ** 2
    count = mdp.states if trajectory else 1
    whole = np.zeros((count, side, count, side))
    for o, chance in enumerate(t.probability):
        s, square = t.state[o], np.kron(M[o], M[o])
        if not trajectory:
            whole[0, :, 0] += mdp.d[s] * chance * square
        elif t.ends[o]:
            for to in range(count):
                whole[to, :, s] += mdp.start[to] * chance * square
        else:
            whole[t.next_state[o], :, s] += chance * square
    return np.abs(np.linalg.eigvals(whole.reshape(count * side, count * side))).max()


LIFT = CdfTarget(-1.0, 1.0, 3)
PLACES = {
    "two_state": (lambda: mdp_of("two_state"), ValueTarget()),
    "two_state, lifted": (lambda: mdp_of("two_state"), LIFT),
    "tsitsiklis_van_roy": (lambda: mdp_of("tsitsiklis_van_roy"), ValueTarget()),
    "tsitsiklis_van_roy, lifted": (lambda: mdp_of("tsitsiklis_van_roy"), LIFT),
    "episodes": (
        lambda: mdp_of("tsitsiklis_van_roy").with_(weights=None, start=np.array([0.8, 0.2])),
        ValueTarget(),
    ),
    "swing": (lambda: mdp_of("swing"), ValueTarget()),
    "pair, lifted": (lambda: mdp_of("pair"), LIFT),  # rewards move its laws
}
RULES = [rules.gtd2, rules.tdc, rules.tdrc(1.0), rules.gtd2_sb]
STEPS = [(0.02, 0.1), (0.01, 0.2), (0.5, 0.1), (0.2, 0.6), (1.0, 1.0), (2.0, 3.0)]


@pytest.mark.parametrize("each", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("place", PLACES)
def test_the_radius_is_that_of_the_engines_own_steps(place, each):
    """Pooled, and by state along trajectories; some of the step sizes are stable and some are not."""
    make, target = PLACES[place]
    mdp, above = make(), []
    for alpha, beta in STEPS:
        M = steps_of(each, mdp, target, alpha, beta)
        dynamics = Dynamics(each, mdp, target, alpha, beta)
        for trajectory in (False, True):
            radius = radius_of(mdp, M, trajectory and not mdp.iid)
            found = mean_square(dynamics, trajectory)
            assert found.low - 1e-9 * radius <= radius <= found.high + 1e-9 * radius
            assert found.radius == pytest.approx(radius, rel=1e-8)
            above.append(radius > 1.01)
        mean = np.abs(np.linalg.eigvals(np.einsum("o,oij->ij", mdp.mass, M))).max()
        assert np.abs(np.linalg.eigvals(dynamics.mean)).max() == pytest.approx(mean, rel=1e-9)
    assert sum(above) >= 3
    assert sum(above) < len(above)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 2.0), (1.0, 1.5), (3.0, 1.0)])
def test_states_in_turn_grow_by_the_product_of_their_two_steps(alpha, beta):
    """Per two steps x ← M₁M₀x: the radius is that of M₁M₀, and the exponent half its logarithm."""
    mdp = mdp_of("swing")
    first, second = steps_of(rules.tdc, mdp, ValueTarget(), alpha, beta)
    values = np.linalg.eigvals(second @ first)
    product = np.abs(values).max()
    dynamics = Dynamics(rules.tdc, mdp, ValueTarget(), alpha, beta)
    assert mean_square(dynamics, trajectory=True).radius == pytest.approx(product, rel=1e-8)
    rates = lyapunov_rates(dynamics, 4, 20_000, seed=0, trajectory=True)
    # Complex eigenvalues turn, and the length of x swings by a bounded factor: below 30 over 18 000 steps.
    np.testing.assert_allclose(rates, np.log(product) / 2, atol=np.log(30) / 18_000)
    pooled = lyapunov(dynamics, steps=20_000, confidence=1 - FALSE_ALARM)
    assert max(pooled) < np.log(product) / 2 - 0.03  # independent transitions mix the two steps


# ---------------------------------------------------------------------- classes


@pytest.mark.parametrize(
    ("radius", "exponent", "kind", "stable"),
    [
        ((0.8, 0.9), (-0.2, -0.1), STABLE, True),
        ((0.8, 0.9), (-0.1, 0.1), STABLE, True),  # the radius alone decides
        ((0.8, 1.0), (-0.2, -0.1), MARGINAL, None),
        ((0.9, 1.1), (-0.2, -0.1), MARGINAL, None),
        ((1.0, 1.1), (-0.2, -0.1), MARGINAL, None),
        ((1.1, 1.2), (-0.2, -0.1), HEAVY, False),
        ((1.1, 1.2), (-0.2, 0.0), MARGINAL, False),
        ((1.1, 1.2), (-0.1, 0.1), MARGINAL, False),
        ((1.1, 1.2), (0.0, 0.1), MARGINAL, False),
        ((1.1, 1.2), (0.1, 0.2), DIVERGING, False),
        ((0.9, 1.1), (0.1, 0.2), DIVERGING, None),
        ((1.1, np.inf), (-0.2, -0.1), HEAVY, False),
    ],
)
def test_a_class_is_what_both_intervals_say_for_sure(radius, exponent, kind, stable):
    assert classify(radius, exponent) is kind
    found = Certificate(0.0, 1.0, sum(radius) / 2, radius, exponent)
    assert (found.kind, found.stable) == (kind, stable)
