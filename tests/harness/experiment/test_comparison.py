"""The analysis behind `dgtd compare`, on lanes with a known answer."""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.comparison import Comparison, Entry, duels, tidy
from dgtd.harness.experiment.experiment import Entrant, Experiment
from dgtd.harness.experiment.search import Choice, Grid, SweepPoint
from dgtd.harness.judging.statistics import Interval, VarianceRatio, paired, variance_ratio
from dgtd.harness.oracle.metrics import areas
from dgtd.harness.report.words import answer as sentences
from dgtd.harness.report.words import details
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.spec import Outcome


def answer(found):
    """As one text."""
    return " ".join([*sentences(found), *details(found)])


def entry(who, final, contest):
    """Lanes whose RMSPBE goes from 1 to `final` [lanes]."""
    spec = contest.spec("boyan", who, 0.1, 0.1)
    times = spec.times()
    fall = np.linspace(0, 1, len(times))
    with np.errstate(invalid="ignore"):
        rmspbe = np.where(fall == 0, 1.0, 1 - fall * (1 - np.asarray(final, dtype=float)[:, None]))
    curves = np.repeat(rmspbe[..., None], len(who.metrics), axis=2)
    lost = [Outcome.BUDGET_SPENT if np.isfinite(value) else Outcome.DIVERGED for value in final]
    return Entry("boyan", who, spec, Choice((0.1, 0.1)), planted(times, curves, who.metrics, lost))


def planted(times, curves, names, outcomes):
    """Lanes with these curves [lanes, checkpoints, metrics]."""
    none = np.full(len(outcomes), -1)
    return Lanes(times, curves.transpose(1, 0, 2), none, names, np.zeros((len(outcomes), 0)), tuple(outcomes))


def weighed(finals, people=None):
    people = people or [Entrant(reference(name), "value") for name in ("gtd2", "tdc", "td")][: len(finals)]
    contest = Experiment(("boyan",), tuple(people), steps=1000, seeds=len(finals[0]), alpha=0.1, beta=0.1)
    entries = [entry(who, final, contest) for who, final in zip(people, finals, strict=True)]
    return Comparison(contest, entries, duels(contest, entries))


def test_a_winner_beats_every_other_or_nobody_wins():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.2, 0.3, 30)
    assert weighed([base, base + 0.05, base + 0.1]).winner("boyan", "rmspbe", "auc") == "GTD2"
    assert weighed([base, base, base + 0.1]).winner("boyan", "rmspbe", "auc") is None
    assert weighed([base, base + 1e-13, base + 0.1]).winner("boyan", "rmspbe", "auc") is None
    assert weighed([base, rng.permutation(base)]).winner("boyan", "rmspbe", "auc") is None


FORMS = [Entrant(reference("gtd2"), "value"), Entrant(reference("gtd2"), "cdf")]


@pytest.mark.parametrize(
    ("finals", "says"),
    [
        ((1.0, 1.1, 1.3), "Lowest error: GTD2 on boyan (7.8 % ahead of the next)."),
        ((1.0, 1.0, 2.0), "Lowest error: GTD2 and TDC on boyan ("),
        ((1.0, 1.001, 2.0), "Lowest error: GTD2 and TDC on boyan ("),  # a tenth of a per cent: no matter
        ((1.0, 1.0, 1.0), "On no problem is the error of one of them shown to be lower"),
        ((2.0, 1.0, np.inf), "Lowest error: TDC on boyan ("),
    ],
)
def test_the_first_sentence_says_who_is_best_and_by_how_much(finals, says):
    spread = np.random.default_rng(2).uniform(-0.01, 0.01, 30)
    found = weighed([final + spread for final in finals])
    assert sentences(found)[0].startswith(says)
    assert not sentences(weighed([1.0 + spread, 1.1 + spread]))[0].startswith(
        "The lowest error"
    )  # of two: one sentence


def test_the_answer_says_what_is_lower_identical_open_and_by_how_much():
    base = np.random.default_rng(0).uniform(0.2, 0.3, 30)
    same = answer(weighed([base, base], FORMS))
    assert "distributional GTD2 is identical, seed by seed, to GTD2 on boyan." in same
    lower = answer(weighed([base, base - 0.05], FORMS))
    assert "distributional GTD2 is lower than GTD2 on boyan (" in lower
    assert "lower in 30 of 30 pairs" in lower
    higher = answer(weighed([base, base + 0.05], FORMS))
    assert "distributional GTD2 is higher than GTD2 on boyan (+" in higher
    assert "Learning return distributions instead of values: higher error (by " in higher
    small = answer(weighed([base, base * 1.001], FORMS))
    assert "Learning return distributions instead of values: no difference that matters (below 2 %)." in small
    assert "too small to matter" in small
    gap = np.random.default_rng(1).normal(0.004, 0.04, 30)
    open_ = answer(weighed([base, base + gap], FORMS))
    assert "distributional GTD2 is not told apart from GTD2 on boyan (" in open_
    assert "seeds would" in open_


def test_too_few_seeds_are_said_and_give_no_interval():
    base = np.linspace(0.2, 0.3, 5)
    words = answer(weighed([base, base - 0.05], FORMS))
    assert (
        "5 seeds can't decide 1 test, whatever they show (the smallest p is 0.062 after Holm): take at least 6" in words
    )
    assert "A 95% interval of a median needs 6 seeds, so none is shown." in words


def test_a_form_that_starts_elsewhere_is_flagged():
    found = weighed([np.full(12, 0.2), np.full(12, 0.3)], FORMS)
    assert "starts at" not in answer(found)
    found.entries[1].lanes.curves[0] *= 9.0
    assert "On boyan distributional GTD2 starts at RMSPBE 9 and GTD2 at 1 (its features hold no constant)" in answer(
        found
    )


def test_a_step_size_on_the_edge_of_its_grid_is_flagged():
    def choice(best):
        grid = [(a, r * a) for a in (0.1, 0.2, 0.4) for r in (1.0, 2.0, 4.0)]
        return Choice(best, tuple(SweepPoint(a, b, 1.0, 0, 16) for a, b in grid))

    assert choice((0.2, 0.4)).on_edge == ()
    assert choice((0.1, 0.2)).on_edge == ("α",)
    assert choice((0.2, 0.8)).on_edge == ("β/α",)
    assert choice((0.4, 0.4)).on_edge == ("α", "β/α")
    assert Choice((0.1, 0.1)).on_edge == ()
    found = weighed([np.full(12, 0.2), np.full(12, 0.3)], FORMS)
    found.entries[0].choice = choice((0.1, 0.4))
    assert (
        "On the edge of the sweep's grid, so that a better step size may lie beyond: GTD2 on boyan (α and β/α)."
        in answer(found)
    )


def test_the_grid_grows_where_a_choice_lies_on_its_edge():
    grid = Grid((0.5, 0.125), (1.0, 4.0, 16.0))
    assert grid.beyond([(0.5, 2.0), (0.125, 0.5)]) == Grid((0.5, 0.125, 2.0, 0.03125), (1.0, 4.0, 16.0))
    assert grid.beyond([(0.5, 0.5)]) == Grid((0.5, 0.125, 2.0), (1.0, 4.0, 16.0, 0.25))
    inner = Grid((0.5, 0.125, 2.0), (1.0, 4.0, 16.0))
    assert inner.beyond([(0.5, 2.0)]) == inner
    assert Grid((0.5,), (1.0,)).beyond([(0.5, 0.5)]) == Grid((0.5,), (1.0,))
    square = Grid((0.5, 0.25), (4.0, 1.0))
    assert square.beyond([(0.25, 0.25)]) == Grid((0.5, 0.25, 0.125), (4.0, 1.0, 0.25))
    assert square.beyond([(0.5, 2.0)]) == Grid((0.5, 0.25, 1.0), (4.0, 1.0, 16.0))


def test_a_sweep_tries_every_alpha_with_every_ratio():
    assert sorted(Grid((0.5, 0.25), (4.0, 1.0)).points()) == [(0.25, 0.25), (0.25, 1.0), (0.5, 0.5), (0.5, 2.0)]
    larger = Grid((0.5, 0.25, 2.0), (4.0, 1.0, 16.0))
    assert set(larger.points()) == {(alpha, alpha * ratio) for alpha in larger.alphas for ratio in larger.ratios}


@pytest.mark.slow
def test_the_seeds_that_would_tell_do_tell():
    """A planted difference: as many pairs as Noether's formula names find it about four times out of five."""
    rng = np.random.default_rng(0)
    many = paired(rng.normal(0.4, 1.0, 4000), np.zeros(4000))
    needed = many.lanes_to_tell(0.05, 0.8)
    found = [paired(rng.normal(0.4, 1.0, needed), np.zeros(needed)).p < 0.05 for _ in range(1000)]
    assert 40 < needed < 65
    assert 0.74 < np.mean(found) < 0.87
    assert paired(np.zeros(9), np.zeros(9)).identical
    assert paired(np.zeros(9), np.zeros(9)).lanes_to_tell(0.05, 0.8) is None


def test_diverged_lanes_lose_and_are_counted():
    base = np.full(30, 0.2) + np.arange(30) * 1e-3
    lost = np.where(np.arange(30) < 25, np.inf, base - 0.1)
    found = weighed([base, lost])
    assert found.winner("boyan", "rmspbe", "auc") == "GTD2"
    assert found.entries[1].diverged == 25
    assert "TDC on boyan: 25 of 30 seeds diverge" in answer(found)
    assert found.entries[1].alive[-1] == pytest.approx(5 / 30)
    assert found.entries[1].alive[0] == 1


def test_a_lane_that_diverged_loses_however_finite_it_still_is():
    base = np.linspace(0.2, 0.3, 12)
    found = weighed([base, base - 0.1])
    lost = replace(found.entries[1].lanes, outcomes=(Outcome.DIVERGED,) * 12)
    found.entries[1] = replace(found.entries[1], lanes=lost)
    again = Comparison(found.experiment, found.entries, duels(found.experiment, found.entries))
    assert again.winner("boyan", "rmspbe", "auc") == "GTD2"
    for number in ("final", "auc"):
        assert np.isinf(found.entries[1].numbers("rmspbe")[number]).all()


def test_who_won_does_not_depend_on_who_is_named_first():
    rng = np.random.default_rng(0)
    for gap in (
        np.concatenate([-rng.uniform(0.001, 0.01, 15), rng.uniform(0.1, 0.2, 15)]),
        np.where(np.arange(30) < 14, -np.inf, 0.0),
        rng.normal(0.5, 1.0, 30),
    ):
        ours, theirs = paired(gap, np.zeros(30)), paired(np.zeros(30), gap)
        assert ours.p == pytest.approx(theirs.p)
        assert ours.direction == -theirs.direction != 0
        assert ours.better.estimate == pytest.approx(1 - theirs.better.estimate)


def test_steps_to_target_keeps_never():
    found = weighed([np.array([0.05, 0.5, 0.05, np.nan])])
    steps = found.entries[0].steps_to_target()
    assert np.isfinite(steps).tolist() == [True, False, True, False]
    outcomes = (Outcome.DIVERGED, *found.entries[0].lanes.outcomes[1:])
    found.entries[0].lanes = replace(found.entries[0].lanes, outcomes=outcomes)
    assert np.isfinite(found.entries[0].steps_to_target()).tolist() == [False, False, True, False]
    assert np.isinf(found.entries[0].median_steps_to_target)


def are_trapezoids(areas):
    times = np.array([0, 1, 10, 100])
    curves = np.array([[2, 2, 2, 2], [0, 1, 10, 100], [1, 0, 0, 0], [9, 9, 0, 0]], dtype=float)
    np.testing.assert_allclose(areas(times, curves), [2.0, 50.0, 0.005, (9 + 40.5) / 100], rtol=1e-9)
    for lost in (np.nan, np.inf):
        assert np.isinf(areas(times, np.array([[1.0, lost, 1.0, 1.0]]))).all()


def test_areas_are_mean_heights():
    """Lines have the mean of their ends, whatever the checkpoints; a fall in the first step is a hundredth of it."""
    are_trapezoids(areas)
    with pytest.raises(AssertionError):
        are_trapezoids(lambda times, curves: curves.mean(1))


def test_tidy_forgets_rounding_and_nothing_else():
    np.testing.assert_array_equal(tidy(np.array([1.0, 1 + 1e-12, 1.1, np.inf])), [1.0, 1.0, 1.1, np.inf])


def test_variance_ratio_knows_equal_smaller_and_missing():
    rng = np.random.default_rng(0)
    common = rng.normal(size=200)
    narrow, wide = common + 0.3 * rng.normal(size=200), common + 3 * rng.normal(size=200)
    found = variance_ratio(narrow, wide)
    assert found.ratio.high < 1
    assert found.p < 1e-6
    swapped = variance_ratio(wide, narrow).ratio
    assert swapped.low == pytest.approx(1 / found.ratio.high)
    assert variance_ratio(common, common).ratio == variance_ratio(common, common + 0).ratio
    assert variance_ratio(common, common).p == 1.0
    assert variance_ratio(2 * common, common).p == 0.0
    assert variance_ratio(2 * common, common).ratio.estimate == pytest.approx(4)
    assert np.isnan(variance_ratio(np.full(5, np.inf), np.arange(5.0)).ratio.estimate)


def test_the_seeds_that_would_tell_are_for_one_of_all_tests():
    """Of three pairs, by what each has as its share of the error rate."""
    base = np.random.default_rng(0).uniform(0.2, 0.3, 30)
    gap = np.random.default_rng(1).normal(0.004, 0.04, 30)
    people = [Entrant(reference(rule), "value") for rule in ("gtd2", "tdc", "td")]
    found = weighed([base, base + gap, base + 3], people)
    duel = found.duel("boyan", *people[:2])
    assert duel.lanes == duel.result.lanes_to_tell(0.05 / 3, 0.8) != duel.result.lanes_to_tell(0.05, 0.8)


@pytest.mark.parametrize(
    ("p", "low", "sides"), [(0.01, 0.2, "in 1 of 1"), (0.2, 0.2, "in 0 of 1"), (0.01, 0.9, "in 0 of 1")]
)
def test_spread_is_smaller_only_where_both_tests_say_so(p, low, sides):
    """By ranks, and by the interval for normal lanes: p and whether 1 lies inside."""
    found = weighed([np.linspace(0.2, 0.3, 12), np.linspace(0.2, 0.3, 12)], FORMS)
    high = 0.8 if low < 0.8 else 1.1
    found.entries[1].spread = dict.fromkeys(("final", "auc"), VarianceRatio(Interval(0.5, low, high, 12), p))
    assert f"varies less than its value form's {sides} cases" in answer(found)
