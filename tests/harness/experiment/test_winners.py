"""Who may be called a winner on planted lanes, how soon lanes arrive, and that a wrong comparison is seen."""

import numpy as np
import pytest

from dgtd.harness.experiment.experiment import steps_to_share
from dgtd.harness.experiment.search import Choice
from dgtd.harness.runs.store import Store
from tests.harness.experiment import test_planted_contest
from tests.harness.planted import BASE, GTD2, TDC, contest, flat, weighed

FAR_APART = 1000 * BASE  # lanes lie far apart and rules close together: only pairs of equal seeds can tell
LAST_DIGITS = BASE * (1 + 1e-13)


def winner(gtd2, tdc, lost=()):
    found = weighed(contest(GTD2, TDC, seeds=8), {("boyan", GTD2): gtd2, ("boyan", TDC): tdc}, {("boyan", TDC): lost})
    return found.winner("boyan", "rmspbe", "auc"), found


@pytest.mark.parametrize(
    ("gtd2", "tdc", "wins"),
    [
        (FAR_APART, FAR_APART + 0.01 * BASE, "GTD2"),
        (FAR_APART, FAR_APART - 0.01 * BASE, "TDC"),
        (FAR_APART, FAR_APART, None),
        (BASE, LAST_DIGITS, None),
        (LAST_DIGITS, BASE, None),
        (BASE, BASE + np.array([1, -1] * 4) * BASE / 9, None),
    ],
)
def test_the_lower_curve_wins_and_a_difference_in_the_last_digits_is_none(gtd2, tdc, wins):
    assert winner(gtd2, tdc)[0] == wins


@pytest.mark.parametrize(("lost", "wins"), [((), "TDC"), ((2,), None), (range(8), "GTD2")])
def test_a_lane_that_diverged_is_infinite_in_every_number_however_finite_it_is(lost, wins):
    """TDC's lanes are lower: one of eight that is lost leaves nobody ahead."""
    found, comparison = winner(BASE, BASE - 0.5, lost)
    numbers = comparison.entries[1].numbers("rmspbe")
    for name in ("final", "auc"):
        assert np.flatnonzero(np.isinf(numbers[name])).tolist() == list(lost)
    assert found == wins


def test_lanes_arrive_at_the_first_checkpoint_there_and_lost_ones_never():
    """At a tenth of their start at checkpoints 10, 1, 100, never, and there but lost at the end."""
    curves = np.array([[1, 1, 0.1, 0.1], [1, 0.05, 1, 1], [2, 2, 2, 0.2], [1, 1, 1, 1], [1, 0, 0, np.nan]])
    assert steps_to_share(np.array([0, 1, 10, 100]), curves, 0.1).tolist() == [10, 1, 100, np.inf, np.inf]


@pytest.mark.parametrize(("arrived", "median"), [(4, 100.0), (3, 100.0), (2, np.inf), (1, np.inf)])
def test_the_median_of_arrivals_counts_lanes_that_never_arrive(arrived, median):
    made = contest(GTD2, seeds=4)
    lanes = flat(made, GTD2, np.ones(4))
    lanes[:arrived, -1, GTD2.metrics.index("rmspbe")] = 0.01
    assert weighed(made, {("boyan", GTD2): lanes}).entries[0].median_steps_to_target == median


# ---------------------------------------------------------------------- wrong comparisons


def forgets_holm():
    test_planted_contest.test_a_winner_needs_holm_over_the_whole_command(6, 2, 0.0625, False)


def forgets_to_tidy():
    test_the_lower_curve_wins_and_a_difference_in_the_last_digits_is_none(BASE, LAST_DIGITS, None)


def chooses_the_largest():
    with Store(":memory:") as store:
        test_planted_contest.test_the_smallest_mean_area_is_chosen_and_not_the_smallest_median(store)


@pytest.mark.parametrize(
    ("where", "wrong", "test"),
    [
        ("comparison.holm", lambda p: p, forgets_holm),
        ("comparison.tidy", lambda values: values, forgets_to_tidy),
        (
            "experiment.Choice.among",
            staticmethod(
                lambda points, *_: Choice((max(points, key=lambda each: each.mean).alpha,) * 2, tuple(points))
            ),
            chooses_the_largest,
        ),
        (
            "experiment.SWEEP_SEED",
            0,
            test_planted_contest.test_lanes_that_choose_step_sizes_are_never_lanes_that_are_reported,
        ),
    ],
)
def test_a_wrong_comparison_is_seen(monkeypatch, where, wrong, test):
    test()
    monkeypatch.setattr(f"dgtd.harness.experiment.{where}", wrong)
    with pytest.raises(AssertionError):
        test()
