"""ViZDoom: the paper's rewards, true last frames, and engines that leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from dgtd.algorithms.replay import Replay
from dgtd.algorithms.streams import lane_streams
from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.places import vizdoom as doom
from dgtd.harness.places import world as worlds
from dgtd.harness.places.world import find_world
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.trainer import train

NAME = "vizdoom-defend-the-center"
ROOT = Path(__file__).parents[3]
here = pytest.mark.skipif(find_spec("vizdoom") is None, reason="needs the extra vizdoom")


def lanes(count, limit=doom.LIMIT):
    return doom.DefendTheCenter(lane_streams(0, range(count)), limit)


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setattr(worlds, "find_spec", lambda package: None)
    with pytest.raises(ValueError, match=r"pip install 'dgtd-bench\[vizdoom\]'"):
        find_world(NAME)


@here
@pytest.mark.slow
def test_a_kill_is_worth_1_death_minus_1_and_each_loss_a_tenth():
    """The numbers of the game itself: kills are counted here, and come as a reward of the scenario's there."""
    from vizdoom import GameVariable

    world, game = lanes(1), doom.new_game()
    seeds, rng = np.random.default_rng(list(map(int, lane_streams(0, range(1))[0]))), np.random.default_rng(0)
    kills = deaths = 0
    names = GameVariable.KILLCOUNT, GameVariable.AMMO2, GameVariable.HEALTH
    while deaths < 3:
        game.set_seed(int(seeds.integers(2**31)))
        game.new_episode()
        before = [game.get_game_variable(each) for each in names]
        assert before == [0, 26, 100]
        while not game.is_episode_finished():
            np.testing.assert_array_equal(world.observation[0], doom.seen(game))
            action = int(rng.choice(4, p=[0.1, 0.7, 0.2, 0.0]))
            for _ in range(4):
                game.make_action(list(doom.BUTTONS[action]))
            after = [game.get_game_variable(each) for each in names]
            expected = (after[0] - before[0]) - 0.1 * (after[1] < before[1]) - 0.1 * (after[2] < before[2])
            moved = world.step(np.array([action]))
            np.testing.assert_allclose(moved.reward[0], expected - game.is_player_dead(), atol=1e-12)
            assert moved.terminated[0] == game.is_player_dead()
            kills, before = kills + after[0] - before[0], after
        deaths += 1
    assert kills > 0


@here
@pytest.mark.slow
def test_an_episode_that_is_cut_off_has_its_true_last_frame():
    short, long = lanes(2, limit=5), lanes(2)
    for step in range(5):
        actions = np.array([1, 2])
        cut, going = short.step(actions), long.step(actions)
        np.testing.assert_array_equal(cut.observation, going.observation)
        np.testing.assert_array_equal(cut.truncated, step == 4)
        assert not cut.terminated.any()
    assert (short.ages == 0).all()
    assert (short.observation != cut.observation).any(axis=1).all()  # a new episode


@here
@pytest.mark.slow
def test_death_terminates_also_on_the_last_allowed_step():
    idle = np.zeros(1, dtype=np.int64)
    world = lanes(1)
    moved, steps = world.step(idle), 1
    while not moved.terminated[0]:
        assert not moved.truncated[0]
        moved, steps = world.step(idle), steps + 1
    assert moved.reward[0] <= -1
    assert (moved.observation == 0).all()
    assert world.ages[0] == 0
    for limit, ended in ((steps, True), (steps - 1, False)):
        world = lanes(1, limit)
        for _ in range(limit):
            moved = world.step(idle)
        assert (moved.terminated[0], moved.truncated[0]) == (ended, not ended)
        assert moved.observation.any() != ended


@here
@pytest.mark.slow
def test_a_lane_does_not_depend_on_its_neighbours():
    many, one = lanes(3), lanes(1)
    for step in range(150):
        action = step % 4
        a, b = many.step(np.full(3, action)), one.step(np.array([action]))
        assert a.observation[0].tobytes() == b.observation[0].tobytes()
        assert a.reward[0] == b.reward[0]


@here
@pytest.mark.slow
def test_no_fake_transition_reaches_replay(monkeypatch):
    kept = []
    monkeypatch.setattr(Replay, "add", lambda self, *row: kept.append([np.array(part) for part in row]))
    monkeypatch.setattr(doom.DefendTheCenter.__init__, "__defaults__", (40,))
    made = agent_learner("dqn", NAME, explore=(1.0, 1.0), cohort=2, begin=10_000)
    train(Acting.of(run_spec(NAME, made, 300)), range(2), lambda: None)
    x, _, _, discount, x_next = (np.stack(part) for part in zip(*kept, strict=True))
    new = (x[1:] != x_next[:-1]).any(-1)  # an episode began
    died = (x_next == 0).all(-1)
    np.testing.assert_array_equal(discount == 0, died)
    assert new[died[:-1]].all()
    cut = new & ~died[:-1]
    assert cut.sum() >= 4
    assert (discount[:-1][cut] == 0.99).all()


@here
@pytest.mark.slow
def test_a_run_leaves_no_process_and_no_file(tmp_path, monkeypatch):
    import psutil

    monkeypatch.chdir(tmp_path)
    before = set(psutil.Process().children())
    world = lanes(2)
    assert len(set(psutil.Process().children()) - before) == 2
    world.step(np.zeros(2, dtype=np.int64))
    del world
    assert not set(psutil.Process().children()) - before
    assert not list(tmp_path.iterdir())


@here
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_the_engine_and_its_memory_end_with_a_parent_that_is_killed(tmp_path):
    import psutil

    code = "from dgtd.harness.places.vizdoom import new_game; import time; game = new_game(); print(1, flush=True)"
    code += "; time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=tmp_path
    ) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        (engine,) = psutil.Process(parent.pid).children()
        words = engine.cmdline()
        shared = words[words.index("+viz_instance_id") + 1]
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 30
    while engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert not list(doom.SHARED.glob(f"ViZDoom*{shared}"))
