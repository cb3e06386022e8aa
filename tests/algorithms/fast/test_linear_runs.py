"""Whole runs of the linear engine against the same run written out step by step."""

from functools import partial

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.rule import Cotangents, rule
from dgtd.algorithms.stepping import RobbinsMonro, mirror_descent, mirror_prox
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import Sampler
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.problems import baird, walk

FEATURES = np.random.default_rng(9).normal(size=(5, 3))


@rule(linear=False)
def squashed(delta, u, rho):
    return Cotangents(-rho * delta / (1 + abs(delta)), rho * u, rho * delta - u)


def written_out(each, target, theta, steps, alpha, beta, schedule=None, radius=np.inf, extragradient=False):
    """One lane, one directions() call at a time, on the transitions of stream 0."""
    table = walk()
    outcomes = Sampler(table, lane_streams(4, [0])).draw(2 * steps)
    a, b = schedule.factors(0, steps) if schedule else (np.ones(steps), np.ones(steps))
    w = np.zeros_like(theta)
    points, weights = [], []
    used = 0
    for t in range(steps):

        def field(at, aux, ratio=b[t] * beta / (a[t] * alpha)):
            nonlocal used
            batch = table.batch(outcomes[used : used + 1].T, FEATURES, target)
            used += 1
            g_theta, g_w = directions(each, at[None], aux[None], batch)
            return g_theta[0], ratio * g_w[0]

        take = mirror_prox if extragradient else mirror_descent
        theta, w, *counted = take(field, theta, w, alpha * a[t], radius)
        points.append(counted)
        weights.append(alpha * a[t])
    return theta, w, *np.average(points, axis=0, weights=weights)


@pytest.mark.parametrize("each", [rules.gtd2, rules.tdc, rules.td, rules.tdrc(0.5), squashed], ids=lambda r: r.name)
@pytest.mark.parametrize("target", [ValueTarget(), CdfTarget(-2, 2, 5)], ids=["value", "cdf"])
@pytest.mark.parametrize(
    "options",
    [{}, {"radius": 0.8}, {"schedule": RobbinsMonro(offset=20.0)}, {"extragradient": True}],
    ids=["plain", "ball", "robbins-monro", "mirror-prox"],
)
def test_a_run_is_the_run_written_out(each, target, options):
    theta = np.random.default_rng(0).normal(size=(target.outputs, 3))
    engine = LinearEngine(each, walk(), FEATURES, target)
    state = engine.start(theta, lane_streams(4, range(3)))
    curves = engine.run(state, 60, 0.05, 0.1, average=True, keep_w=True, snapshots=[0, 60], **options)
    expected = written_out(each, target, theta, 60, 0.05, 0.1, **options)
    for found, wanted in zip((state.theta, state.w, state.theta_mean, state.w_mean), expected, strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(curves.theta[0, 0], theta)
    for snapshot, now in ((curves.theta, state.theta), (curves.w, state.w), (curves.theta_mean, state.theta_mean)):
        np.testing.assert_array_equal(snapshot[-1], now)


def test_a_lane_alone_is_bit_equal_to_the_lane_among_64():
    table, features, _ = baird()
    engine = LinearEngine(rules.tdc, table, features, CdfTarget(-1, 1, 7))
    begin = np.random.default_rng(0).normal(size=(6, 8))
    streams = lane_streams(0, range(64))
    many, one = engine.start(begin, streams), engine.start(begin, streams[37:38])
    engine.run(many, 500, 0.01, 0.05)
    engine.run(one, 500, 0.01, 0.05)
    assert (many.theta[37] == one.theta[0]).all()
    assert (many.w[37] == one.w[0]).all()
    assert len({row.tobytes() for row in many.theta}) == 64


def test_threads_change_no_bit_and_parts_join():
    table, features, theta = baird()
    engine = LinearEngine(rules.gtd2, table, features, ValueTarget())
    streams = lane_streams(0, range(8))
    one, two, parts = (engine.start(theta, streams) for _ in range(3))
    engine.run(one, 300, 0.01, 0.01, threads=1)
    engine.run(two, 300, 0.01, 0.01, threads=2)
    for length in (1, 99, 200):
        engine.run(parts, length, 0.01, 0.01)
    assert (one.theta == two.theta).all()
    assert (one.theta == parts.theta).all()
    assert parts.steps == 300


def test_step_sizes_may_differ_by_lane():
    table, features, theta = baird()
    engine = LinearEngine(rules.tdc, table, features, ValueTarget())
    streams = lane_streams(0, range(3))
    alphas, betas = np.array([0.001, 0.002, 0.004]), np.array([0.01, 0.05, 0.02])
    together = engine.start(theta, streams)
    engine.run(together, 100, alphas, betas)
    for lane in range(3):
        alone = engine.start(theta, streams[lane : lane + 1])
        engine.run(alone, 100, alphas[lane], betas[lane])
        assert (alone.theta[0] == together.theta[lane]).all()


def test_a_lane_that_overflows_is_dated_and_leaves_its_neighbours_alone():
    table, features, theta = baird()
    engine = LinearEngine(rules.td, table, features, ValueTarget())
    streams = lane_streams(0, range(4))
    state, calm = engine.start(theta, streams), engine.start(theta, streams[1:2])
    alphas = np.array([0.5, 1e-4, 0.5, 1e-4])
    curves = engine.run(state, 5000, alphas, 0.1, snapshots=[0, 5000])
    engine.run(calm, 5000, 1e-4, 0.1)
    assert (state.died >= 0).tolist() == [True, False, True, False]
    assert (state.theta[1] == calm.theta[0]).all()
    assert np.isnan(curves.theta[1, 0]).all()
    assert np.isfinite(curves.theta[1, 1]).all()
    # The date is right: the lane was alive before that step and dead after it.
    again = engine.start(theta, streams[:1])
    engine.run(again, int(state.died[0]), 0.5, 0.1)
    assert again.died[0] == -1
    assert np.isfinite(again.theta).any()
    engine.run(again, 1, 0.5, 0.1)
    assert again.died[0] == state.died[0]


def test_every_rule_sees_the_same_transitions():
    table, features, theta = baird()
    streams = lane_streams(0, range(4))
    states = []
    for each in (rules.td, rules.gtd2, squashed):
        engine = LinearEngine(each, table, features, ValueTarget())
        state = engine.start(theta, streams)
        engine.run(state, 50, 1e-4, 1e-4)
        states.append((state.sampler.state.tolist(), state.sampler.streams.tolist()))
    assert states[0] == states[1] == states[2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda e, s: e.run(s, 5, 0.0, 0.1), "alpha must be positive and finite, got"),
        (lambda e, s: e.run(s, 5, 0.1, np.inf), "beta must be positive and finite, got"),
        (lambda e, s: e.run(s, 5, 0.1, 0.1, radius=0.0), "radius must be positive, got 0.0"),
        (lambda e, s: e.run(s, 5, 0.1, 0.1, snapshots=[1.5]), "snapshots must be whole numbers"),
        (lambda e, s: e.run(s, -1, 0.1, 0.1), "steps must be at least 0, got -1"),
        (lambda e, s: e.run(s, 1.5, 0.1, 0.1), "steps must be a whole number, got 1.5"),
        (lambda e, s: e.run(s, 5, 0.1, 0.1, snapshots=[9]), r"snapshots must be in \[0, 5\], got 9"),
        (lambda e, s: e.start(np.zeros((2, 8)), lane_streams(0, [0])), r"theta must have shape \(1, 8\), got \(2, 8\)"),
        (lambda e, s: e.start([[np.nan] * 8], lane_streams(0, [0])), "theta must be finite, got nan"),
    ],
)
def test_bad_arguments_are_refused_before_a_step_is_taken(call, says):
    table, features, theta = baird()
    engine = LinearEngine(rules.gtd2, table, features, ValueTarget())
    state = engine.start(theta, lane_streams(0, [0]))
    with pytest.raises(ValueError, match=says):
        call(engine, state)
    assert state.steps == 0
    assert (state.theta == theta).all()


def test_features_must_fit_the_table_and_be_finite():
    table, features, _ = baird()
    make = partial(LinearEngine, rules.gtd2, table, target=ValueTarget())
    with pytest.raises(ValueError, match=r"features must have shape \(7, any\), got \(6, 8\)"):
        make(features[:6])
    with pytest.raises(ValueError, match=r"features must be finite, got nan at index \(2, 1\)"):
        make(np.where(np.arange(8) + 8 * np.arange(7)[:, None] == 17, np.nan, features))


def test_a_rule_that_numba_cannot_compile_says_so():
    @rule(linear=False)
    def prints(delta, u, rho):
        return Cotangents(*[getattr(x, "__abs__")() for x in (delta, u, rho)])  # noqa: B009

    table, features, _ = baird()
    with pytest.raises(ValueError, match="'prints' is not arithmetic that numba compiles"):
        LinearEngine(prints, table, features, ValueTarget())
