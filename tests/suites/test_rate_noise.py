"""What the claims about noise must see, each planted and asked on ten seeds; and that right rules pass them."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dgtd.algorithms.rule import Cotangents, Rule
from dgtd.algorithms.rules import gtd2, gtd2_sb, td, tdc
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import share
from dgtd.harness.judging.verdicts import Verdict
from dgtd.suites.rates import expected, noise, parts
from dgtd.suites.rates.expected import PLACES

FALSE_ALARM = share(None, "ci")
SEEDS = range(10)
TWIN = Rule("twin", lambda d, u, r: Cotangents(-(r * u), u * r, -(u - r * d)))
TDC_TWIN = Rule("tdc_twin", lambda d, u, r: Cotangents((0.0 - d) * r, u * r, d * r - u))
TD = replace(td, name="td_that_promises", promises=gtd2.promises)  # a learner without w
SAMPLED = {kind: partial(noise.alone, kind=kind) for kind in ("noise", "noise-slack", "noise-centre")}


def verdict(claim, seed):
    """Of a claim's own runs and judge, in this process."""
    setting = Setting("ci", seed, FALSE_ALARM)
    return claim.judge([need.run() for need in claim.needs(setting)], setting).verdict


@pytest.mark.slow
@pytest.mark.parametrize("each", [*noise.controls()], ids=lambda claim: claim.id)
def test_a_sampler_with_a_fault_fails_on_every_seed(each):
    """No noise, half of it, each transition twice, the same ones in all lanes; and TD in place of GTD2."""
    assert all(verdict(each, seed) is Verdict.FAIL for seed in SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "each"),
    [("noise-slack", TD), ("noise-slack", parts.still), ("noise", parts.still)],
    ids=["TD", "w still: slack", "w still: amount"],
)
def test_a_rule_without_w_fails_on_every_seed(name, each):
    """The rule's own exact numbers are no excuse: without w there is no slack to compare with."""
    claim = SAMPLED[name](each, "random_walk")
    assert all(verdict(claim, seed) is Verdict.FAIL for seed in SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("each", [gtd2, tdc, gtd2_sb, TWIN, TDC_TWIN], ids=lambda rule: rule.name)
def test_right_rules_pass_however_they_are_written(each):
    """INCONCLUSIVE is 4 deviations of a mean away."""
    claims = [make(each, place) for place in PLACES for make in SAMPLED.values()]
    assert all(verdict(claim, 0) is Verdict.PASS for claim in claims)


@pytest.mark.parametrize("each", [TD, parts.still], ids=lambda rule: rule.name)
@pytest.mark.parametrize("place", PLACES)
def test_a_rule_without_w_has_no_slack(each, place):
    assert parts.falls_in_parts(each, place, Setting()).verdict is Verdict.FAIL


@pytest.mark.parametrize("each", [TD, parts.still], ids=lambda rule: rule.name)
def test_a_rule_without_w_has_no_noise_in_the_slack(each):
    assert parts.noise_falls(each, "random_walk_dependent", Setting()).verdict is Verdict.FAIL


@pytest.mark.slow
@pytest.mark.parametrize("each", [tdc, TWIN, TDC_TWIN], ids=lambda rule: rule.name)
def test_right_rules_have_the_exact_numbers_too(each):
    made = [claim for claim in [*expected.settled(each), *parts.claims(each)] if not claim.control]
    assert len(made) == 12
    assert all(claim.check(Setting()).verdict is Verdict.PASS for claim in made)


def test_nine_tenths_of_the_noise_are_not_lstds():
    assert expected.is_lstds(gtd2, "random_walk_dependent", Setting()).verdict is Verdict.PASS
    assert expected.is_lstds(gtd2, "random_walk_dependent", Setting(), share=0.9).verdict is Verdict.FAIL


def test_the_curvature_term_is_nothing_in_a_linear_predictor():
    """So no claim of this suite can see that h is dropped: gradients/…/cdf/mlp/…/descends does."""
    flat = replace(gtd2, name="flat", curvature=False)
    runs = [noise.engine_runs(each, "random_walk", "random_walk", 200, 32, 0) for each in (gtd2, flat)]
    assert runs[0] == runs[1]


def test_a_lost_lane_is_a_failure_of_both_amounts():
    setting = Setting("ci", 0, FALSE_ALARM)
    evidence = [{"mspbe": [1e-5] * 99 + [noise.LOST], "err": [1e-3] * 99 + [noise.LOST], "centre": [0.0] * 5}]
    for judge in (noise.is_as_large, noise.reaches_err):
        assert judge(gtd2, "random_walk", None, evidence, setting).verdict is Verdict.FAIL


def test_the_p_value_of_the_centre_is_of_the_exact_covariance():
    """One lane's mean at a point of known χ²: four deviations along a principal direction have χ² = 16 per lane."""
    exact = noise.noise_of(gtd2, "random_walk", noise.STEPS["ci"]).covariance
    squares, axes = np.linalg.eigh(exact)
    moments = noise.problem_of("random_walk", gtd2)[0]
    away = 4 * np.sqrt(squares[2]) * axes[:, 2]
    theta = moments.mdp.theta_td + np.linalg.pinv(moments.mdp.features) @ moments.features @ away
    evidence = [{"mspbe": [1.0], "err": [1.0], "centre": theta.tolist()}]
    found = noise.is_centred(gtd2, "random_walk", None, evidence, Setting("ci", 0, 1e-5))
    assert found.words.startswith("χ² = 16 ")
