"""LunarLander through gymnasium: true transitions, a limit of 1000 steps, and termination wins."""

import json
from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest

from dgtd.algorithms.streams import lane_streams
from dgtd.harness.places.world import find_world
from tests.harness.test_cli import dgtd

NAME = "gym:LunarLander-v3"
pytestmark = pytest.mark.skipif(find_spec("Box2D") is None, reason="needs the extra box2d")


def test_its_spaces_and_what_decides_its_numbers():
    info = find_world(NAME)
    assert (info.observations, info.actions, info.limit) == (8, 4, 1000)
    assert "gymnasium" in info.version
    assert "Box2D" in info.version
    assert find_world("gym:CartPole-v1").version in info.version


def test_gymnasiums_own_loop_sees_the_same_transitions():
    streams = lane_streams(0, range(2))
    world, env, rng = find_world(NAME).make(streams), gymnasium.make("LunarLander-v3"), np.random.default_rng(0)
    seeds = np.random.default_rng(list(map(int, streams[0])))
    now, _ = env.reset(seed=int(seeds.integers(2**31)))
    ends = 0
    for _ in range(800):
        np.testing.assert_array_equal(world.observation[0], now)
        actions = rng.integers(4, size=2)
        moved = world.step(actions)
        now, reward, terminated, truncated, _ = env.step(int(actions[0]))
        np.testing.assert_array_equal(moved.observation[0], now)
        assert (moved.reward[0], moved.terminated[0]) == (reward, terminated)
        assert moved.truncated[0] == (truncated and not terminated)
        if terminated or truncated:
            now, _ = env.reset(seed=int(seeds.integers(2**31)))
            ends += 1
    assert ends >= 4


@pytest.mark.parametrize("crashes", [False, True])
def test_the_thousandth_step_is_cut_off_unless_it_terminates(crashes):
    """Lane 0 is at its thousandth step; lane 1 takes the same one at the first, so it goes on."""
    stream = lane_streams(0, range(1))
    world = find_world(NAME).make(np.concatenate([stream, stream]))
    world.envs[0]._elapsed_steps = 999
    for env in world.envs:
        env.unwrapped.game_over = crashes  # what a touch of the hull sets
    moved = world.step(np.zeros(2, dtype=np.int64))
    assert moved.terminated.tolist() == [crashes, crashes]
    assert moved.truncated.tolist() == [not crashes, False]
    np.testing.assert_array_equal(moved.observation[0], moved.observation[1])
    assert (world.observation[0] != moved.observation[0]).any()


@pytest.mark.slow
def test_a_run_there_and_a_picture(tmp_path):
    words = ["run", "--problem", NAME, "--rule", "c51", "--steps", "1100", "--seeds", "2", "--json"]
    done = dgtd(*words, "--store", str(tmp_path / "s.sqlite"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcomes"] == {"budget spent": 2}
    drawn = dgtd("world", "show", NAME, "--plot", str(tmp_path / "lander.png"))
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "lander.png").stat().st_size > 1000
