"""The suites' judges on planted lanes: what they weigh, in which direction, and that a diverged lane always counts.

Planted numbers lie far from every margin, so that a margin may move without a test.
"""

from functools import partial

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import FAR
from dgtd.suites import evaluation
from dgtd.suites.convergence import falls
from dgtd.suites.rates import sampled
from dgtd.suites.stability import lanes as stability
from dgtd.suites.stability.exact import size_falls

PASS, FAIL = Verdict.PASS, Verdict.FAIL
SETTING = Setting("ci", 0, 1e-4)
LANES = 64


def trial(times=None, died=(), **curves):
    """Curves [checkpoints, lanes] by name."""
    stacked = np.stack(list(curves.values()), axis=-1).astype(float)
    times = np.arange(len(stacked)) * 1000 if times is None else np.asarray(times)
    steps = np.full(stacked.shape[1], -1)
    steps[list(died)] = 500
    return Lanes(times, stacked, steps, tuple(curves), np.zeros((stacked.shape[1], 0)))


def line(*heights, lanes=LANES):
    """Each checkpoint at a height, the same in every lane."""
    return np.repeat(np.array(heights, dtype=float)[:, None], lanes, axis=1)


def verdict(judge, *evidence):
    """None where the judge refuses the numbers: an ERROR, and no verdict."""
    try:
        return judge(list(evidence), SETTING).verdict
    except ValueError:
        return None


# ---------------------------------------------------------------------- few lanes diverge


def test_calm_lanes_pass_and_lanes_that_diverge_in_any_way_fail():
    calm = line(1.0, 2.0, 1.0)
    assert stability.few_diverge([trial(size=calm)], SETTING).verdict is PASS
    for curve in (line(1, 2, 10 * FAR), line(1, 10 * FAR, 1), line(1, 2, np.inf), line(1, np.nan, np.nan)):
        found = stability.few_diverge([trial(size=curve)], SETTING)
        assert found.verdict is FAIL
        assert f"{LANES} of {LANES} lanes" in found.words
    grown = [trial(size=line(2.0, 1e3, 1.0))]
    assert stability.few_diverge(grown, SETTING).verdict is PASS
    assert stability.few_diverge(grown, SETTING, far=10.0).verdict is FAIL
    for lost in (trial(size=calm, died=range(LANES)), trial(size=calm, rmspbe=line(1.0, 1.0, np.nan))):
        assert stability.few_diverge([lost], SETTING).verdict is FAIL


def test_every_other_lane_is_too_many_and_the_picture_shows_them():
    size = line(1.0, 2.0, 1.0)
    size[-1, ::2] = np.nan
    found = stability.few_diverge([trial(size=size)], SETTING)
    assert found.verdict is FAIL
    assert f"{LANES // 2} of {LANES} lanes" in found.words
    assert found.evidence["y"] == [1.0, 1.0, 0.5]
    size = line(1.0, 2.0, 1.0)
    size[-1, -1] = np.nan  # one of 64
    assert stability.few_diverge([trial(size=size)], SETTING).verdict is not FAIL


# ---------------------------------------------------------------------- what falls


def fall_of_objective(metric, curve, other):
    return partial(stability.objective_falls, metric, 0.4), trial(size=line(1, 1, 1), **{"other": other, metric: curve})


def fall_of_descent(metric, curve, other):
    return partial(falls.falls, metric, 0.4), trial(w_gap=line(1, 1, 1), **{"other": other, metric: curve})


FALLS = [(fall_of_objective, "rmspbe"), (fall_of_objective, "rdmspbe"), (fall_of_descent, "J")]


@pytest.mark.parametrize(("make", "metric"), FALLS)
def test_a_fall_is_the_end_over_the_start_of_the_metric_that_is_named(make, metric):
    """Lanes start a million apart; the other metric does the opposite."""
    start = np.geomspace(1e-3, 1e3, LANES)
    low, high = np.stack([start, 9 * start, 1e-3 * start]), np.stack([start, start / 9, 1e3 * start])
    judge, shown = make(metric, low, high)
    found = judge([shown], SETTING)
    assert (found.verdict, found.estimate) == (PASS, pytest.approx(1e-3, rel=1e-9))
    judge, shown = make(metric, high, low)
    found = judge([shown], SETTING)
    assert (found.verdict, found.estimate) == (FAIL, pytest.approx(1e3, rel=1e-9))
    assert verdict(*make(metric, line(1, 1e-6, 1), high)) is FAIL  # fell in between, and came back


@pytest.mark.parametrize(("make", "metric"), FALLS)
def test_a_fall_is_a_geometric_mean_over_lanes_and_no_median(make, metric):
    """33 lanes fall to 1e-4, 31 rise to 10: median 1e-4, mean 4.8, geometric mean 10^((31 − 33·4)/64)."""
    end = np.where(np.arange(LANES) < 33, 1e-4, 10.0)
    judge, shown = make(metric, np.stack([np.ones(LANES), np.ones(LANES), end]), line(1, 1, 1))
    found = judge([shown], SETTING)
    assert (found.estimate, found.n) == (pytest.approx(10 ** ((31 - 33 * 4) / 64)), LANES)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
@pytest.mark.parametrize(("make", "metric"), FALLS)
def test_a_diverged_lane_keeps_a_fall_from_passing(make, metric, broken):
    curve = line(1, 0.1, 1e-3)
    curve[-1, 5] = broken
    assert verdict(*make(metric, curve, line(1, 1, 1))) is not PASS
    curve[-1] = broken
    assert verdict(*make(metric, curve, line(1, 1, 1))) is FAIL


def test_on_the_spiral_the_end_and_the_highest_point_both_count():
    down, judge = line(70, 60, 7), size_falls
    assert verdict(judge, trial(size=down)) is PASS
    for wrong in (line(70, 70, 70), line(7, 60, 70), line(70, 7000, 7), line(70, np.nan, 7), line(70, 60, np.inf)):
        assert verdict(judge, trial(size=wrong)) is FAIL
    assert verdict(judge, trial(size=down * np.geomspace(1e-3, 1e3, LANES))) is PASS  # each against its own start
    down[-1, ::2] = np.nan
    assert verdict(judge, trial(size=down)) is FAIL


# ---------------------------------------------------------------------- certificate and simulation


def numbers(low, high, growth):
    """A bracket of the radius, and rates of 32 lanes close to `growth`."""
    return {"low": low, "high": high, "rates": (growth * (1 + np.linspace(-1e-3, 1e-3, 32))).tolist()}


CLASSES = {
    "stable": numbers(0.9, 0.91, -0.1),
    "diverging": numbers(1.2, 1.21, 0.1),
    "heavy-tailed": numbers(1.2, 1.21, -0.1),
    "marginal": numbers(0.99, 1.01, -0.1),
}
CALM, GONE = line(1, 1, 1), line(1, 1e3, np.nan)


@pytest.mark.parametrize("kind", CLASSES)
def test_only_stable_with_lanes_lost_and_diverging_with_lanes_kept_contradict(kind):
    allowed = {"stable": (True, False), "diverging": (False, True)}.get(kind, (True, True))
    for size, share, fine in ((CALM, 0.0, allowed[0]), (GONE, 1.0, allowed[1])):
        assert stability.contradicts(kind, share) is not fine
        found = stability.certificate_agrees([trial(size=size), CLASSES[kind]], SETTING)
        assert found.verdict is (PASS if fine else FAIL)
        assert kind in found.words
        assert f"{share:.0%} of lanes" in found.words
    half = np.where(np.arange(LANES) % 2, CALM, GONE)
    found = stability.certificate_agrees([trial(size=half), CLASSES[kind]], SETTING)
    assert found.verdict is (PASS if all(allowed) else FAIL)


def test_a_grid_agrees_only_if_every_point_does_and_names_the_one_that_does_not():
    points = len(stability.GRID)
    right = [part for _ in range(points) for part in (trial(size=CALM), CLASSES["stable"])]
    found = stability.grid_agrees(right, SETTING)
    assert (found.verdict, found.n) == (PASS, points * LANES)
    assert found.evidence["y"] == [0.0] * points
    for at in (0, points - 1):
        wrong = list(right)
        wrong[2 * at] = trial(size=GONE)
        found = stability.grid_agrees(wrong, SETTING)
        assert (found.verdict, found.estimate) == (FAIL, 1.0)
        assert f"α = {stability.GRID[at][0]:g}, β = {stability.GRID[at][1]:g}" in found.words
        assert found.evidence["y"][at] == 1.0
    assert stability.grid_agrees([trial(size=GONE), *right[1:-2], *wrong[-2:]], SETTING).estimate == 2.0


def test_on_a_grid_growth_too_slow_to_be_seen_contradicts_nothing():
    """Calm lanes: a rate that would take ten times the horizon, and one that needs a tenth of it."""
    for growth, expected in (
        (np.log(FAR) / stability.HORIZON / 10, PASS),
        (10 * np.log(FAR) / stability.HORIZON, FAIL),
    ):
        evidence = [trial(size=CALM), numbers(1.2, 1.21, growth)] * len(stability.GRID)
        assert stability.grid_agrees(evidence, SETTING).verdict is expected


# ---------------------------------------------------------------------- rates

HORIZONS = np.geomspace(1e3, 1e6, 13).round().astype(int)
POWERS = [partial(sampled.falls_like_a_power, "random_walk", None), sampled.has_an_exponent, sampled.falls_from_some_n]


def power_law(exponent, horizons=HORIZONS, lanes=16):
    """One run per horizon; lanes differ by a factor. The first checkpoint says something else."""
    factor = np.geomspace(0.5, 2.0, lanes)
    return [trial(times=(n // 2, n), err=np.stack([factor, factor * n**exponent])) for n in map(int, horizons)]


@pytest.mark.parametrize("judge", POWERS, ids=["power", "control", "late"])
def test_a_rate_is_the_slope_of_the_last_err_over_horizons(judge):
    for exponent, expected in ((-0.8, PASS), (-0.1, FAIL), (0.5, FAIL)):
        found = judge(power_law(exponent), SETTING)
        assert (found.verdict, found.estimate, found.n) == (expected, pytest.approx(exponent, abs=1e-9), 16)
        assert found.evidence["x"] == HORIZONS.tolist()
    broken = power_law(-0.8)
    broken[-1].curves[-1, 3] = np.nan
    assert verdict(judge, *broken) is not PASS


def test_a_late_rate_waits_for_the_power_law_and_not_for_a_better_slope():
    """Err stands still for five horizons and then falls like n^-0.8: over all of them the slope is flatter."""
    still, falling = power_law(0.0, HORIZONS[:5]), power_law(-0.8, HORIZONS[5:])
    for run in falling:
        run.curves[-1] *= float(HORIZONS[4]) ** 0.8
    found = sampled.falls_from_some_n(still + falling, SETTING)
    assert (found.verdict, found.estimate) == (PASS, pytest.approx(-0.8, abs=0.01))
    assert sampled.has_an_exponent(still + falling, SETTING).estimate > -0.75


@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_the_bound_covers_what_lies_below_it_and_is_vacuous_above_standing_still(delta):
    place, lanes = sampled.PROX[0], 2000
    saddle = sampled.saddle_of(place)
    late, early = 100 * saddle.useful_from(delta), 1000
    for n, below_it in ((late, PASS), (early, Verdict.VACUOUS)):
        limit = saddle.bound(n, delta)
        for share, expected in ((1.0, below_it), (0.5, FAIL), (0.0, FAIL)):
            errors = limit * np.where(np.arange(lanes) < share * lanes, 0.9, 1.1)
            found = sampled.bound_covers(place, delta, [trial(times=(n,), err=errors[None])], SETTING)
            assert (found.verdict, found.margin, found.n) == (expected, delta, lanes)
            assert found.estimate == pytest.approx(1 - share)


# ---------------------------------------------------------------------- Figure 2

TIMES = np.arange(0, evaluation.STEPS + 1, evaluation.EVERY)


def both(value, law):
    """RMSPBE of GTD2 and of its distributional form, [checkpoints, lanes]."""
    return trial(times=TIMES, rmspbe=value), trial(times=TIMES, rmspbe=law)


def steps_down(at, lanes=30):
    """RMSPBE falls to a hundredth at step `at`; lanes start a thousand apart."""
    return np.where(TIMES[:, None] < at, 1.0, 0.01) * np.geomspace(1.0, 1e3, lanes)


def test_the_figure_converges_if_the_distributional_form_does():
    falls, stays = steps_down(2000), steps_down(10**9)
    found = evaluation.converges([*both(stays, falls)], SETTING)
    assert (found.verdict, found.estimate) == (PASS, pytest.approx(0.01))
    assert verdict(evaluation.converges, *both(falls, stays)) is FAIL
    falls[-1, 3] = np.nan
    assert verdict(evaluation.converges, *both(stays, falls)) is not PASS


def test_similar_speed_is_equivalence_and_never_counts_as_late():
    judge, never = evaluation.similar_speed, steps_down(10**9)
    assert verdict(judge, *both(steps_down(4000), steps_down(4000))) is PASS
    for value, law in ((2000, 16_000), (16_000, 2000)):
        found = judge([*both(steps_down(value), steps_down(law))], SETTING)
        assert (found.verdict, found.estimate) == (FAIL, pytest.approx(8.0))
        assert f"{law / value:.3f} × GTD2's" in found.words
    assert verdict(judge, *both(steps_down(4000), never)) is FAIL
    assert verdict(judge, *both(never, steps_down(4000))) is FAIL
    lost = steps_down(4000)
    lost[1:, ::2] = np.nan  # half of the lanes diverge before they get there
    assert verdict(judge, *both(steps_down(4000), lost)) is not PASS


def test_smaller_variance_is_the_laws_over_the_values_late_in_the_run():
    """In the first three quarters of the run the spreads are the other way round."""
    late = (TIMES > 0.75 * evaluation.STEPS)[:, None]
    lanes = np.random.default_rng(0).normal(size=60)
    narrow, wide = (5 + np.where(late, small, 0.1 / small) * lanes for small in (0.01, 0.1))
    for pair, expected, ratio in ((both(wide, narrow), PASS, 0.01), (both(narrow, wide), FAIL, 100)):
        found = evaluation.smaller_variance([*pair], SETTING)
        assert (found.verdict, found.estimate) == (expected, pytest.approx(ratio))
    narrow[-1, 3] = np.nan
    assert verdict(evaluation.smaller_variance, *both(wide, narrow)) is not PASS


def test_paths_agree_only_if_each_pair_of_an_undiscounted_rule_or_of_td_does():
    """Pairs: GTD2 undiscounted and discounted, TD undiscounted and discounted; GTD2 discounted is only shown."""
    count = 2 * len(evaluation.PAIRS)

    def made():
        return [trial(value=line(0.1, 0.2, lanes=16)) for _ in range(count)]

    assert verdict(evaluation.paths_agree, *made()) is PASS
    for pair, expected in enumerate((FAIL, PASS, FAIL, FAIL)):
        for side in (0, 1):
            moved = made()
            moved[2 * pair + side].curves[0, 7] += 1e-3  # one lane, early, in one state
            assert verdict(evaluation.paths_agree, *moved) is expected
    moved = made()
    moved[0].curves[-1, 2] = np.nan
    assert verdict(evaluation.paths_agree, *moved) is FAIL


# ---------------------------------------------------------------------- a NaN never passes


def test_a_lane_that_is_not_a_number_never_passes():
    same = [trial(values=line(1.0, 2.0, 3.0, 4.0, lanes=16)) for _ in range(8)]
    assert verdict(evaluation.paths_agree, *same) is PASS
    for pair in (0, 1, 4, 5, 6, 7):
        lost = [trial(values=each.curves[..., 0].copy()) for each in same]
        lost[pair].curves[-1, 2] = np.nan
        assert verdict(evaluation.paths_agree, *lost) is FAIL
    n = 100 * sampled.saddle_of("random_walk_dependent").useful_from(0.1)
    nothing = trial(times=[n], err=np.full((1, 2000), np.nan))
    assert verdict(partial(sampled.bound_covers, "random_walk_dependent", 0.1), nothing) is FAIL


def test_a_lane_that_is_lost_after_its_mark_never_arrived():
    times = np.arange(0, evaluation.STEPS + 1, evaluation.EVERY)
    calm = np.repeat(np.geomspace(1.0, 1e-3, len(times))[:, None], 30, axis=1)
    lost = calm.copy()
    lost[-3:] = np.nan
    assert verdict(evaluation.similar_speed, trial(times, rmspbe=calm), trial(times, rmspbe=calm)) is PASS
    assert verdict(evaluation.similar_speed, trial(times, rmspbe=calm), trial(times, rmspbe=lost)) is FAIL
    assert verdict(evaluation.converges, trial(times, rmspbe=calm), trial(times, rmspbe=lost)) is FAIL
