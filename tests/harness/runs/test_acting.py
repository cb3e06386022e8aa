"""Lanes of agents in a world, step by step: what is written down, replayed and kept."""

import numpy as np
import pytest

from dgtd.algorithms.replay import Replay
from dgtd.harness.experiment.search import agent_learner, iterating_learner, run_spec
from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.runs.acting_spec import Control
from dgtd.harness.runs.spec import RunSpec
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.trainer import train, trainer_of
from dgtd.harness.runs.trainers.world import NAMES, Book, InWorld


@pytest.mark.parametrize("make", [agent_learner, iterating_learner])
def test_laws_are_kept_at_the_states_that_were_chosen(make):
    """Two states of one run are the two runs of one state each; and what is kept by default is the state 0."""
    states = ((0.0, 0.0, 0.1, 0.0), (0.0, 0.0, 0.0, 0.0))

    def laws(*chosen):
        spec = run_spec("cartpole-v0", make("gtd2", "cartpole-v0", "cdf", atoms=5, cohort=2), 60, states=chosen)
        return train(trainer_of(RunSpec.from_json(spec.to_json())), range(2)).law

    both, first, second = laws(*states), laws(states[0]), laws(states[1])
    np.testing.assert_allclose(both, np.concatenate([first, second], axis=1), rtol=1e-6)  # to rounding
    np.testing.assert_allclose(laws(), second, rtol=1e-6)
    assert np.abs(first - second).max() > 1e-6


def test_a_run_in_a_world_is_data_and_back():
    spec = run_spec("cartpole-v1", agent_learner("greedy_gq(0.5)", "cartpole-v1"), 500)
    assert RunSpec.from_json(spec.to_json()) == spec
    assert InWorld.times(7) == (0, 1, 2, 3, 4, 5, 6, 7)
    assert InWorld.times(1000)[-1] == 1000


def test_epsilon_falls_and_stays():
    control = Control(explore=(1.0, 0.1), explore_steps=100)
    assert [control.epsilon(step) for step in (0, 50, 100, 1000)] == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_returns_are_those_of_the_episodes():
    """With random actions alone the book's numbers are those of the world, step by step."""
    made = agent_learner(
        "dqn", "cartpole-v0", predictor=agent_learner("dqn", "cartpole-v0").predictor, explore=(1.0, 1.0), cohort=2
    )
    acting = Acting.of(run_spec("cartpole-v0", made, 300))
    trial = train(acting, range(2), lambda: None)
    lengths, returns = trial.of("length"), trial.of("return")
    np.testing.assert_array_equal(lengths, returns)  # +1 per step
    earned = trial.of("earned")[-1]
    np.testing.assert_array_less(earned, returns[-1] + 1e-9)
    assert (returns[-1] > 10).all()
    assert (returns[-1] < 60).all()
    assert trial.names == NAMES


def test_an_episode_is_worth_the_sum_of_its_discounted_rewards_the_first_of_them_whole():
    """Rewards 1, 2, 4 and 8, γ = ½; the first lane's episode ends after three steps, the second's after two and two."""
    book, w = Book(2, 0.5), np.zeros((2, 1))
    ends = [[False, False], [False, True], [True, False], [False, True]]
    for step, ended in enumerate(ends):
        book.enter(np.full(2, 2.0**step), np.array(ended), np.full(2, 10.0 * (step + 1)))
    found = dict(zip(NAMES, book.close(w).T.tolist(), strict=True))
    assert found["return"] == [1 + 2 + 4, (3 + 12) / 2]
    assert found["length"] == [3, 2]
    assert found["earned"] == [1 + 1 + 1, (1 + 1 + 4 + 4) / 2]
    assert found["value"] == [10, (10 + 30) / 2]
    assert found["episodes"] == [1, 2]


def test_before_an_episode_has_ended_nothing_is_known_and_nothing_is_lost():
    acting = Acting.of(run_spec("cartpole-v0", agent_learner("dqn", "cartpole-v0", cohort=2), 5))
    trial = train(acting, range(2), lambda: None)
    assert np.isnan(trial.of("return")).all()
    assert (trial.of("episodes") == 0).all()
    assert not trial.diverged().any()


def test_a_world_that_writes_where_it_wrote_before_is_replayed_right(monkeypatch):
    spec = run_spec("cartpole-v0", agent_learner("dqn", "cartpole-v0", cohort=2, begin=64, batch=16), 400)
    expected = train(Acting.of(spec), range(2), lambda: None)
    step = CartPole.step

    def in_place(self, actions):
        array = self.observation
        moved = step(self, actions)
        array[:] = self.observation
        self.observation = array
        return moved

    monkeypatch.setattr(CartPole, "step", in_place)
    np.testing.assert_array_equal(train(Acting.of(spec), range(2), lambda: None).curves, expected.curves)


def test_what_is_replayed_is_what_happened(monkeypatch):
    """Every transition of the replay obeys CartPole's physics: no step from one episode into the next."""
    kept = []
    monkeypatch.setattr(Replay, "add", lambda self, *row: kept.append([np.array(part) for part in row]))
    made = agent_learner("dqn", "cartpole-v0", explore=(1.0, 1.0), cohort=3, begin=10_000)
    train(Acting.of(run_spec("cartpole-v0", made, 400)), range(3), lambda: None)
    x, action, reward, discount, x_next = (np.stack(part) for part in zip(*kept, strict=True))
    np.testing.assert_allclose(x_next[..., 0], x[..., 0] + 0.02 * x[..., 1], atol=1e-6)
    np.testing.assert_allclose(x_next[..., 2], x[..., 2] + 0.02 * x[..., 3], atol=1e-6)
    fell = (abs(x_next[..., 0]) > 2.4) | (abs(x_next[..., 2]) > 12 * np.pi / 180)
    np.testing.assert_array_equal(discount == 0, fell)
    assert fell.sum() > 20
    assert set(np.unique(action)) == {0, 1}
    assert (reward == 1).all()


def test_an_episode_that_is_cut_off_goes_on_in_the_replay(monkeypatch):
    """+1 per step, cut off after 7: what is replayed fits the value 1/(1 − γ), of a pole that never falls."""
    kept, begin = [], CartPole.__init__
    monkeypatch.setattr(CartPole, "__init__", lambda self, streams, _: begin(self, streams, 7))  # before it falls
    monkeypatch.setattr(Replay, "add", lambda self, *row: kept.append([np.array(part) for part in row]))
    made = agent_learner("dqn", "cartpole-v0", explore=(1.0, 1.0), cohort=3, begin=10_000)
    trial = train(Acting.of(run_spec("cartpole-v0", made, 70)), range(3), lambda: None)
    assert (trial.of("length")[-1] == 7).all()
    _, _, reward, discount, _ = (np.stack(part) for part in zip(*kept, strict=True))
    assert reward.sum() / (1 - discount).sum() == pytest.approx(1 / (1 - 0.99), rel=1e-12)  # 6.6 if it ended there


def test_lanes_alone_are_lanes_among_others_for_the_first_updates():
    made = agent_learner("greedy_gq(0.5)", "cartpole-v0", begin=100, every=4, cohort=4, batch=16)
    acting = Acting.of(run_spec("cartpole-v0", made, 300))
    many, one = train(acting, range(4), lambda: None), train(acting, range(1), lambda: None)
    np.testing.assert_allclose(one.curves[:, 0], many.curves[:, 0], atol=1e-3)
