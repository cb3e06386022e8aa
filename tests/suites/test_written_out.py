"""Checks against what is written out by hand or enumerated: each passes, and fails where something wrong is planted."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms import agents, optimisers, replay, rule, stepping, streams
from algorithms.fast import linear, module, replayed, traced
from algorithms.policy_iteration import Evaluators
from harness.compare import agreement
from harness.judging.claims import Setting
from harness.judging.verdicts import Verdict
from harness.oracle import linearised, objectives, returns, saddle
from harness.runs import acting
from harness.worlds import cartpole
from suites.control import algorithm_three, networks, physics, published, updates
from suites.convergence import planted
from suites.instrument import agreement as bands
from suites.instrument import by_hand, curves, exponents, identity, numbers
from suites.instrument import exact_points as points
from suites.instrument import streams as named
from suites.policy_iteration import steps
from suites.rates import tails

SETTING = Setting("ci", 0)
CLAIMS = {
    claim.id: claim
    for part in (
        named, by_hand, identity, numbers, bands, updates, physics, algorithm_three, networks, steps,
        exponents, points,
    )
    for claim in part.claims()
} | {"rates/expected-bound/gaussian": tails.gaussian()}  # fmt: skip


def verdict(name):
    return CLAIMS[name].check(SETTING).verdict


def scaled(function, factor):
    """The function with its result, or every part of it, times a factor."""

    def wrong(*given, **named):
        found = function(*given, **named)
        return type(found)(factor * part for part in found) if type(found) is tuple else factor * found

    return wrong


def one_step_late(steps):
    """What a run would show whose snapshots come one step too early."""
    path = PATH(steps)
    return [path[max(t - 1, 0)] for t in range(len(path))]


PATH, RUN, ACT = by_hand.gtd2_by_hand, linear.LinearEngine.run, Evaluators.act


def undated(self, state, *given, **named):
    found = RUN(self, state, *given, **named)
    state.died[:] = np.where(state.died >= 0, 0, -1)
    return found


def other_ratios(self, *given):
    found = ACT(self, *given)
    return found._replace(rho=1.01 * found.rho)


def without_ends(step):
    def wrong(self, actions):
        found = step(self, actions)
        return found._replace(truncated=found.truncated | found.terminated)

    return wrong


_together = module.ModuleEngine.directions_and_parts


def own_bootstrap(self, theta, w, batch, frozen=None):
    """As if nothing were frozen."""
    return _together(self, theta, w, batch)


PLANTED = {
    "instrument/streams/numpy": (streams, "_INIT_A", 1),
    "instrument/linear/by-hand": (by_hand, "gtd2_by_hand", one_step_late),
    "instrument/linear/deaths": (linear.LinearEngine, "run", undated),
    "instrument/stepping/mirror-prox": (stepping, "project_ball", lambda point, radius: point),
    "instrument/rules/linear": (rule, "_PROBES", ((1.0, 0.0), (0.0, 1.0))),
    "instrument/rules/fingerprint": (rule.Rule, "fingerprint", lambda self, ratios: self.name),
    "instrument/module/trace": (traced, "_same", lambda one, other: True),
    "instrument/agreement/standard-errors": (
        agreement,
        "standard_errors_away",
        scaled(agreement.standard_errors_away, 2),
    ),
    "instrument/agreement/skewed": (agreement, "careful", agreement.standard_errors_away),
    "instrument/agreement/band": (agreement, "CHANCE", 0.02),
    "control/updates/dqn": (optimisers, "BETA1", 0.8),
    "control/updates/c51": (agents.Players, "renew", lambda self, step: None),
    "control/atom-by-atom/greedy_gq(0.5)": (
        replayed.ReplayEngine,
        "gradients",
        scaled(replayed.ReplayEngine.gradients, 1.000001),
    ),
    "control/network/c51": (module.ModuleEngine, "directions_and_parts", own_bootstrap),
    "control/acts": (replayed.ReplayEngine, "values", scaled(replayed.ReplayEngine.values, 1.001)),
    "control/replay": (replay.Replay, "size", property(lambda self: 1)),
    "control/cartpole-v0/physics": (physics, "TAU", 0.021),
    "control/cartpole-v0/last-step": (cartpole.CartPole, "step", without_ends(cartpole.CartPole.step)),
    "policy_iteration/ratios": (Evaluators, "act", other_ratios),
    "policy_iteration/finite_cartpole/steps": (physics, "GRAVITY", 9.9),
    "policy_iteration/diagnosis/jacobian": (linearised, "mean_jacobian", scaled(linearised.mean_jacobian, 1.001)),
    "instrument/exponent/interval": (exponents, "STUDENT", {0.95: 2.015048}),  # one-sided
    "instrument/mean-update/tdrc": (
        objectives.Objective,
        "mean_update",
        scaled(objectives.Objective.mean_update, 1.001),
    ),
    "instrument/spectrum": (objectives, "NULL_OF_RANK", -1.0),
    "instrument/m-star": (saddle.Saddle, "noise", (0.0, 0.0)),
    "instrument/average/mirror-prox": (saddle, "mirror_prox", stepping.mirror_descent),
    "rates/expected-bound/gaussian": (tails, "bound_of", lambda height, *_: height),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_check_passes_and_fails_where_something_wrong_is_planted(name, monkeypatch):
    assert verdict(name) is Verdict.PASS
    where, attribute, wrong = PLANTED[name]
    monkeypatch.setattr(where, attribute, wrong)
    assert verdict(name) is Verdict.FAIL


def test_a_law_that_is_called_unique_is_seen(monkeypatch):
    assert verdict("instrument/unique-law") is Verdict.PASS
    original = returns.projected_law
    monkeypatch.setattr(returns, "projected_law", lambda *given: replace(original(*given), unique=True))
    assert verdict("instrument/unique-law") is Verdict.FAIL


def test_a_step_into_the_next_episode_is_seen(monkeypatch):
    """The replay then leads from a fall to an upright pole."""
    assert verdict("control/cartpole-v0/replayed") is Verdict.PASS
    add = acting.Replay.add

    def torn(self, x, action, reward, discount, x_next):
        add(self, x, action, reward, discount, np.where(np.asarray(discount)[:, None] == 0, 0.01, x_next))

    monkeypatch.setattr(acting.Replay, "add", torn)
    assert verdict("control/cartpole-v0/replayed") is Verdict.FAIL


@pytest.mark.parametrize("fault", ["next action", "ratio at an end"])
def test_a_lesson_of_what_did_not_happen_is_seen(fault, monkeypatch):
    assert verdict("policy_iteration/lessons") is Verdict.PASS
    learn = steps.Recording.learn

    def wrong(self, lesson, *rest):
        if fault == "next action":
            turned = lesson.x_next.copy()
            turned[..., 4:] = turned[..., :3:-1]
            return learn(self, lesson._replace(x_next=turned), *rest)
        return learn(self, lesson._replace(rho=np.where(lesson.discount == 0, 0.5, lesson.rho)), *rest)

    monkeypatch.setattr(steps.Recording, "learn", wrong)
    assert verdict("policy_iteration/lessons") is Verdict.FAIL


# ---------------------------------------------------------------------- judges of what was run


@pytest.mark.parametrize(
    ("kinds", "edge", "passes"),
    [(["diverging", "stable"], 0.2858, True), (["diverging", "stable"], 0.35, False), (["stable"] * 2, 0.2858, False)],
)
def test_an_edge_is_where_the_radius_is_1(kinds, edge, passes):
    found = exponents.edge_is_at_one([{"kinds": kinds, "edge": edge}], SETTING)
    assert (found.verdict is Verdict.PASS) == passes


@pytest.mark.parametrize("kind", ["diverging", "heavy-tailed", "marginal"])
def test_only_divergence_is_right_where_paths_turn(kind):
    found = exponents.turns_are_seen([{"kinds": [kind], "edge": None}], SETTING)
    assert (found.verdict is Verdict.PASS) == (kind == "diverging")


def test_a_step_that_is_1_percent_larger_is_told_apart():
    """From 4096 lanes already; the right expectation passes."""
    from dataclasses import asdict

    from algorithms.rules import gtd2

    case = curves.CASES["boyan/last"]
    lanes = curves.sampled_means(gtd2, lanes=4096, seed=1, **asdict(case))
    assert curves.means_agree(gtd2, case, [lanes], SETTING).verdict is Verdict.PASS
    assert curves.other_step(gtd2).judge([lanes], SETTING).verdict is Verdict.FAIL


def test_planted_curves_pass_without_their_fault(monkeypatch):
    assert {claim.check(SETTING).verdict for claim in planted.controls()} == {Verdict.FAIL}
    monkeypatch.setattr(planted, "STALL", planted.STEPS)
    assert planted.stalls(SETTING).verdict is Verdict.PASS


def test_a_direction_that_is_not_a_number_is_not_the_published_one(monkeypatch):
    gradients = replayed.ReplayEngine.gradients
    monkeypatch.setattr(replayed.ReplayEngine, "gradients", scaled(gradients, np.nan))
    assert published.directions_error("dqn", SETTING).verdict is Verdict.FAIL


@pytest.mark.slow
@pytest.mark.parametrize("claim", published.other_updates(), ids=lambda claim: claim.id)
def test_updates_that_were_never_published_are_caught_on_any_seed(claim):
    assert [seed for seed in range(20) if claim.check(Setting("ci", seed)).verdict is not Verdict.FAIL] == []
