"""Figure 3's claims: which profile and which extra they belong to, and planted lanes are judged right."""

from functools import partial

import numpy as np
import pytest

from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import collect
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites import control, returns
from dgtd.suites.control import figure_three
from dgtd.suites.control.figure_three import C51, CARTPOLE, DOOM, DQN, GREEDY, LANDER, SPREAD

RNG = np.random.default_rng(0)
SETTING = Setting("full", 0, 1e-5)
SENTENCES = (
    "c51-over-dqn", "greedy-gq-over-dqn", "greedy-gq-over-eta-0", "greedy-gq-over-eta-0/at-any-rate",
    "greedy-gq-comparable-with-c51", "c51-steadier-than-dqn", "greedy-gq-steadier-than-dqn",
)  # fmt: skip
ON_CARTPOLE = [f"control/cartpole-v1/{name}" for name in SENTENCES]


def lanes(first, last, spread=10.0, count=30):
    """Returns that go from one number to another, over fifty checkpoints."""
    times = np.arange(51) * 1200
    path = first + (last - first) * np.minimum(np.maximum(times / times[-1] - 0.1, 0) / 0.5, 1.0)
    curves = (path[:, None] + spread * RNG.normal(size=count))[..., None]
    return Lanes(times, curves, np.full(count, -1), ("return",), np.zeros((count, 0)))


def with_extras(monkeypatch, *packages):
    monkeypatch.setattr(figure_three, "find_spec", lambda name: name if name in packages else None)
    return [claim for claim in control.claims() if "/control/" not in claim.id]


def test_a_world_whose_extra_is_missing_has_no_claims(monkeypatch):
    figures = [claim.id for claim in with_extras(monkeypatch) if claim.figure]
    assert figures == ON_CARTPOLE
    assert any("LunarLander" in claim.id for claim in with_extras(monkeypatch, "Box2D"))
    assert not any("vizdoom" in claim.id for claim in with_extras(monkeypatch, "Box2D"))
    assert any("vizdoom" in claim.id for claim in with_extras(monkeypatch, "vizdoom"))


def test_extras_add_nothing_to_ci_and_findings_elsewhere(monkeypatch):
    few, many = with_extras(monkeypatch), with_extras(monkeypatch, "Box2D", "vizdoom")
    in_ci = [[claim.id for claim in some if "ci" in claim.profiles] for some in (few, many)]
    assert in_ci[0] == in_ci[1]
    new = [claim for claim in many if claim.id not in {each.id for each in few}]
    assert {claim.profiles for claim in new if "vizdoom" in claim.id} == {("paper",)}
    assert {claim.id for claim in new if not claim.figure} == {
        f"control/LunarLander-v3/{name}/rises" for name in (DQN, C51, GREEDY)
    }
    assert len(new) == 3 + 2 + 5


def test_the_claims_of_this_installation_are_collected():
    ids = [claim.id for claim in collect("control", None, "full")]
    assert [each for each in ids if each in ON_CARTPOLE] == ON_CARTPOLE


@pytest.mark.parametrize(("last", "verdict"), [(100, Verdict.PASS), (-120, Verdict.FAIL), (-50, Verdict.INCONCLUSIVE)])
def test_a_rise_is_measured_from_the_first_tenth(last, verdict):
    trial = lanes(-150, last)
    trial.curves[-10:] += 5 * RNG.normal(size=(30, 1))  # a lane's rise varies too
    assert figure_three.rises_enough(100, [trial], SETTING).verdict is verdict


@pytest.mark.parametrize(("ours", "verdict"), [(60, Verdict.PASS), (-60, Verdict.FAIL), (0.5, Verdict.INCONCLUSIVE)])
def test_who_earns_more(ours, verdict):
    trials = [lanes(-150, ours), lanes(-150, 0)]
    assert LANDER.judged(partial(returns.earns_more_on_average, LANDER.matters), trials, SETTING).verdict is verdict


@pytest.mark.parametrize(
    ("ours", "spread", "verdict"),
    [(5.1, 0.3, Verdict.PASS), (8, 0.3, Verdict.FAIL), (2, 0.3, Verdict.FAIL), (5.5, 3.0, Verdict.INCONCLUSIVE)],
)
def test_the_same_is_within_one_kill_either_way(ours, spread, verdict):
    trials = [lanes(0, ours, spread), lanes(0, 5, spread)]
    assert DOOM.judged(partial(returns.earns_the_same, 1.0), trials, SETTING).verdict is verdict


@pytest.mark.parametrize(("spread", "verdict"), [(1, Verdict.PASS), (100, Verdict.FAIL), (10, Verdict.INCONCLUSIVE)])
def test_whose_returns_vary_less(spread, verdict):
    trials = [lanes(0, 5, spread), lanes(0, 5, 10)]
    assert DOOM.judged(returns.varies_less, trials, SETTING).verdict is verdict


def test_the_paper_profile_judges_each_agent_at_the_rate_of_its_own_sweep():
    """The rate that is best in the sweep is used, also where another is better on the lanes that are judged."""
    sweeps, finals = [[1, 9, 2], [5, 3, 4]], [[50, 20, 60], [10, 30, 40]]
    trials = [lanes(0, last, 0.1) for swept, final in zip(sweeps, finals, strict=True) for last in (*swept, *final)]
    seen = []
    DOOM.judged(lambda *given: seen.append(given), trials, Setting("paper"))
    ((ours, theirs, words, _),) = seen
    np.testing.assert_allclose([ours.mean(), theirs.mean()], [20, 10], atol=0.2)
    assert words == "; rates 0.0005 and 0.00025 by sweep"


@pytest.mark.parametrize("panel", [CARTPOLE, LANDER, DOOM])
def test_what_the_paper_profile_needs_is_in_the_order_that_is_judged(panel):
    if panel.extra:
        pytest.importorskip(panel.extra, reason=f"needs the extra of {panel.world}")
    needs = panel.pair(C51, DQN, Setting("paper"))
    rates = [need.spec.learner.alpha for need in needs]
    count = len(panel.rates)
    assert rates == list(panel.rates) * 4
    assert [dict(need.spec.axes)["purpose"] for need in needs] == (["sweep"] * count + ["ranking"] * count) * 2
    assert [need.spec.learner.target for need in needs] == ["cdf"] * 2 * count + ["value"] * 2 * count


@pytest.mark.parametrize("panel", [CARTPOLE, LANDER])
def test_the_full_profile_uses_rates_that_a_sweep_of_the_same_rates_chose(panel):
    if panel.extra:
        pytest.importorskip(panel.extra, reason=f"needs the extra of {panel.world}")
    full = panel.pair(C51, DQN, Setting("full"))
    assert [need.spec.learner.alpha for need in full] == [panel.chosen[C51], panel.chosen[DQN]]
    assert set(panel.chosen.values()) <= set(panel.rates)
    assert {need.seeds for need in full} == {panel.lanes}


@pytest.mark.parametrize(("ours", "verdict"), [(260, Verdict.PASS), (140, Verdict.FAIL), (202, Verdict.INCONCLUSIVE)])
def test_enough_is_earned_on_average(ours, verdict):
    assert figure_three.earns_enough([lanes(20, ours)], SETTING).verdict is verdict


def test_over_rates_a_lane_is_the_mean_of_its_rates():
    """Better at one rate by more than it is worse at the two others: PASS in the mean, and the words have each rate."""
    found = figure_three.earns_more_over_rates(
        [lanes(20, last, 1.0) for last in (100, 100, 300, 120, 120, 120)], SETTING
    )
    assert found.verdict is Verdict.PASS
    assert "0.00025: 100 and 120; 0.001: 100 and 120; 0.004: 300 and 120" in found.words
    needs = next(claim for claim in figure_three.claims() if claim.id.endswith("at-any-rate")).needs(SETTING)
    assert [need.spec.learner.alpha for need in needs] == [*SPREAD, *SPREAD]
    assert {need.seeds for need in needs} == {10}
    assert [need.spec.learner.rule.name for need in needs] == ["greedy_gq(eta=0.5)"] * 3 + ["greedy_gq(eta=0)"] * 3
