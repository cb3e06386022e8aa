"""How far lanes are from their expectation, on lanes whose law is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dgtd.harness.experiment.agreement import CHANCE, agreement, as_dict, careful, curve_as_dict, standard_errors_away
from dgtd.harness.runs.spec import Outcome
from tests.harness.experiment.test_comparison import weighed


def test_the_mean_of_squares_is_compared_not_the_square_of_the_mean():
    squares = np.array([[9.0, 1.0], [9.0, 9.0]])  # of errors 1 and 3: their mean square is 5, with standard error 4
    np.testing.assert_allclose(standard_errors_away(squares, np.array([9.0, 5.0])), [np.nan, 0.0])
    np.testing.assert_allclose(standard_errors_away(squares, np.array([9.0, 13.0]))[1], -2.0)


def test_rounding_and_lost_lanes_are_no_difference():
    squares = np.array([[1.0, 1e-14, np.inf, 0.5], [1.0, 3e-14, 1.0, 0.7]])
    away = standard_errors_away(squares, np.array([1.0, 1e-13, 1.0, 0.5]))
    assert np.isnan(away).tolist() == [True, True, True, False]


def test_a_distance_counts_less_towards_the_side_where_rare_lanes_may_be_missing():
    skewed = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0])
    squares = np.column_stack([skewed, skewed])
    for shift in (0.3, 3.0):
        above, below = (standard_errors_away(squares, np.full(2, 0.5 + s * shift)) for s in (-1, 1))
        np.testing.assert_allclose(careful(squares, np.full(2, 0.5 - shift)), above, rtol=1e-6)
        assert (careful(squares, np.full(2, 0.5 + shift)) > below).all()
        np.testing.assert_allclose(careful(-squares, np.full(2, shift - 0.5)), above * -1, rtol=1e-6)
    even = np.array([[-1.0, -1.0], [1.0, 1.0]])
    np.testing.assert_allclose(careful(even, np.full(2, 3.0)), standard_errors_away(even, np.full(2, 3.0)), rtol=1e-6)


def test_the_distance_is_halls():
    """γ = 2 for lanes 0, …, 0, 1 in the limit; here n = 5: mean 0.2, sd 0.4 (n), third moment 0.096, so γ = 1.5."""
    squares = np.column_stack([np.array([0.0, 0.0, 0.0, 0.0, 1.0])] * 3)
    exact = np.full(3, 0.2 + 0.1)
    T = -0.1 / np.sqrt(0.2)
    expected = np.sqrt(5) * ((1 + 1.5 * T / 3) ** 3 - 1) / 1.5
    np.testing.assert_allclose(careful(squares, exact), expected)


def drawn(rng, law, comparisons, tests=200, lanes=30):
    """(plain, careful): shares of comparisons with a checkpoint outside of the band."""
    within = stats.t.isf(CHANCE / 2 / tests, lanes - 1)
    out = []
    for _ in range(comparisons):
        squares = law(rng, (lanes, tests))
        exact = np.ones(tests)
        out.append([(np.abs(of(squares, exact)) > within).any() for of in (standard_errors_away, careful)])
    return np.mean(out, axis=0)


def test_skewed_lanes_of_the_right_expectation_are_rarely_flagged():
    """400 comparisons: at a rate of 1 %, more than 14 flags come with chance 1e-5; the plain number has about 150."""
    rng = np.random.default_rng(0)
    plain, flagged = drawn(rng, lambda rng, shape: rng.exponential(size=shape), 400)
    assert 0.2 < plain < 0.6
    assert flagged <= 14 / 400
    assert drawn(rng, lambda rng, shape: 1 + 0.1 * rng.normal(size=shape), 400)[1] <= 14 / 400


def planted(shift, lanes=30, seed=0):
    """Two contestants whose exact curves are their own lanes' law; the second one's is off by so many errors."""
    rng = np.random.default_rng(seed)
    found = weighed([rng.uniform(0.2, 0.3, lanes), rng.uniform(0.2, 0.3, lanes)])
    for entry, off in zip(found.entries, (0.0, shift), strict=True):
        squares = entry.of("rmspbe") ** 2
        entry.exact = squares.mean(0) - off * squares.std(0, ddof=1) / np.sqrt(lanes)
    return found


@pytest.mark.parametrize("shift", [9.0, -9.0])
def test_a_curve_off_by_nine_standard_errors_is_flagged_and_its_neighbour_is_not(shift):
    seen = agreement(planted(shift))
    assert [(each.label, each.problem) for each in seen.outside] == [("TDC", "boyan")]
    assert seen.outside[0].away == pytest.approx(shift)
    assert seen.worst.away == pytest.approx(shift)
    assert 3.5 < seen.within < 5.5
    assert agreement(planted(2.0)).outside == []


def test_the_band_is_over_all_checkpoints_of_all_contestants():
    both = agreement(planted(0.0))
    alone = planted(0.0)
    alone.entries[1].exact = None
    one = agreement(alone)
    assert len(both.distances) == 2 * len(one.distances)
    assert both.curves == 2 * one.curves == 2
    assert both.within > one.within
    assert len(both.ends) == 2


def test_lost_lanes_leave_nothing_to_compare():
    found = planted(9.0)
    for entry in found.entries:
        entry.lanes.curves[1:, 0] = np.inf
        entry.lanes = replace(entry.lanes, outcomes=(Outcome.DIVERGED, *entry.lanes.outcomes[1:]))
    assert agreement(found) is None
    assert as_dict(found) == {"agreement": None, "lstd": {}}


def test_json_has_the_curve_the_distances_and_what_is_outside():
    found = planted(9.0)
    numbers = curve_as_dict(found.entries[1])
    assert numbers["at_end"] == pytest.approx(9.0)
    assert numbers["worst"] == pytest.approx(9.0)
    assert len(numbers["mspbe"]) == len(numbers["steps"]) == len(numbers["standard_errors_away"])
    assert as_dict(found)["agreement"]["outside"][0]["label"] == "TDC"
    found.entries[1].exact, found.entries[1].why_not_exact = None, "it would take more than 5 s"
    assert curve_as_dict(found.entries[1]) == {"left_out": "it would take more than 5 s"}


def test_the_band_holds_all_checkpoints_of_all_contestants_together_with_99_percent():
    """2 · tests · P(t > within) is 1 %, by Student's t with as many degrees of freedom as lanes have."""
    found = agreement(planted(0.0, lanes=12))
    assert 2 * len(found.distances) * stats.t.sf(found.within, 11) == pytest.approx(0.01, rel=1e-9)
