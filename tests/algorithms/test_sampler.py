"""Streams and the sampler: exact probabilities, and lanes that do not feel their neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from dgtd.algorithms.streams import generator, lane_streams, seed_sequence
from dgtd.algorithms.table import Sampler, TransitionTable, alias_table
from dgtd.harness.plugins import find_problem
from tests.problems import TWO_STATES, walk


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any))
def test_the_alias_table_holds_exactly_the_probabilities(counts):
    p = np.array(counts) / sum(counts)
    threshold, alias = alias_table("p", p)
    held = threshold.copy()
    np.add.at(held, alias, 1.0 - threshold)
    np.testing.assert_allclose(held / len(p), p, atol=1e-15)


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ([0.5, 0.6], "must sum to 1, got 1.1"),
        ([1.5, -0.5], "must not be negative, got -0.5"),
        ([], "must not be empty"),
    ],
)
def test_what_is_no_distribution_is_refused(p, says):
    with pytest.raises(ValueError, match=says):
        alias_table("start", np.array(p))


def test_named_axes_make_streams_that_do_not_depend_on_their_order():
    assert seed_sequence(1, problem="baird", rule="td").generate_state(2).tolist() == (
        seed_sequence(1, rule="td", problem="baird").generate_state(2).tolist()
    )
    draws = {float(generator(seed, problem=p).random()) for seed in (0, 1) for p in ("baird", "boyan", "1")}
    assert len(draws) == 6
    assert generator(0, n=1).random() != generator(0, n="1").random()
    with pytest.raises(ValueError, match="seed must be 0 or more, got -1"):
        seed_sequence(-1)


def test_more_seeds_are_a_longer_list_of_the_same_streams():
    few, many = lane_streams(3, range(5), problem="walk"), lane_streams(3, range(30), problem="walk")
    np.testing.assert_array_equal(few, many[:5])


def test_chunks_join_and_lanes_are_independent_of_their_neighbours():
    table = walk()
    streams = lane_streams(0, range(8))
    whole = Sampler(table, streams).draw(300)
    parts = Sampler(table, streams)
    np.testing.assert_array_equal(np.concatenate([parts.draw(100), parts.draw(200)]), whole)
    np.testing.assert_array_equal(Sampler(table, streams[5:6]).draw(300)[:, 0], whole[:, 5])


def test_a_trajectory_is_one_and_restarts_where_episodes_start():
    table = walk()
    outcomes = Sampler(table, lane_streams(0, [0])).draw(2000)[:, 0]
    state, follows = table.state[outcomes], table.next_state[outcomes]
    expected = np.where(table.ends[outcomes], 2, follows)
    np.testing.assert_array_equal(state[1:], expected[:-1])
    assert state[0] == 2
    assert table.ends[outcomes].sum() > 50


def test_outcome_frequencies_are_their_probabilities():
    """Chi-square over 10 outcomes of 200 000 draws a lane: false alarm 1e-6."""
    table = walk(iid=True)
    outcomes = Sampler(table, lane_streams(11, range(4))).draw(200_000)
    expected = table.start[table.state] * table.probability * outcomes.size
    observed = np.bincount(outcomes.ravel(), minlength=len(expected))
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-6, len(expected) - 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"reward": [0, np.nan, 0, 0]}, r"reward must be finite, got nan at index \(1,\)"),
        ({"discount": [0.5, 0.5, 0.5, 1.5]}, r"discount must be in \[0, 1\]"),
        ({"next_state": [0, 1, 2, 0]}, "next_state must be in"),
        ({"rho": [1.0, 1.0, -1.0, 1.0]}, "rho must not be negative, got -1"),
        ({"rho": [1.0]}, r"rho must have shape \(4\), got \(1,\)"),
        ({"probability": [0.5, 0.4, 0.5, 0.5]}, "probability of the outcomes of state 0 must sum to 1, got 0.9"),
        ({"start": [0.5, 0.6]}, "start must sum to 1, got 1.1"),
    ],
)
def test_a_table_with_a_hole_is_refused(change, says):
    arrays = {key: np.array(value) for key, value in (TWO_STATES | change).items()}
    with pytest.raises(ValueError, match=says):
        TransitionTable(**arrays)


@pytest.mark.parametrize("problem", ["collision", "random_mdp"])
def test_outcomes_first_states_and_restarts_are_drawn_with_their_probabilities(problem):
    """χ² of the outcomes in each state, given its visits, and of starts; drawn in two calls. False alarm: 3e-6."""
    table = find_problem(problem).mdp.table
    sampler = Sampler(table, lane_streams(0, range(4096), problem=problem, purpose="sampler"))
    first, drawn = sampler.state.copy(), np.concatenate([sampler.draw(150), sampler.draw(150)])
    left, ended = table.state[drawn[1:]], table.ends[drawn[:-1]]
    assert (left == table.next_state[drawn[:-1]])[~ended].all()
    counts = np.bincount(drawn.ravel(), minlength=len(table.probability))
    visits = np.bincount(table.state, counts, minlength=table.states)
    tests = [(counts, visits[table.state] * table.probability, table.states)]
    for starts in (first, left[ended]):
        tests.append((np.bincount(starts, minlength=table.states), len(starts) * table.start, 1))
    for found, expected, lost in tests:
        assert found[expected == 0].sum() == 0
        used = expected > 0
        freedom = used.sum() - lost
        if freedom > 0:
            statistic = ((found[used] - expected[used]) ** 2 / expected[used]).sum()
            assert statistic < chi2.isf(1e-6, freedom)
