"""Exact learning curves against every path written out, closed forms, and the certificates."""

import itertools
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.stepping import RobbinsMonro
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.oracle.averages import at_horizon
from dgtd.harness.oracle.certificates import Dynamics, mean_square
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions
from dgtd.harness.oracle.metrics import Metrics, squares
from dgtd.harness.oracle.moments import Moments
from dgtd.harness.plugins import find_problem

LINEAR = [
    rules.gtd2,
    rules.tdc,
    rules.gtd2_sb,
    rules.td,
    rules.residual_gradient,
    rules.greedy_gq(0.5),
    rules.tdrc(0.7),
]


def two_states(seed, iid, ends):
    """Two states, two actions, off-policy; from state 1 an episode may end."""
    rng = np.random.default_rng(seed)
    rows = []
    for s, a in itertools.product(range(2), range(2)):
        chance = float(rng.uniform(0.2, 0.8))
        rows.append((s, a, chance, 0, float(rng.normal()), False))
        rows.append((s, a, 1 - chance, 1, float(rng.normal()), bool(ends and s == 1 and a == 1)))
    policies = [np.column_stack([p, 1 - p]) for p in rng.uniform(0.2, 0.8, size=(2, 2))]
    return FiniteMDP(
        "two", Transitions.of(rows), gamma=0.9, behaviour=policies[0], target=policies[1],
        features=rng.normal(size=(2, 2)), theta_initial=rng.normal(size=2),
        start=np.array([0.3, 0.7]) if ends else None, weights=np.array([0.4, 0.6]) if iid else None,
    )  # fmt: skip


def by_paths(each, mdp, target, steps, alphas, betas, average, extragradient):
    """E[metrics²] by every sequence of outcomes, stepping with the engine's own directions."""
    table, measure = mdp.table, Metrics(mdp, target)
    here = mdp.d if mdp.iid else np.asarray(table.start)
    state_of = np.repeat(np.arange(mdp.states), np.diff(table.offsets))
    total = np.zeros(len(squares(target)))
    halves = 2 if extragradient else 1

    def step(theta, w, outcome, alpha, beta, from_theta, from_w):
        batch = table.batch(np.full((1, 1), outcome), mdp.features, target)
        g_theta, g_w = directions(each, theta[None], w[None], batch)
        return from_theta - alpha * g_theta[0], from_w + beta * g_w[0]

    def walk(depth, chance, state, theta, w, mass, mean):
        nonlocal total
        if depth == steps * halves:
            point = mean / mass if average and steps else theta
            total = total + chance * measure(np.swapaxes(point @ mdp.features.T, -1, -2), squares(target)) ** 2
            return
        draws = range(len(table.probability)) if mdp.iid else np.flatnonzero(state_of == state)
        for o in draws:
            p = chance * table.probability[o] * (mdp.d[state_of[o]] if mdp.iid else 1.0)
            after = {0: 1.0} if mdp.iid else {int(table.next_state[o]): 1.0}
            if table.ends[o] and not mdp.iid:
                after = dict(enumerate(here))
            n = depth // halves
            if extragradient and depth % 2 == 0:
                middle = step(theta, w, o, alphas[n], betas[n], theta, w)
                for to, share in after.items():
                    second_half(depth + 1, p * share, to, theta, w, middle, mass, mean)
                continue
            at = mean + alphas[n] * theta, mass + alphas[n]
            moved = step(theta, w, o, alphas[n], betas[n], theta, w)
            for to, share in after.items():
                walk(depth + 1, p * share, to, *moved, at[1], at[0])

    def second_half(depth, chance, state, theta, w, middle, mass, mean):
        draws = range(len(table.probability)) if mdp.iid else np.flatnonzero(state_of == state)
        n = depth // 2
        for o in draws:
            p = chance * table.probability[o] * (mdp.d[state_of[o]] if mdp.iid else 1.0)
            after = {0: 1.0} if mdp.iid else {int(table.next_state[o]): 1.0}
            if table.ends[o] and not mdp.iid:
                after = dict(enumerate(here))
            moved = step(*middle, o, alphas[n], betas[n], theta, w)
            for to, share in after.items():
                walk(depth + 1, p * share, to, *moved, mass + alphas[n], mean + alphas[n] * middle[0])

    first = target.start(mdp.theta_initial)
    for state, share in enumerate([1.0] if mdp.iid else here):
        if share > 0:
            walk(0, share, state, first, np.zeros_like(first), 0.0, np.zeros_like(first))
    return total


def assert_exact(found, expected, moments):
    """To rounding, which is of the size of the largest value squared: of θ*'s, of the start's, of the atoms."""
    at_fixed = np.abs(moments.target.mean(moments.predictions(np.zeros(moments.size)))).max()
    highest = max(1.0, at_fixed, getattr(moments.target, "v_max", 1.0), np.abs(expected).max() ** 0.5)
    np.testing.assert_allclose(found.curves[0], expected, rtol=1e-9, atol=1e-12 * highest**2)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), each=st.sampled_from(LINEAR), iid=st.booleans(), ends=st.booleans(),
    lift=st.booleans(), average=st.booleans(), robbins=st.booleans(),
)  # fmt: skip
def test_two_steps_are_the_mean_over_every_path(seed, each, iid, ends, lift, average, robbins):
    mdp = two_states(seed, iid, ends and not iid)
    target = CdfTarget(-12, 12, 4, ("cramer", "nearest", "floor")[seed % 3]).of_linear() if lift else ValueTarget()
    schedule = RobbinsMonro(0.75, 0.55, 2.0) if robbins else None
    alphas, betas = schedule.factors(0, 2) if schedule else (np.ones(2), np.ones(2))
    moments = Moments(each, mdp, target)
    found = moments.run(0.3, 0.2, [2], schedule=schedule, average=average)
    expected = by_paths(each, mdp, target, 2, 0.3 * alphas, 0.2 * betas, average, False)
    assert_exact(found, expected, moments)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), iid=st.booleans(), ends=st.booleans(), average=st.booleans())
def test_mirror_prox_is_the_mean_over_every_path(seed, iid, ends, average):
    mdp = two_states(seed, iid, ends and not iid)
    moments = Moments(rules.gtd2, mdp, ValueTarget())
    found = moments.run(0.3, 0.2, [2], average=average, extragradient=True)
    expected = by_paths(rules.gtd2, mdp, ValueTarget(), 2, 0.3 * np.ones(2), 0.2 * np.ones(2), average, True)
    assert_exact(found, expected, moments)


def test_a_single_transition_has_a_closed_form():
    """One state, φ = 1, r = 1, γ = ½, TD at α = 0.1: v̂ = 2(1 − 0.95ⁿ), and nothing is random."""
    mdp = FiniteMDP(
        "one", Transitions.of([(0, 0, 1.0, 0, 1.0, False)]), gamma=0.5, behaviour=np.ones((1, 1)),
        target=np.ones((1, 1)), features=np.ones((1, 1)), theta_initial=np.zeros(1),
    )  # fmt: skip
    times = [0, 1, 7, 100]
    found = Moments(rules.td, mdp, ValueTarget()).run(0.1, 0.1, times)
    np.testing.assert_allclose(found.of("rmsve"), [(2 * 0.95**n) ** 2 for n in times], rtol=1e-12)
    averaged = Moments(rules.td, mdp, ValueTarget()).run(0.1, 0.1, [7], average=True)  # of θ₀ … θ₆
    mean = np.mean([2 * (1 - 0.95**n) for n in range(7)])
    np.testing.assert_allclose(averaged.of("rmsve"), [(mean - 2) ** 2], rtol=1e-12)


@pytest.mark.parametrize("trajectory", [False, True])
def test_the_second_moment_grows_as_the_certificate_says(trajectory):
    """Far out, E‖·‖² changes by the mean-square radius at every step: here it grows, on θ → 2θ."""
    problem = find_problem("two_state")
    mdp = problem.mdp if trajectory else problem.mdp.with_(weights=problem.mdp.d)
    radius = mean_square(Dynamics(rules.gtd2, mdp, ValueTarget(), 0.01, 0.2), trajectory=trajectory).radius
    found = Moments(rules.gtd2, mdp, ValueTarget()).run(0.01, 0.2, [20_000, 20_001])
    first, second = found.of("rmsve")
    assert second / first == pytest.approx(radius, abs=1e-7)
    assert (radius > 1) == trajectory


def test_what_grows_without_bound_is_said_and_stops():
    problem = find_problem("baird")
    found = Moments(rules.td, problem.mdp, ValueTarget()).run(0.5, 0.5, [0, 100, 3000, 5000])
    assert found.grown == 3000
    assert np.isfinite(found.curves[:2]).all()
    assert np.isnan(found.curves[2:]).all()


def test_more_checkpoints_do_not_change_the_curve():
    problem = find_problem("boyan")
    moments = Moments(rules.gtd2, problem.mdp, ValueTarget())
    every, few = moments.run(0.05, 0.1, range(51)), moments.run(0.05, 0.1, [10, 50])
    assert np.array_equal(every.curves[[10, 50]], few.curves)


def test_boyan_after_a_thousand_steps():
    """As 20 000 simulated lanes have it: 3.2574 ± 0.0002."""
    problem = find_problem("boyan")
    found = Moments(rules.gtd2, problem.mdp, ValueTarget()).run(0.05, 0.1, [1000])
    assert found.of("rmspbe")[0] == pytest.approx(3.2576, abs=5e-5)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("each", [rules.gtd2, rules.tdrc(0.5)])
def test_powers_of_the_map_are_the_recursion(each, average):
    problem = find_problem("random_walk")
    moments = Moments(each, problem.mdp.with_(weights=problem.mdp.d), ValueTarget())
    times = [0, 1, 2, 7, 64, 1000]
    step, power = (run(0.05, 0.1, times, average=average) for run in (moments.run, partial(at_horizon, moments)))
    np.testing.assert_allclose(power.curves, step.curves, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(power.mean, step.mean, rtol=1e-9, atol=1e-12)


def test_powers_say_where_moments_grow_and_what_they_are_not_for():
    problem = find_problem("random_walk")
    moments = Moments(rules.gtd2, problem.mdp.with_(weights=problem.mdp.d), ValueTarget())
    found = at_horizon(moments, 30.0, 30.0, [0, 10, 10**6])
    assert found.grown == 10**6
    assert np.isnan(found.curves[2]).all()
    assert np.isfinite(found.curves[:2]).all()
    with pytest.raises(ValueError, match="powers are for independent transitions"):
        at_horizon(Moments(rules.gtd2, problem.mdp, ValueTarget()), 0.1, 0.1, [10])
    lift = Moments(rules.gtd2, problem.mdp.with_(weights=problem.mdp.d), CdfTarget(-2, 2, 9).of_linear())
    with pytest.raises(ValueError, match="powers are for small problems: 121² rows here, at most 1100"):
        at_horizon(lift, 0.1, 0.1, [10])


def test_bad_input_names_the_argument():
    @rule(linear=False)
    def squashed(delta, u, rho):
        return Cotangents(-rho * np.tanh(delta), rho * u, rho * delta - u)

    boyan = find_problem("boyan")
    with pytest.raises(ValueError, match="rule 'squashed' must be linear"):
        Moments(squashed, boyan.mdp, ValueTarget())
    with pytest.raises(ValueError, match="exact curves need 501 × 1000 × 1000 numbers here, and may have 30,000,000"):
        Moments(rules.gtd2, find_problem("taxi").mdp, ValueTarget()).run(0.1, 0.1, [10])
    with pytest.raises(ValueError, match="rules whose w does not decay, got 'tdrc"):
        Moments(rules.tdrc(1.0), boyan.mdp, ValueTarget()).run(0.1, 0.1, [10], extragradient=True)
    for times in ([], [-1]):
        with pytest.raises(ValueError, match="times must be 0 or more"):
            Moments(rules.gtd2, boyan.mdp, ValueTarget()).run(0.1, 0.1, times)


BITS = """
from dgtd.algorithms.rules import find_rule
from dgtd.harness.experiment.exact import squares
place = dict(problem="boyan", target="cdf", atoms=5, projection="cramer", schedule="constant", steps=500)
print(squares(find_rule("gtd2"), 0.1, 0.1, [0, 100, 500], **place))
"""


@pytest.mark.slow
def test_code_that_was_just_compiled_and_code_from_the_cache_give_the_same_bits(tmp_path):
    env = os.environ | {"DGTD_CACHE": str(tmp_path)}
    first, again = (
        subprocess.run([sys.executable, "-c", BITS], env=env, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first == again
    assert first.startswith("[8.5688019255346")
