"""Figure 1's claims: profiles, the points of the search, and planted lanes are judged right."""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.harness.experiment.search import ALPHAS, RADIUS, RATIOS, Point, learner_at, points
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites import policy_iteration
from dgtd.suites.policy_iteration import evaluation, figure_one
from dgtd.suites.policy_iteration.search import V0

RNG = np.random.default_rng(0)
SETTING = Setting("full", 0, 1e-5)


def lanes(path, spread=5.0, count=30):
    """Lanes along a path of ten returns, with noise of their own at every checkpoint."""
    times = np.arange(51) * 400
    each = np.concatenate([[path[0]], np.repeat(path, 5)])
    curves = (each[:, None] + spread * RNG.normal(size=(51, count)))[..., None]
    return Lanes(times, curves, np.full(count, -1), ("return",), np.zeros((count, 0)))


UP = np.linspace(20, 180, 10)
ZIGZAG = np.array([20, 100, 40, 150, 30, 160, 50, 150, 60, 180])


def test_profiles():
    made = policy_iteration.claims()
    figures = [claim for claim in made if claim.figure]
    assert all("ci" not in claim.profiles for claim in figures)
    assert {claim.profiles for claim in figures if claim.id.endswith(("/search", "/finalists"))} == {("paper",)}
    assert sum(claim.profiles == ("full", "paper") for claim in figures) == 20
    assert policy_iteration.claims(rule=object()) == []
    controls = [claim for claim in made if claim.control]
    assert {claim.id.split("/")[2] for claim in controls} == {
        "every-step", "greedy-next", "through-the-end", "w-never-moves",
    }  # fmt: skip


@pytest.mark.parametrize("count", [16, 32, 64])
def test_the_points_cover_the_ranges_and_their_choices_are_balanced(count):
    made = points(count)
    alpha, ratio = np.array([(p.alpha, p.beta / p.alpha) for p in made]).T
    for values, (low, high) in ((alpha, ALPHAS), (ratio, RATIOS)):
        shares = np.sort(np.log(values / low) / np.log(high / low))
        np.testing.assert_allclose(shares, (np.arange(count) + 0.5) / count)
    middle = np.sqrt(ALPHAS[0] * ALPHAS[1])
    columns = [
        (p.alpha > middle, p.beta > p.alpha, p.replayed, p.decaying, p.activation == "relu",
         p.projection == "nearest", p.pinned, p.bounded) for p in made
    ]  # fmt: skip
    np.testing.assert_allclose(np.corrcoef(np.array(columns, dtype=float).T), np.eye(8), atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 12])
def test_a_search_that_can_not_be_balanced_is_refused(count):
    with pytest.raises(ValueError, match="count must be"):
        points(count)


def test_a_point_is_what_the_learner_gets():
    point = Point(0.5, 0.25, True, True, "relu", "nearest", True)
    law, value = (learner_at(point, "tdc", target, V0) for target in ("cdf", "value"))
    assert (law.alpha, law.beta, law.projection, law.predictor.pinned) == (0.5, 0.25, "nearest", True)
    assert (law.iteration.capacity, law.iteration.batch, law.schedule.name) == (10_000, 8, "robbins-monro")
    assert (law.predictor.hidden, value.predictor.hidden, value.predictor.pinned) == ((50,), (30,), False)
    assert (law.radius, learner_at(replace(point, bounded=True), "tdc", "value", V0).radius) == (None, RADIUS)
    assert point.shown("value") == "α 0.5, β 0.25, replay, decaying, relu"


@pytest.mark.parametrize(
    ("judge", "first", "second"),
    [
        (figure_one.earns_more, UP, UP - 60),
        (figure_one.earns_more_early, UP[::-1], UP),
        (figure_one.rises_more_steadily, UP, ZIGZAG),
    ],
    ids=["more", "early", "steadily"],
)
def test_who_has_more_is_told(judge, first, second):
    assert judge([lanes(first), lanes(second)], SETTING).verdict is Verdict.PASS
    assert judge([lanes(second), lanes(first)], SETTING).verdict is Verdict.FAIL
    assert judge([lanes(first), lanes(first)], SETTING).verdict is Verdict.INCONCLUSIVE


def test_steadiness_is_the_share_of_ways_that_lead_up():
    for path, expected in ((UP, 1.0), (UP[::-1], -1.0), (ZIGZAG, 160 / np.abs(np.diff(ZIGZAG)).sum())):
        np.testing.assert_allclose(figure_one.steadiness(lanes(path, spread=0.0)), expected)
    np.testing.assert_array_equal(figure_one.steadiness(lanes(np.full(10, 9.0), spread=0.0)), 0.0)


def test_half_of_the_lanes_must_learn():
    for learnt, verdict in ((36, Verdict.PASS), (0, Verdict.FAIL), (18, Verdict.INCONCLUSIVE)):
        trial = lanes(np.full(10, 9.0), 0.1, 36)
        trial.curves[:, :learnt] += 100
        assert evaluation.half_learn([trial], Setting("ci", 0, 7e-6)).verdict is verdict
