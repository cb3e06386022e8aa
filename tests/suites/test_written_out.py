"""Checks against what is written out by hand or enumerated: each passes, and fails where something wrong is planted."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from dgtd.algorithms import agents, stepping
from dgtd.algorithms.fast import replayed, small
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.stepping import PowerLaw
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.harness.oracle import mdp, metrics, objectives, saddle
from dgtd.suites import instrument
from dgtd.suites.control import published
from dgtd.suites.convergence import limits
from dgtd.suites.instrument import curves, exact, steps
from dgtd.suites.rates import tails

SETTING = Setting("ci", 0)
CLAIMS = {
    claim.id: claim for made in (instrument.claims, published.updates, published.written_out) for claim in made()
} | {"rates/expected-bound/gaussian": tails.gaussian()}


def verdict(name):
    return CLAIMS[name].check(SETTING).verdict


def scaled(function, factor):
    """The function with its result, or every part of it, times a factor."""

    def wrong(*given, **named):
        found = function(*given, **named)
        return type(found)(factor * part for part in found) if type(found) is tuple else factor * found

    return wrong


def slipped(kind, name, factor=1.0 + 1e-6):
    """(a class, a method of it, and the method with its result off by a little)."""
    return kind, name, scaled(getattr(kind, name), factor)


ENGINE_OF = steps.engine_of


def decaying(name, rule, *rest):
    """An engine whose w decays a little."""
    return ENGINE_OF(name, replace(rule, w_decay=1e-6), *rest)


PLANTED = {
    "instrument/linear/gtd2/written-out": (steps, "directions", scaled(steps.directions, 1.0 + 1e-6)),
    "instrument/mlp/gtd2/written-out": (steps, "engine_of", decaying),
    "instrument/small/gtd2/written-out": slipped(small.SmallEngine, "directions"),
    "instrument/module/gtd2/written-out": (steps, "engine_of", decaying),
    "instrument/linear/loop/gtd2": (steps, "PowerLaw", lambda a, b, offset: PowerLaw(b, a, offset)),
    "instrument/problem": (mdp.FiniteMDP, "mspbe", scaled(mdp.FiniteMDP.mspbe, 1.0 + 1e-6)),
    "instrument/metrics/cdf": slipped(metrics.Metrics, "__call__"),
    "instrument/objective/mlp": slipped(objectives.Objective, "value", 2.0),
    "instrument/err/random_walk_dependent": slipped(saddle.Saddle, "error", 1.001),
    "instrument/bound/random_walk_dependent": slipped(saddle.Saddle, "bound"),
    "instrument/radius": (exact, "second_moment_radius", scaled(exact.second_moment_radius, 1.0 + 1e-6)),
    "instrument/lstd/collision": (exact, "LAGS", 3),
    "control/updates/dqn": (stepping, "BETA1", 0.8),
    "control/updates/c51": (agents.Players, "renew", lambda self, step: None),
    "control/atom-by-atom/greedy_gq(0.5)": slipped(replayed.ReplayEngine, "gradients"),
    "rates/expected-bound/gaussian": (tails, "bound_of", lambda height, *_: height),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_check_passes_and_fails_where_something_wrong_is_planted(name, monkeypatch):
    assert verdict(name) is Verdict.PASS
    where, attribute, wrong = PLANTED[name]
    monkeypatch.setattr(where, attribute, wrong)
    assert verdict(name) is Verdict.FAIL


# ---------------------------------------------------------------------- judges of what was run


def test_a_step_that_is_1_percent_larger_is_told_apart():
    """From 4096 lanes already; the right expectation passes."""
    case = curves.CASES["boyan/last"]
    lanes = curves.sampled_means(gtd2, lanes=4096, seed=1, **asdict(case))
    assert curves.means_agree(gtd2, (case,), [lanes], SETTING).verdict is Verdict.PASS
    assert curves.other_step(gtd2).judge([lanes], SETTING).verdict is Verdict.FAIL


def test_planted_curves_pass_without_their_fault(monkeypatch):
    assert {claim.check(SETTING).verdict for claim in limits.planted()} == {Verdict.FAIL}
    monkeypatch.setattr(limits, "STALL", limits.PLANTED_STEPS)
    assert limits.stalls(SETTING).verdict is Verdict.PASS


def test_a_direction_that_is_not_a_number_is_not_the_published_one(monkeypatch):
    gradients = replayed.ReplayEngine.gradients
    monkeypatch.setattr(replayed.ReplayEngine, "gradients", scaled(gradients, np.nan))
    assert published.directions_error("dqn", SETTING).verdict is Verdict.FAIL


@pytest.mark.slow
@pytest.mark.parametrize("claim", [each for each in published.claims() if each.control], ids=lambda claim: claim.id)
def test_updates_that_were_never_published_are_caught_on_any_seed(claim):
    assert [seed for seed in range(20) if claim.check(Setting("ci", seed)).verdict is not Verdict.FAIL] == []
