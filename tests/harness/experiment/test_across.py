"""All problems at once, on planted lanes."""

import numpy as np
import pytest

from dgtd.harness.experiment.across import across, as_dict
from dgtd.harness.judging.statistics import iqm_interval
from dgtd.harness.report.words import details
from tests.harness.planted import GTD2, TDC, contest, flat, weighed

PROBLEMS = ("boyan", "baird")


def planted(heights, start=lambda height: height, lost=None, problems=PROBLEMS):
    """GTD2 and TDC with these areas [contestant][problem] → [16], and a start that depends on the area."""
    made = contest(GTD2, TDC, problems=problems)
    lanes = {(problem, who): flat(made, who, heights[who is TDC][problem]) for problem, who in made.pairs()}
    for curves in lanes.values():
        curves[:, 0, 0] = start(curves[:, 0, 0])
    return weighed(made, lanes, lost)


def both(boyan, baird):
    return {"boyan": np.asarray(boyan, dtype=float), "baird": np.asarray(baird, dtype=float)}


def test_shares_do_not_depend_on_a_problems_scale():
    level = np.linspace(1.0, 2.0, 16)
    seen = across(planted([both(level, 100 * level), both(level, 100 * level)], lambda height: 4 * height))
    assert seen is not None
    for label in ("GTD2", "TDC"):
        np.testing.assert_allclose(seen.shares[label], seen.shares[label][0, 0], rtol=1e-12)
        middle = seen.middles[label]
        assert [middle.low, middle.high] == pytest.approx([seen.shares[label][0, 0]] * 2)
    (only,) = seen.improvements
    assert only.chance.estimate == 0.5  # identical lanes are ties
    assert as_dict(seen)["improvement"][0]["b_lower"]["estimate"] == 0.5


def test_a_planted_improvement_is_counted_pair_by_pair_and_said():
    high, low = np.full(16, 2.0), np.concatenate([np.full(12, 1.0), np.full(4, 3.0)])
    ups = np.full(16, 2.0)
    found = planted([both(high, ups), both(low, 0.5 * ups)])
    # every lane starts where it stays, so shares are equal; only another start tells
    assert across(found).improvements[0].chance.estimate == 0.5
    found = planted([both(high, high), both(low, high)], lambda height: 10.0)
    seen, words = across(found), " ".join(details(found))
    (only,) = seen.improvements
    assert (only.a, only.b) == ("GTD2", "TDC")
    assert only.chance.estimate == (12 + 16 / 2) / 32  # 12 lower, 4 higher, 16 ties
    assert only.chance.low < 0.5 < only.chance.high
    assert seen.middles["TDC"].estimate < seen.middles["GTD2"].estimate
    assert "Over all problems, the area as a share of its start" in words
    levels = seen.levels()
    assert seen.profile("TDC", levels)[-1] == 1.0
    assert (np.diff(seen.profile("TDC", levels)) >= 0).all()


def test_a_diverged_lane_is_never_left_out():
    level = np.full(16, 2.0)
    few = across(planted([both(level, level)] * 2, lost={("boyan", TDC): range(4)}))
    many = across(planted([both(level, level)] * 2, lost={("boyan", TDC): range(5)}))
    assert np.isfinite(few.middles["TDC"].estimate)  # a quarter is what an interquartile mean forgives
    assert np.isinf(many.middles["TDC"].estimate)
    assert few.improvements[0].chance.estimate == 28 / 64
    assert many.profile("TDC", many.levels())[-1] == 27 / 32


def test_one_problem_has_no_across():
    level = np.full(16, 2.0)
    assert across(planted([both(level, level)] * 2, problems=("boyan",))) is None
    assert as_dict(None) is None


def test_the_interval_is_the_textbooks_for_one_stratum():
    """Tukey and McLaughlin on ten numbers, by hand: 3 … 8 kept, 2 winsorised at each end."""
    x = np.arange(1.0, 11.0)
    found = iqm_interval(x[None], 0.05)
    winsorised = np.array([3, 3, 3, 4, 5, 6, 7, 8, 8, 8.0])
    half = 2.5705818 * np.sqrt(winsorised.var(ddof=1) * 9 / (6 * 5))
    assert found.estimate == 5.5
    assert found.high - found.estimate == pytest.approx(half, rel=1e-7)
    with pytest.raises(ValueError, match="at least 2 values in a stratum, got 1"):
        iqm_interval([[1.0]], 0.05)
