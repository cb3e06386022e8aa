"""Whole runs on one state with one feature, where every number can be written down: snapshots, schedules and deaths.

The state leads to itself with reward 1 and discount γ, and its feature is φ. So there is no chance: f = φθ, u = φw and
δ = 1 + (γ − 1)φθ in every step.
"""

import numpy as np
import pytest
import torch

from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rules import gtd2, td
from dgtd.algorithms.stepping import PowerLaw
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import TransitionTable
from dgtd.algorithms.targets import ValueTarget

GAMMA, PHI, START = 0.9, 1.5, 2.0
ALPHA, BETA, LAW = 0.4, 0.3, PowerLaw(0.9, 0.6, 2.0)
CALLS = ((4, (0, 2, 4)), (3, (4, 5, 7)))  # steps of a call, and the snapshots that it takes
EXPLODES, DYING = (1e100, 1e-3, 1e70), (3, 4)  # α of TD: two lanes overflow, the one between them does not; calls

both_loops = pytest.mark.parametrize("engine", ["linear", "module"])


def begin(rule, engine, lanes):
    """(what runs, its lanes at θ = START and w = 0, how to read θ or w [lanes] from its weights)."""
    one = np.ones(1)
    table = TransitionTable(
        offsets=np.array([0, 1]), probability=one, next_state=np.zeros(1, dtype=np.int64), reward=one,
        discount=GAMMA * one, rho=one, ends=np.zeros(1, dtype=np.bool_), start=one,
    )  # fmt: skip
    features, theta = np.full((1, 1), PHI), np.full((lanes, 1, 1), START)
    streams = lane_streams(0, range(lanes), purpose="by hand")
    if engine == "linear":
        made = LinearEngine(rule, table, features, ValueTarget())
        return made, made.start(theta, streams), lambda weights: weights[:, 0, 0].copy()
    inner = ModuleEngine(rule, torch.nn.Linear(1, 1, bias=False, dtype=torch.float64))
    made = TorchLoop(inner, table, features, ValueTarget())
    state = made.start({"weight": torch.as_tensor(theta)}, streams)
    return made, state, lambda weights: weights["weight"][:, 0, 0].numpy().copy()


@both_loops
def test_snapshots_are_gtd2s_points_at_their_very_steps_over_two_calls(engine):
    path = [(START, 0.0)]  # (θ, w) before every step and after the last: G_θ = (γ − 1)φu and G_w = φ(δ − u)
    for t in range(7):
        theta, w = path[-1]
        delta, u = 1.0 + (GAMMA - 1.0) * PHI * theta, PHI * w
        alpha, beta = ALPHA * (1 + t / 2.0) ** -0.9, BETA * (1 + t / 2.0) ** -0.6
        path.append((theta - alpha * (GAMMA - 1.0) * PHI * u, w + beta * PHI * (delta - u)))
    made, state, read = begin(gtd2, engine, 1)
    options = {"keep_w": True} if engine == "linear" else {}
    for steps, at in CALLS:
        curves = made.run(state, steps, ALPHA, BETA, schedule=LAW, snapshots=at, **options)
        assert list(curves.steps) == list(at)
        found = [(float(read(curves.theta[i])[0]), float(read(curves.w[i])[0])) for i in range(len(at))]
        np.testing.assert_allclose(found, [path[t] for t in at], rtol=1e-12, atol=1e-12)


def td_by_hand(alpha, steps):
    """(the last θ, the first step whose δ is not finite or −1)."""
    theta = START
    for t in range(steps):
        delta = 1.0 + GAMMA * PHI * theta - PHI * theta
        if not np.isfinite(delta):
            return np.nan, t
        theta += alpha * PHI * delta
    return theta, -1


@both_loops
def test_a_lane_that_overflows_in_a_later_call_is_dated_since_the_start_and_its_neighbours_do_not_notice(engine):
    made, state, read = begin(td, engine, len(EXPLODES))
    for steps in DYING:
        made.run(state, steps, np.array(EXPLODES), BETA)
    last, dates = zip(*(td_by_hand(alpha, sum(DYING)) for alpha in EXPLODES), strict=True)
    assert state.died.tolist() == list(dates)
    assert min(date for date in dates if date >= 0) > DYING[0]
    np.testing.assert_allclose(read(state.theta), last, rtol=1e-9)
