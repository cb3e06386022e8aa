"""The trainers of learners in worlds are the plain driver's, step by step: what is done, drawn, learnt and renewed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from dgtd.algorithms.agents import Players
from dgtd.harness.experiment.search import agent_learner, iterating_learner, run_spec
from dgtd.harness.places.world import Moved, WorldInfo
from dgtd.harness.runs.spec import PredictorSpec, StepSchedule
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.policy_iteration import Iterating
from tests.harness.runs import plain_driver

LANES, STEPS = 3, 90


class Alley:
    """Places 0 … 6, to the left or to the right: below 0 and above 6 it ends, after 5 steps it is cut off."""

    actions = 2

    def __init__(self, streams):
        self.first = 2 + (streams[:, 0] % np.uint64(3)).astype(int)
        self.place, self.age = self.first.copy(), np.zeros(len(streams), dtype=int)
        self._look()

    def _look(self):
        self.observation = np.stack([0.3 * self.place - 1, 0.1 * self.age], axis=1).astype(np.float32)

    def step(self, actions):
        self.place, self.age = self.place + 2 * actions - 1, self.age + 1
        self._look()
        seen, ended = self.observation, (self.place < 0) | (self.place > 6)
        cut = ~ended & (self.age == 5)
        reward = np.where(ended, 1.0 + (self.place > 6), 0.1 * self.place)
        self.place, self.age = np.where(ended | cut, self.first, self.place), np.where(ended | cut, 0, self.age)
        self._look()
        return Moved(seen, reward, ended, cut)


ALLEY = WorldInfo("alley", "a row of places", 2, 2, 5, Alley)
SCALE, RADIUS = (0.5, 0.7), 2.0


def agents(rule, **settings):
    """ε falls all the time, learning begins late, the ring is full before the end."""
    control = {"gamma": 0.8, "explore": (1.0, 0.1), "explore_steps": 80, "batch": 4, "every": 2, "begin": 20}
    made = agent_learner(
        rule, "treadmill", "value", 0.01, 0.05, predictor=PredictorSpec("mlp", (4,), "relu"), capacity=40,
        **control | settings,
    )  # fmt: skip
    return replace(Acting.of(run_spec("treadmill", made, STEPS, seed=7)), world=ALLEY)


def iterations(**settings):
    """The policies' ε falls, lanes explore more than their policies, Γ binds and step sizes fall."""
    how = {"gamma": 0.8, "explore": (0.4, 0.1), "explore_steps": 80, "episodes": 3, "behave": 0.5}
    made = iterating_learner(
        "tdc", "treadmill", "value", 0.2, 0.4, predictor=PredictorSpec("mlp", (4,)), radius=RADIUS,
        schedule=StepSchedule("robbins-monro", 0.8, 0.6, 20.0), **how | settings,
    )  # fmt: skip
    spec = run_spec("treadmill", made, STEPS, seed=7)
    scaled = replace(spec.learner, spread=1.5, iteration=replace(spec.learner.iteration, scale=SCALE))
    return replace(Iterating.of(spec), spec=replace(spec, learner=scaled), world=ALLEY)


def lanes_of(driver, made, **options):
    return [driver(made, seed, STEPS, **options) for seed in range(LANES)]


def in_one_go(made):
    """The lanes at the end, by one call."""
    state = made.start(range(LANES))
    made.advance(state, STEPS)
    return state


def flat(layers):
    return torch.cat([layer.detach().flatten() for layer in layers]).numpy()


def close(found, lanes, name):
    """Numbers of every lane; what is torch's differs by rounding."""
    right = np.stack([flat(getattr(lane, name)) for lane in lanes])
    np.testing.assert_allclose(np.reshape(found, right.shape), right, rtol=0, atol=1e-12, err_msg=name)


def same(found, lanes, name):
    np.testing.assert_array_equal(found, [getattr(lane, name) for lane in lanes], err_msg=name)


def watched(owner, name, kept):
    """What a method is given and gives is kept, as it is then."""
    method = getattr(owner, name)

    def call(*given, **named):
        found = method(*given, **named)
        kept.append((given, found))
        return found

    setattr(owner, name, call)


class Books:
    """What is measured, against the diaries of the lanes: the episodes that ended since the last time."""

    def __init__(self):
        self.seen, self.last = [0] * LANES, np.full((LANES, 4), np.nan)

    def check(self, measured, lanes):
        for i, lane in enumerate(lanes):
            new = lane.episodes[self.seen[i] :]
            self.seen[i] = len(lane.episodes)
            if new:
                self.last[i] = np.mean(new, axis=0)
        np.testing.assert_allclose(measured[:, :4], self.last, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(measured[:, 5], self.seen)


@pytest.mark.parametrize(
    ("rule", "settings", "eta"),
    [
        ("dqn", {"frozen": 14}, None),
        ("greedy_gq(0.5)", {}, 0.5),
        ("greedy_gq(1)", {"theta_optimiser": "sgd", "w_optimiser": "adam"}, 1.0),
    ],
    ids=["dqn", "greedy_gq", "other optimisers"],
)
def test_an_agent_acts_stores_learns_and_renews_as_the_plain_driver_does(rule, settings, eta, monkeypatch):
    monkeypatch.setattr(Players, "start", staticmethod(partial(Players.start, dtype=torch.float64)))
    made, books = agents(rule, **settings), Books()
    state = made.start(range(LANES))
    players, acted, learned, added = state.players, [], [], []
    watched(players, "act", acted)
    watched(players, "learn", learned)
    watched(state.replay, "add", added)
    for step, plain in enumerate(zip(*lanes_of(plain_driver.agent, made, eta=eta), strict=True), start=1):
        before = len(learned)
        made.advance(state, 1)
        lanes, rows = zip(*plain, strict=True)
        same(acted[-1][1][0], rows, "action")
        same(np.full(LANES, acted[-1][0][3]), rows, "epsilon")
        same(np.full(LANES, len(learned) > before), rows, "learned")
        close(players.theta, rows, "theta")
        close(players.w, rows, "w")
        if players.frozen is not None:
            close(players.frozen, rows, "frozen")
        if step % 10 == 0:
            books.check(made.measure(state), lanes)
    np.testing.assert_array_equal(in_one_go(made).players.theta, players.theta)
    discount = np.array([given[3] for given, _ in added])
    over = sum(len(lane.episodes) for lane in lanes)
    assert 5 < (discount == 0).sum() < over - 5  # some ended, some were cut off
    assert len(learned) == (STEPS - 20) // 2 + 1


@pytest.mark.parametrize("replay", [{}, {"capacity": 30, "batch": 2}], ids=["online", "replayed"])
def test_policy_iteration_acts_weighs_learns_and_improves_as_the_plain_driver_does(replay):
    made, books = iterations(**replay), Books()
    state = made.start(range(LANES))
    lanes, learned, ratios, ended, bound = state.lanes, [], set(), 0, 0
    watched(lanes, "learn", learned)
    for step, plain in enumerate(zip(*lanes_of(plain_driver.iteration, made), strict=True), start=1):
        made.advance(state, 1)
        walks, rows = zip(*plain, strict=True)
        (lesson, alpha, beta, *_), _ = learned[-1]
        for lane, row in enumerate(rows):
            for i, (x, action, reward, discount, x_next, following, rho) in enumerate(row.lesson):
                np.testing.assert_array_equal(lesson.x[lane, i], [*x, *np.eye(2)[action]])
                np.testing.assert_array_equal(lesson.x_next[lane, i], [*x_next, *np.eye(2)[following]])
                assert (lesson.reward[lane, i], lesson.discount[lane, i]) == (reward, discount)
                assert lesson.rho[lane, i] == pytest.approx(rho, rel=1e-14)
                ratios.add(round(rho, 12))
                ended += discount == 0
        assert [alpha, beta] == pytest.approx([rows[0].alpha, rows[0].beta], rel=1e-14)
        for name in ("theta", "w", "policy"):
            close(getattr(lanes, name), rows, name)
        bound += (np.linalg.norm(lanes.theta[:, 0], axis=1) > RADIUS - 1e-9).sum()  # by Γ
        same(lanes.epsilon, rows, "epsilon")
        same(state._next.action, rows, "action")
        np.testing.assert_allclose(state._next.worth, [row.worth for row in rows], rtol=0, atol=1e-12)
        if step % 10 == 0:
            books.check(made.measure(state), walks)
    np.testing.assert_array_equal(in_one_go(made).lanes.theta, lanes.theta)
    assert lanes.improved.min() >= 5
    assert bound > 5
    assert ended > 5
    assert len(ratios) == 1 if replay else len(ratios) > 10  # what is replayed is the policy's own
