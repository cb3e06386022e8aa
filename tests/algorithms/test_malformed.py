"""Whatever a caller passes, compiled code sees only arrays that fit each other: the rest is an error by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import LinearEngine, directions
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import Batch, Sampler, TransitionTable
from dgtd.algorithms.targets import CdfTarget, Shift, ValueTarget
from tests.problems import TWO_STATES, baird, walk

GOOD = TWO_STATES | {"iid": False}
entries = st.one_of(
    st.integers(-(2**63), 2**63), st.integers(-3, 7), st.floats(), st.booleans(), st.none(), st.text(max_size=2),
    st.complex_numbers(), st.just([1, 2]),
)  # fmt: skip
wrong_values = st.one_of(st.lists(entries, max_size=7), entries, st.lists(st.integers(-2, 6), max_size=6))


def forms(value):
    """Arrays of the same numbers in every form that numpy has, and in a wrong shape."""
    array = np.array(value)
    return [
        array[None],
        array[:, None],
        array[:-1],
        np.repeat(array, 3),
        np.repeat(array, 2)[::2],
        array[::-1],
    ]


@st.composite
def malformed(draw):
    """A good table with one argument, or two, replaced."""
    table = dict(GOOD)
    for name in draw(st.lists(st.sampled_from(sorted(GOOD)), min_size=1, max_size=2, unique=True)):
        listed = forms(GOOD[name]) if name != "iid" else []
        table[name] = draw(st.one_of(wrong_values, st.sampled_from(listed)) if listed else wrong_values)
    return table


@settings(max_examples=1200, deadline=None)
@given(malformed())
@pytest.mark.slow
def test_a_table_is_refused_by_name_or_its_draws_are_its_outcomes(arguments):
    said = ""
    try:
        table = TransitionTable(**arguments)
    except ValueError as error:
        said = str(error)
    if said:
        assert any(name in said for name in GOOD), said
        return
    drawn = Sampler(table, lane_streams(0, range(3))).draw(50)
    assert drawn.min() >= 0
    assert drawn.max() < len(table.probability)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"offsets": [0, 2, 6]}, "offsets must go from 0 to the number of outcomes, 4, got 0 … 6"),
        ({"offsets": [0, 2, 3]}, "offsets must go from 0"),
        ({"offsets": [1, 2, 4]}, "offsets must go from 0"),
        ({"offsets": [0, 5, 4]}, "offsets must rise, so that every state has an outcome: state 1 has none"),
        ({"offsets": [0, 0, 4]}, "offsets must rise, so that every state has an outcome: state 0 has none"),
        ({"offsets": [0, 2.5, 4]}, "offsets must be whole numbers"),
        ({"offsets": []}, "offsets must go from 0 to the number of outcomes, 4, got no numbers"),
        ({"offsets": [[0, 2, 4]]}, r"offsets must have shape \(any\)"),
        ({"next_state": [0, 1, 0, -1]}, "next_state must be in"),
        ({"next_state": [0, 1, 0, 0.5]}, "next_state must be whole numbers"),
        ({"next_state": ["a"] * 4}, "next_state must be numbers"),
        ({"start": [0.25] * 4}, r"start must have shape \(2\), got \(4,\)"),
        ({"start": [1.0]}, r"start must have shape \(2\), got \(1,\)"),
        ({"ends": [0, 0, 0, 2]}, "ends must be booleans"),
        ({"ends": [False] * 3}, r"ends must have shape \(4\)"),
        ({"probability": [[0.5] * 4]}, r"probability must have shape \(4\), got \(1, 4\)"),
        ({"reward": None}, "reward must be numbers, got None"),
        ({"rho": [1j] * 4}, "rho must be numbers"),
        ({"iid": "no"}, "iid must be True or False, got 'no'"),
    ],
)
def test_each_argument_of_a_table_is_named(change, says):
    with pytest.raises(ValueError, match=says):
        TransitionTable(**GOOD | change)


def test_a_table_keeps_copies():
    """A caller's array may change after it was checked."""
    given_ = {key: np.array(value) for key, value in GOOD.items() if key != "iid"}
    table = TransitionTable(**given_)
    given_["next_state"][:] = 10**9
    given_["offsets"][:] = 10**9
    assert Sampler(table, lane_streams(0, range(2))).draw(20).max() < 4


def test_a_samplers_states_and_streams_are_checked():
    sampler = Sampler(walk(), lane_streams(0, range(2)))
    with pytest.raises(ValueError, match="steps must be at least 0, got -1"):
        sampler.draw(-1)
    sampler.state[1] = 10**9
    with pytest.raises(ValueError, match=r"state must be in \[0, 4\], got 2 … 1000000000"):
        sampler.draw(1)
    sampler.state = np.zeros(7, dtype=np.int64)
    with pytest.raises(ValueError, match=r"state must have shape \(2\), got \(7,\)"):
        sampler.draw(1)
    with pytest.raises(ValueError, match=r"streams must have shape \(any, 4\)"):
        Sampler(walk(), np.zeros((2, 3), dtype=np.uint64))


def test_outcome_numbers_of_a_batch_are_rows_of_the_table():
    for wrong in ([[10]], [[-1]]):
        with pytest.raises(ValueError, match=r"outcome must be in \[0, 9\]"):
            walk().batch(np.array(wrong), np.eye(5), ValueTarget())
    with pytest.raises(ValueError, match="outcome must be whole numbers"):
        walk().batch(np.array([[0.5]]), np.eye(5), ValueTarget())


def batch(**changes):
    shift = CdfTarget(-1.0, 1.0, 4).shift(np.zeros((2, 3)), np.full((2, 3), 0.9))
    parts = {"row": shift.row, "weight": shift.weight, "constant": shift.constant}
    made = Shift(**{key: changes.pop(f"shift.{key}", value) for key, value in parts.items()})
    return Batch(
        **{"x": np.ones((2, 3, 5)), "x_next": np.ones((2, 3, 5)), "shift": made, "rho": np.ones((2, 3))} | changes
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shift.row": np.full((2, 3, 3), 3)}, r"shift.row must be in \[0, 2\], got 3 … 3"),
        ({"shift.row": np.full((2, 3, 3), -1)}, "shift.row must be in"),
        ({"shift.row": np.zeros((2, 3, 3))}, "shift.row must be whole numbers, got float64"),
        ({"shift.row": np.zeros((2, 2, 3), dtype=int)}, r"shift.row must have shape \(2, 3, 3\)"),
        ({"shift.weight": np.zeros((2, 3, 2, 2))}, r"shift.weight must have shape \(2, 3, 2, 3\)"),
        ({"shift.weight": np.zeros((2, 3, 3))}, "shift.weight must have shape"),
        ({"shift.constant": np.zeros((2, 3, 4))}, r"shift.constant must have shape \(2, 3, 3\)"),
        ({"x": np.ones((2, 5))}, "x must have shape"),
        ({"x_next": np.ones((2, 3, 4))}, "x_next must have shape"),
        ({"x_next": np.full((2, 3, 5), np.nan)}, "x_next must be finite"),
        ({"rho": np.ones(2)}, "rho must have shape"),
        ({"action": np.full((2, 3), -1)}, "smallest action must be at least 0"),
        ({"next_action": np.zeros(3, dtype=int)}, "next_action must have shape"),
        ({"action": np.full((2, 3), 0.5)}, "action must be whole numbers"),
    ],
)
def test_each_argument_of_a_batch_is_named(change, says):
    theta = np.zeros((2, 3, 5))
    directions(rules.gtd2, theta, theta, batch())
    with pytest.raises(ValueError, match=says):
        directions(rules.gtd2, theta, theta, batch(**change))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"theta": np.zeros((2, 1, 3))}, r"theta must have shape \(2, 1, 8\)"),
        ({"w": np.zeros((1, 1, 8))}, r"w must have shape \(2, 1, 8\)"),
        ({"w_mean": np.zeros((2, 8))}, "w_mean must have shape"),
        ({"mass": np.zeros(1)}, r"mass must have shape \(2\)"),
        ({"died": np.zeros(5, dtype=np.int64)}, r"died must have shape \(2\)"),
        ({"sampler": Sampler(walk(), lane_streams(0, range(2)))}, "sampler must walk 7 states, got 5"),
        ({"sampler": Sampler(baird()[0], lane_streams(0, range(1)))}, r"streams must have shape \(2, 4\)"),
    ],
)
def test_each_part_of_a_linear_state_is_named(change, says):
    table, features, theta = baird()
    engine = LinearEngine(rules.gtd2, table, features, ValueTarget())
    state = engine.start(theta, lane_streams(0, range(2)))
    engine.run(state, 2, 0.01, 0.01)
    for name, value in change.items():
        setattr(state, name, value)
    with pytest.raises(ValueError, match=says):
        engine.run(state, 2, 0.01, 0.01)


def test_a_targets_own_shift_is_checked_before_a_run():
    class Beyond(ValueTarget):
        def shift(self, reward, discount):
            found = super().shift(reward, discount)
            return Shift(found.row + 1000, found.weight, found.constant)

    table, features, _ = baird()
    with pytest.raises(ValueError, match=r"shift.row must be in \[0, 0\], got 1000 … 1000"):
        LinearEngine(rules.gtd2, table, features, Beyond())
