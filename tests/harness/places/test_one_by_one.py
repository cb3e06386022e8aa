"""Lanes that are moved one by one, on an environment that ends as it is told: by its end, its limit, or both."""

import numpy as np
import pytest

from dgtd.algorithms.streams import lane_streams
from dgtd.harness.places.world import OneByOne

CUT, FALL, BOTH, GOES_ON = 0, 1, 2, 3


class Told(OneByOne):
    """An action says how the step ends. What is seen: the episode's seed, and its steps so far."""

    actions = 4

    def __init__(self, lanes=2, root=0):
        self.at = np.zeros((lanes, 2), dtype=np.float32)
        super().__init__(lane_streams(root, range(lanes)))

    def reset(self, lane, seed):
        self.at[lane] = seed % 1000, 0
        return self.at[lane].copy()

    def move(self, lane, action):
        self.at[lane, 1] += 1
        return self.at[lane].copy(), float(action), action in (FALL, BOTH), action in (CUT, BOTH)


@pytest.mark.parametrize(
    ("action", "terminated", "truncated"), [(CUT, False, True), (FALL, True, False), (BOTH, True, False)]
)
def test_how_an_episode_ends(action, terminated, truncated):
    """Terminated wins; the true last observation is kept, and the next episode begins in the same step."""
    world = Told()
    begun = world.observation.copy()
    world.step(np.array([GOES_ON, GOES_ON]))
    moved = world.step(np.array([action, GOES_ON]))
    assert (moved.terminated.tolist(), moved.truncated.tolist()) == ([terminated, False], [truncated, False])
    np.testing.assert_array_equal(moved.observation, [[begun[0, 0], 2], [begun[1, 0], 2]])
    assert moved.reward.tolist() == [action, GOES_ON]
    assert world.observation[0, 0] != begun[0, 0]
    assert world.observation[:, 1].tolist() == [0, 2]
    assert world.ages.tolist() == [0, 2]


def test_a_lane_that_is_brought_back_goes_on_as_if_nothing_had_been():
    rng = np.random.default_rng(0)
    moves = rng.integers(4, size=(40, 2))
    world = Told()
    for actions in moves[:25]:
        world.step(actions)
    saved = {name: part.copy() for name, part in world.state().items()}
    other = Told()
    other.restore(saved)
    for actions in moves[25:]:
        for one, two in zip(world.step(actions), other.step(actions), strict=True):
            np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(world.observation, other.observation)


def test_what_leads_elsewhere_is_not_believed():
    world = Told()
    for _ in range(3):
        world.step(np.array([GOES_ON, GOES_ON]))
    saved = {name: part.copy() for name, part in world.state().items()}
    with pytest.raises(ValueError, match="did not lead to the same observations"):
        Told(root=1).restore(saved)
    saved["actions"][1] = FALL
    with pytest.raises(ValueError, match="ended an episode that was going on"):
        Told().restore(saved)
