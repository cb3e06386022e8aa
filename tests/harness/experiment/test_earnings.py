"""Comparisons of agents on planted lanes: which rate a sweep chooses, what lanes have earned, who earns more."""

import numpy as np
import pytest

from dgtd.harness.experiment.comparison import Entry
from dgtd.harness.experiment.search import Choice
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Outcome
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.world import NAMES
from tests.harness.planted import (
    BETA,
    C51,
    DQN,
    EARNED,
    PLACE,
    RATE,
    STEPS,
    TD,
    agents,
    earners,
    rate_chosen,
    rates_beyond,
)

LANES = len(EARNED)
AREA = "mean return over all steps"
FEW = np.array([200.0] * 3 + [0.0] * 5)  # 75 on average

# ---------------------------------------------------------------------- the choice


@pytest.mark.parametrize(
    ("first", "second", "best"),
    [
        ({"late": EARNED}, {"late": FEW}, 2e-3),  # the mean and not the median
        ({"late": EARNED}, {"late": EARNED - 1, "early": 900.0}, 1e-3),  # the last fifth
        ({"late": EARNED}, {"late": EARNED + 9, "lost": 1}, 1e-3),  # fewer are lost
    ],
)
def test_the_rate_that_earns_most_of_those_that_lose_the_fewest_lanes(first, second, best):
    assert rate_chosen({1e-3: first, 2e-3: second}) == best


def test_where_every_rate_loses_lanes_one_is_chosen_still():
    some = {1e-3: (EARNED + 9, 3), 2e-3: (EARNED, 2), 4e-3: (EARNED + 1, 2)}
    assert rate_chosen({rate: {"late": late, "lost": lost} for rate, (late, lost) in some.items()}) == 4e-3
    assert rate_chosen({rate: {"late": EARNED, "lost": LANES} for rate in (1e-3, 2e-3)}) in (1e-3, 2e-3)


@pytest.mark.parametrize(
    ("best", "below", "above"),
    [((2e-3, 2e-3), [], []), ((4e-3, 2e-3), [], [8e-3]), ((1e-3, 2e-3), [5e-4], []), ((2e-3, 1e-3), [], [])],
)
def test_rates_go_on_where_a_choice_lies_on_their_edge_and_for_nobody_else(best, below, above):
    first, second = rates_beyond((1e-3, 2e-3, 4e-3), best)
    assert first == [*below, 1e-3, 2e-3, 4e-3, *above]
    assert second == ([5e-4] if best[1] == 1e-3 else []) + [1e-3, 2e-3, 4e-3]


def test_no_world_that_chose_a_rate_is_among_those_reported():
    """Of 32 lanes; agents share their worlds."""
    made = agents(DQN, C51, rates=(1e-3, 2e-3))
    swept, reported = (
        {
            tuple(stream)
            for who in made.entrants
            for stream in Acting.of(made.spec(PLACE, who, RATE, BETA, sweep)).streams(range(32), "world").tolist()
        }
        for sweep in (True, False)
    )
    assert (len(swept), len(reported)) == (32, 32)
    assert not swept & reported


# ---------------------------------------------------------------------- what lanes have earned


def test_returns_areas_and_arrivals_are_those_of_the_curves():
    """Little for four fifths, then what a lane earns; one lane is lost."""
    (entry,) = earners({DQN: EARNED}, {DQN: 1}, early=10.0).entries
    np.testing.assert_allclose(entry.tested[1:], EARNED[1:])
    np.testing.assert_allclose(entry.scores[AREA][1:], 0.8 * 10 + 0.2 * EARNED[1:])
    assert entry.tested[0] == entry.scores[AREA][0] == -np.inf
    assert entry.steps_to_return(EARNED[3]).tolist() == [np.inf] * 3 + [82.0] * 5
    assert entry.steps_to_return(10.0).tolist() == [np.inf] + [2.0] * 7  # the first checkpoint
    at, over = entry.over_episodes(STEPS)
    assert at[-1] == STEPS
    np.testing.assert_allclose(over[1:, -1], EARNED[1:])
    np.testing.assert_allclose(over[:, 0], 10.0)


def lost_at(step, last=STEPS):
    """Three lanes with an episode per step and a return of the same number; the second one is lost at a step."""
    made = agents(DQN, seeds=3)
    spec = made.spec(PLACE, DQN, RATE, BETA)
    times = spec.times()
    curves = np.zeros((len(times), 3, len(NAMES)))
    curves[..., NAMES.index("return")] = curves[..., NAMES.index("episodes")] = np.minimum(times, last)[:, None]
    outcomes = (Outcome.BUDGET_SPENT, Outcome.DIVERGED, Outcome.BUDGET_SPENT)
    lanes = Lanes(times, curves, np.array([-1, step, -1]), NAMES, np.zeros((3, 0)), outcomes)
    return Entry(PLACE, DQN, spec, Choice((RATE, BETA)), lanes)


def test_a_lane_that_dies_on_a_checkpoint_is_not_known_there_and_one_that_dies_behind_it_is():
    """Checkpoints are every other step."""
    for step, first in ((50, 50), (49, 50), (51, 52), (0, 0), (STEPS, STEPS)):
        entry = lost_at(step)
        known = np.isfinite(entry.known("return"))
        assert entry.times[~known[1]].min() == first
        assert known[[0, 2]].all()


def test_over_episodes_a_lost_lane_has_nothing_behind_its_last_known_return():
    at, over = lost_at(50).over_episodes(STEPS)
    assert at.tolist() == list(range(1, STEPS + 1))
    np.testing.assert_allclose(over[[0, 2], 1:], np.tile(at[1:], (2, 1)))  # an episode per step, straight lines between
    np.testing.assert_allclose(over[1, 1:48], at[1:48])
    assert np.isnan(over[1, 48:]).all()


def test_what_is_not_known_before_an_episode_has_ended_counts_nowhere():
    """Returns below 0, and forty steps in which no episode ends: a 0 there would be more than was ever earned."""
    found = earners({DQN: EARNED - 100}, early=-100.0, first=40)
    (entry,), half = found.entries, found.threshold(PLACE)
    assert half == pytest.approx((-100 + np.median(EARNED) - 100) / 2)
    assert entry.steps_to_return(half).tolist() == [82.0] * LANES
    np.testing.assert_allclose(entry.scores[AREA], (2 * -100 + EARNED - 100) / 3)


def test_where_no_agent_rose_none_arrives():
    found = earners({DQN: EARNED - 100}, early=-10.0)
    assert np.isnan(found.threshold(PLACE))
    assert np.isinf(found.entries[0].steps_to_return(found.threshold(PLACE))).all()


# ---------------------------------------------------------------------- who earns more


@pytest.mark.parametrize(
    ("lanes", "more", "lost", "wins"),
    [
        (8, 5.0, 0, "C51"),
        (8, -5.0, 0, "DQN"),
        (8, 5 * np.resize([1, -1], LANES), 0, None),
        (8, 5.0, 4, None),  # half of C51's lanes are lost
        (8, 5.0, LANES, "DQN"),
        (6, 5.0, 0, "C51"),
    ],
)
def test_an_agent_earns_more_if_the_pairs_say_so(lanes, more, lost, wins):
    (match,) = earners({DQN: EARNED[:lanes], C51: (EARNED + more)[:lanes]}, {C51: lost}).duels
    assert match.winner == wins


def test_six_lanes_decide_one_test_and_not_three():
    six = EARNED[:6]
    matches = earners({DQN: six, C51: six + 5, TD: six + np.array([1, -1, 2, -2, 3, -3])}).duels
    assert [match.winner for match in matches] == [None] * 3
