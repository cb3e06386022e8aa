"""Sweeps and comparisons on planted lanes: who is chosen, whose lanes are pairs, and who may be called a winner."""

import re

import numpy as np
import pytest

from dgtd.harness.experiment.comparison import Duel, compare, seeds_to_decide, undecidable
from dgtd.harness.experiment.search import Grid
from dgtd.harness.judging.statistics import Interval, Paired
from dgtd.harness.report.words import no_stable_words
from dgtd.harness.runs.store import Store
from dgtd.harness.runs.trainers.trainer import trainer_of
from tests.harness.planted import (
    GTD2,
    GTD2_LAW,
    TDC,
    TDC_LAW,
    chosen_at_once,
    contest,
    flat,
    plant,
    swept,
    weighed,
)


@pytest.fixture
def store():
    with Store(":memory:") as made:
        yield made


def fill(length, *values):
    """`length` heights: the first ones given, the rest at the last of them."""
    return np.array([*values, *[values[-1]] * (length - len(values))], dtype=float)


# ---------------------------------------------------------------------- streams


def streams(spec, seeds=range(64)):
    return {tuple(stream) for stream in trainer_of(spec).streams(seeds).tolist()}


def test_lanes_that_choose_step_sizes_are_never_lanes_that_are_reported():
    made = contest(GTD2, TDC, GTD2_LAW, grid=Grid((0.1, 0.2), (1.0,)))
    sweep, final = made.sweep_requests(), made.final_requests(chosen_at_once(made))
    assert len(sweep) == 6
    assert len(final) == 3
    swept = set.union(*(streams(request.spec) for request in sweep))
    reported = set.union(*(streams(request.spec) for request in final))
    assert not swept & reported
    assert len(swept) == len(reported) == 64  # within each, all contestants and settings walk the same lanes


def test_contestants_are_started_on_the_same_lanes_and_problems_and_seeds_on_others():
    made = contest(GTD2, GTD2_LAW, problems=("boyan", "random_walk"))
    first = trainer_of(made.spec("boyan", GTD2, 0.1, 0.1))
    again = trainer_of(made.spec("boyan", GTD2_LAW, 0.3, 0.2))
    lanes = [learning.start(range(8)).sampler for learning in (first, again)]
    np.testing.assert_array_equal(lanes[0].draw(50), lanes[1].draw(50))
    here = streams(first.spec)
    assert not here & streams(made.spec("random_walk", GTD2, 0.1, 0.1))
    assert not here & streams(contest(GTD2, root_seed=1).spec("boyan", GTD2, 0.1, 0.1))


# ---------------------------------------------------------------------- the choice


THREE = Grid((0.1, 0.2, 0.4), (1.0,))


def test_the_smallest_mean_area_is_chosen_and_not_the_smallest_median(store):
    made = contest(GTD2, grid=THREE)
    low_median = fill(16, *[0.1] * 9, 3.0)
    swept(store, made, GTD2, {(0.1, 0.1): fill(16, 1.2), (0.2, 0.2): fill(16, 1.0), (0.4, 0.4): low_median})
    found = made.choose(store)["boyan", GTD2]
    assert found.best == (0.2, 0.2)
    assert [point.area for point in found.sweep] == pytest.approx([1.2, 1.0, (9 * 0.1 + 7 * 3.0) / 16])
    assert [(point.alpha, point.beta) for point in found.sweep] == made.points("boyan", GTD2)
    assert found.seconds == pytest.approx(6.0)


def test_a_setting_with_a_diverged_lane_is_never_chosen(store):
    """However low its curves are, and however finite: one lane of sixteen is enough."""
    made = contest(GTD2, grid=THREE)
    swept(
        store,
        made,
        GTD2,
        {(0.1, 0.1): fill(16, 5.0), (0.2, 0.2): fill(16, 0.1), (0.4, 0.4): fill(16, 0.01)},
        {(0.2, 0.2): {7}, (0.4, 0.4): set(range(16))},
    )
    found = made.choose(store)["boyan", GTD2]
    assert found.best == (0.1, 0.1)
    assert [point.diverged for point in found.sweep] == [0, 1, 16]
    assert [point.area for point in found.sweep] == [5.0, np.inf, np.inf]
    assert [point.stable for point in found.sweep] == [True, False, False]


def test_if_every_setting_lost_a_lane_the_fewest_decide_and_it_is_said(store):
    made = contest(GTD2, grid=THREE)
    lost = dict(zip(THREE.points(), ({3, 4}, {3}, {3}), strict=True))
    swept(store, made, GTD2, {p: fill(16, h) for p, h in zip(THREE.points(), (0.1, 2.0, 1.0), strict=True)}, lost)
    chosen = made.choose(store)
    assert chosen["boyan", GTD2].best == (0.4, 0.4)
    assert not chosen["boyan", GTD2].stable
    plant(store, made.spec("boyan", GTD2, 0.4, 0.4), GTD2.metrics, flat(made, GTD2, fill(16, 1.0)))
    (entry,) = compare(made, store, chosen).entries
    assert re.search(r"No stable step sizes for GTD2 on boyan: each of 3.*α=0.1 β=0.1: 2 of 16", no_stable_words(entry))


def test_the_choice_is_made_on_the_sweeps_lanes_and_only_on_those_asked_for(store):
    """The reported lanes say the opposite, and so do the sweep's lanes from the fifth on."""
    made = contest(GTD2, grid=Grid((0.1, 0.2), (1.0,)), sweep_seeds=4)
    heights = {(0.1, 0.1): fill(16, 1, 1, 1, 1, 9), (0.2, 0.2): fill(16, 2, 2, 2, 2, 0.1)}
    swept(store, made, GTD2, heights, lost={(0.1, 0.1): {4}})
    for point, height in (((0.1, 0.1), 9.0), ((0.2, 0.2), 0.1)):
        plant(store, made.spec("boyan", GTD2, *point), GTD2.metrics, flat(made, GTD2, fill(16, height)))
    found = made.choose(store)["boyan", GTD2]
    assert found.best == (0.1, 0.1)
    assert [point.lanes for point in found.sweep] == [4, 4]


def test_ties_go_to_the_smaller_alpha_and_then_the_smaller_beta(store):
    made = contest(GTD2, grid=Grid((0.4, 0.2), (4.0, 1.0)))
    swept(store, made, GTD2, {point: fill(16, 1.0) for point in made.points("boyan", GTD2)})
    assert made.choose(store)["boyan", GTD2].best == (0.2, 0.2)


def test_the_area_is_that_of_rmspbe_over_the_steps(store):
    """One falls in the first step; the mean over checkpoints, the ends and the other metrics say the opposite."""
    made = contest(GTD2_LAW, grid=Grid((0.1, 0.2), (1.0,)))
    for alpha, first, rest, last, other in ((0.1, 40.0, 0.5, 0.6, 7.0), (0.2, 1.0, 1.0, 0.55, 0.1)):
        curves = flat(made, GTD2_LAW, fill(16, rest), other)
        curves[:, 0, 0], curves[:, -1, 0] = first, last
        swept(store, made, GTD2_LAW, {(alpha, alpha): curves})
    assert made.choose(store)["boyan", GTD2_LAW].best == (0.1, 0.1)


def test_given_step_sizes_need_no_sweep(store):
    made = contest(GTD2, TDC, alpha=0.3, beta=0.7)
    assert made.sweep_requests() == []
    assert {choice.best for choice in made.choose(store).values()} == {(0.3, 0.7)}


# ---------------------------------------------------------------------- pairs and winners


def test_pairs_are_lanes_of_equal_seeds():
    """Lanes differ by thousands, rules by a thousandth: only right pairs can tell. Two cohorts, stored backwards."""
    lanes = np.random.default_rng(0).permutation(32) * 1000.0 + 1
    made = contest(GTD2, TDC, seeds=32)
    found = weighed(made, {("boyan", GTD2): lanes, ("boyan", TDC): lanes + 1e-3})
    duel = found.duel("boyan", GTD2, TDC)
    assert (duel.metric, duel.number, duel.result.n) == ("rmspbe", "auc", 32)
    assert duel.result.better.estimate == 1.0
    assert duel.result.median_difference == pytest.approx(-1e-3, rel=1e-3)
    assert duel.winner == "GTD2"
    np.testing.assert_array_equal(found.entries[0].of("rmspbe")[:, -1], lanes)


@pytest.mark.parametrize(
    ("lanes", "problems", "p", "wins"),
    [(5, 1, 0.0625, False), (6, 1, 0.03125, True), (6, 2, 0.0625, False), (7, 2, 0.03125, True)],
)
def test_a_winner_needs_holm_over_the_whole_command(lanes, problems, p, wins):
    """All lanes agree: p = 2/2ⁿ, times the problems; one number of one metric is tested, the rest described."""
    names = ("boyan", "random_walk")[:problems]
    made = contest(GTD2, TDC, problems=names, seeds=lanes)
    base = np.linspace(1.0, 2.0, lanes)
    heights = dict.fromkeys(made.pairs(), base)
    heights["boyan", TDC] = base + np.linspace(0.1, 0.2, lanes)
    found = weighed(made, heights)
    assert len(found.duels) == 4 * problems
    assert sum(duel.primary for duel in found.duels) == made.tests == problems
    assert all(np.isnan(duel.p) for duel in found.duels if not duel.primary)
    duel = found.duel("boyan", GTD2, TDC)
    assert duel.result.p == pytest.approx(2 / 2**lanes)
    assert duel.p == pytest.approx(p)
    assert found.winner("boyan", "rmspbe", "auc") == ("GTD2" if wins else None)
    assert found.winner("boyan", "rmspbe", "final") is None
    assert bool(undecidable(made.seeds, made.tests)) is (not wins)
    assert seeds_to_decide(problems) == 6 + (problems > 1)


def test_the_area_alone_names_a_winner():
    """GTD2 ends lower and has the larger area; by the value error TDC is lower throughout: described, not tested."""
    made = contest(GTD2, TDC, seeds=12)
    base = np.linspace(1.0, 2.0, 12)
    ends_low = flat(made, GTD2, base + 1, other=3.0)
    ends_low[:, -1, 0] = base / 10
    found = weighed(made, {("boyan", GTD2): ends_low, ("boyan", TDC): flat(made, TDC, base, other=2.0)})
    assert found.winner("boyan", "rmspbe", "auc") == "TDC"
    assert found.winner("boyan", "rmspbe", "final") is None
    assert found.winner("boyan", "rmsve", "final") is None
    assert found.winner("elsewhere", "rmspbe", "auc") is None
    described = next(d for d in found.duels if (d.metric, d.number) == ("rmsve", "final"))
    assert described.result.better.estimate == 0.0


def test_the_winner_of_a_duel_is_whoever_is_decided_to_be_lower():
    def duel(side):
        return Duel("x", "rmspbe", "auc", "A", "B", Paired(0.0, 0.01, Interval(0.5, 0, 1, 9), 9, side), 0.01, side=side)

    assert [duel(side).winner for side in (-1, 1, 0)] == ["A", "B", None]


def test_spread_is_the_laws_over_that_of_the_same_rules_values():
    """A law's lanes move half as far (TDC: three times as far): ratios ¼ and 9, whoever else takes part."""
    people, base = (GTD2, TDC, GTD2_LAW, TDC_LAW), np.linspace(1.0, 2.0, 8)
    made = contest(*people, problems=("boyan", "random_walk"), seeds=8)
    scale = {GTD2: 1.0, TDC: 10.0, GTD2_LAW: 0.5, TDC_LAW: 30.0}
    powers = {"boyan": 1, "random_walk": 2}
    found = weighed(made, {(problem, who): scale[who] ** powers[problem] * base for problem, who in made.pairs()})
    for problem, power in powers.items():
        spreads = {entry.who: entry.spread for entry in found.at(problem) if entry.spread}
        assert set(spreads) == {GTD2_LAW, TDC_LAW}
        for who, ratio in ((GTD2_LAW, 0.25), (TDC_LAW, 9.0)):
            assert set(spreads[who]) == {"final", "auc"}
            assert [each.ratio.estimate for each in spreads[who].values()] == pytest.approx([ratio**power] * 2)
