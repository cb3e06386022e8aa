"""Worlds: CartPole is gymnasium's to the last bit, and no fake transition reaches a learner."""

from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from matplotlib import image

from dgtd.algorithms.streams import lane_streams
from dgtd.harness.places import cartpole
from dgtd.harness.places.world import find_world, known_worlds
from tests.harness.test_cli import dgtd

STEPS = 100_000


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit"), [("cartpole-v0", 200), ("cartpole-v1", 500)])
def test_cartpole_is_gymnasiums_to_the_last_bit(name, limit):
    world = find_world(name).make(lane_streams(0, range(4)))
    theirs = gymnasium.make("CartPole-v1").unwrapped
    theirs.reset(seed=0)
    actions = np.random.default_rng(0).integers(2, size=(STEPS // 4, 4))
    balanced = np.zeros(4, dtype=int)
    ended = cut = 0
    for chosen in actions:
        lean = world.lanes.state[:, 2] + 0.5 * world.lanes.state[:, 3]  # two lanes are held upright: some are cut off
        chosen[:2] = (lean > 0)[:2]
        before, age = world.lanes.state.copy(), world.lanes.age.copy()
        moved = world.step(chosen)
        for lane in range(4):
            theirs.state, theirs.steps_beyond_terminated = tuple(before[lane]), None
            observation, reward, terminated, _, _ = theirs.step(int(chosen[lane]))
            assert moved.observation[lane].tobytes() == observation.tobytes()
            assert moved.reward[lane] == reward
            assert moved.terminated[lane] == terminated
            assert moved.truncated[lane] == (age[lane] + 1 >= limit and not terminated)
        over = moved.terminated | moved.truncated
        assert (world.lanes.age[over] == 0).all()
        assert (abs(world.lanes.state[over]) <= 0.05).all()
        np.testing.assert_array_equal(world.observation, world.lanes.state.astype(np.float32))
        balanced += moved.truncated
        ended, cut = ended + moved.terminated.sum(), cut + moved.truncated.sum()
    assert ended > 100
    assert cut > 10


def test_a_fall_on_the_last_allowed_step_is_terminated():
    world = find_world("cartpole-v0").make(lane_streams(0, range(1)))
    world.lanes.age[0] = 199
    world.lanes.state[0] = (2.39, 5.0, 0.0, 0.0)
    moved = world.step(np.array([1]))
    assert moved.terminated[0]
    assert not moved.truncated[0]


def test_a_lane_does_not_depend_on_its_neighbours():
    many, one = (find_world("cartpole-v1").make(lane_streams(0, range(n))) for n in (5, 1))
    for step in range(500):
        action = step % 3 // 2
        a, b = many.step(np.full(5, action)), one.step(np.array([action]))
        assert a.observation[0].tobytes() == b.observation[0].tobytes()


def test_gymnasiums_own_loop_sees_the_same_transitions():
    """Termination, truncation and both, through our wrapper and by hand."""
    streams = lane_streams(0, range(2))
    world = find_world("gym:CartPole-v1").make(streams)
    rng = np.random.default_rng(0)
    env = gymnasium.make("CartPole-v1")
    seeds = np.random.default_rng(list(map(int, streams[0])))
    now, _ = env.reset(seed=int(seeds.integers(2**31)))
    for _ in range(2000):
        np.testing.assert_array_equal(world.observation[0], now)
        actions = rng.integers(2, size=2)
        moved = world.step(actions)
        now, reward, terminated, truncated, _ = env.step(int(actions[0]))
        np.testing.assert_array_equal(moved.observation[0], now)
        assert (moved.reward[0], moved.terminated[0]) == (reward, terminated)
        assert moved.truncated[0] == (truncated and not terminated)
        if terminated or truncated:
            now, _ = env.reset(seed=int(seeds.integers(2**31)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cartpole-v2", "no world 'cartpole-v2'; did you mean 'cartpole-v"),
        ("gym:CartPol-v1", "did you mean 'gym:CartPole-v"),
        ("gym:Pendulum-v1", "must have discrete actions"),
        ("gym:FrozenLake-v1", "must show a vector"),
        *([] if find_spec("Box2D") else [("gym:LunarLander-v3", r"pip install 'dgtd-bench\[box2d\]'")]),
        *([] if find_spec("vizdoom") else [("vizdoom-defend-the-center", r"pip install 'dgtd-bench\[vizdoom\]'")]),
    ],
)
def test_a_world_that_is_none_is_refused_by_name(name, words):
    with pytest.raises(ValueError, match=words):
        find_world(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [info.name for info in known_worlds()])
def test_every_world_is_shown_with_a_picture(name, tmp_path):
    extra = next(info.extra for info in known_worlds() if info.name == name)
    if extra and find_spec(extra) is None:
        done = dgtd("world", "show", name, "--plot", str(tmp_path / "world.png"), cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            f"dgtd: world '{name}' needs a package that is not here: pip install 'dgtd-bench[{extra}]'"
        ]
        assert not list(tmp_path.iterdir())
        pytest.skip(f"needs the extra {extra}")
    done = dgtd("world", "show", name, "--plot", str(tmp_path / "world.png"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "observation" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["world.png"]
    height, width, _ = image.imread(tmp_path / "world.png").shape
    assert height >= 300
    assert width >= 300


def test_the_pole_leans_where_the_state_says():
    left, right = (cartpole.picture(0.0, angle) for angle in (-0.2, 0.2))
    brown = [np.argwhere((frame[:200] < 250).any(-1))[:, 1].mean() for frame in (left, right)]
    assert brown[0] < 290 < 310 < brown[1]


ENVIRONMENT = """
import gymnasium
import numpy as np


class Own(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2, start=5)

    def reset(self, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), REWARD * (action - 5), False, True, {}


class Broken(Own):
    def __init__(self):
        raise RuntimeError("boom")


gymnasium.register("Own-v0", Own)
gymnasium.register("Broken-v0", Broken)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes a module with an environment of a user's; its name, once for each reward."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, reward):
        (tmp_path / f"{name}.py").write_text(ENVIRONMENT.replace("REWARD", str(reward)))
        return f"gym:{name}:Own-v0"

    yield write
    for name in ("Own-v0", "Broken-v0"):
        gymnasium.registry.pop(name, None)


@pytest.mark.filterwarnings("ignore")
def test_the_source_of_a_users_environment_decides_what_is_stored(own):
    first, second = find_world(own("envs_of_mine", 1)), find_world(own("other_envs_of_mine", 2))
    assert first.version != second.version
    assert "gymnasium" in first.version


@pytest.mark.filterwarnings("ignore")
def test_actions_may_begin_at_another_number_than_0(own):
    world = find_world(own("envs_with_a_start", 3)).make(lane_streams(0, range(2)))
    assert world.actions == 2
    assert world.step(np.array([0, 1])).reward.tolist() == [0, 3]


@pytest.mark.filterwarnings("ignore")
def test_an_environment_that_can_not_be_made_is_named(own):
    with pytest.raises(ValueError, match=r"world 'gym:envs_that_raise:Broken-v0' can't be made: RuntimeError: boom"):
        find_world(own("envs_that_raise", 1).replace("Own", "Broken"))
