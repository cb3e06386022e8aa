"""Theorem 1: w's mean update vanishes at w*(θ), and θ's is −½∇J(θ) there. By enumeration, not by sampling."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dgtd.algorithms.rule import Cotangents, Promise, Rule
from dgtd.algorithms.rules import greedy_gq, gtd2, gtd2_sb, residual_gradient, td, tdc, tdc_sb, tdrc
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle import literal
from dgtd.harness.oracle.theorem import EXACT, linear_case, network_case, solves_w_error
from dgtd.harness.plugins import find_problem
from dgtd.suites import means

PROBLEMS = ("random_walk", "collision")
LARGE = ("baird", "random_mdp")  # ratios up to 7 and beyond 2: a clipped ρ shows here and nowhere else
FAR = 100.0  # θ times this, for rules that are not linear: what saturates is seen far from the origin
SOURCE = "Theorem 1"
TABLE = (gtd2, tdc, gtd2_sb, tdc_sb, residual_gradient, td, greedy_gq(0.5), tdrc(0.5))


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the user's rule, or about every rule of the table, on what it promises; the controls are always there."""
    made: list[Claim] = []
    for each in (rule,) if rule else (gtd2, tdc):
        made += [claim for problem in PROBLEMS for target in KINDS for claim in theorem(each, problem, target)]
        id_, source = f"gradients/collision/value/linear/{each.name}/sampled-mean", "appendix, conditions on M and N"
        says = f"{each.name}: the mean of sampled updates is the exact mean update on collision"
        needs = partial(means.needs_sampled_updates, each, "collision")
        made.append(Claim(id_, says, source, needs=needs, judge=means.sampled_mean, rule=each))
        made += [engine_claim(each, engine, what) for engine in ("linear", "mlp") for what in ENGINES]
    for each in (rule,) if rule else TABLE:
        made += [
            claim
            for problem in (LARGE if rule or each in (gtd2, tdc) else ("collision", "baird"))
            for target in KINDS
            for claim in theorem(each, problem, target)
            if rule or claim.promised
        ]
        if not each.linear:
            made += [claim for problem in PROBLEMS for claim in theorem(each, problem, "value", far=True)]
    if rule is None:
        for each, (net, place) in product(TABLE, PLACE.items()):  # by transition: two rules can have one mean
            says = f"{each.name} moves θ and w as published, at every transition of {place} ({net}, a CDF)"
            id_, source = f"gradients/published/{net}/{each.name}", PUBLISHED[each.name]
            made.append(Claim(id_, says, source, partial(is_published, each, net)))
        made += [engine_claim(tdrc(0.5), engine, "mean") for engine in ("linear", "mlp")]
        says = "the value target is r + γv(s'), and r at an episode's end"
        made.append(Claim("gradients/target/value", says, "§2", means.value_law))
    for projection in ("cramer", "nearest", "nearest-mass", "floor"):
        id_, check = f"gradients/target/{projection}", partial(means.target_law, projection)
        says = f"the CDF target with `{projection}` is the law of r + γZ, at the boundary and at an episode's end"
        made.append(Claim(id_, says, "§3.2, remark 3", check))
    says = "the fused pass's curvature term is Σ q ∇²F w, with the Hessians written out"
    made.append(Claim("gradients/r-operator", says, "appendix, update rule of ∇²F w", means.r_operator))
    return [*made, *controls()]


KINDS = ("value", "cdf")


def theorem(rule: Rule, problem: str, target: str, far: bool = False) -> Iterator[Claim]:
    """Both of its statements, with a linear predictor and with a network; far from the origin linear only."""
    for net in ("linear",) if far else ("linear", "mlp"):
        place = f"{problem}/{target}/{net}" + ("/far" if far else "")
        where = f"on {problem} ({'a value' if target == 'value' else 'a CDF'}, {net}{', far out' if far else ''})"
        for name, promise, check, says in (
            ("solves-w", Promise.SOLVES_W, solves_w, "w's mean update vanishes at w*(θ)"),
            ("descends", Promise.DESCENDS, descends, "at w*(θ), θ's mean update is −½∇J"),
        ):
            id_, seen = f"gradients/{place}/{rule.name}/{name}", partial(check, rule, problem, target, net, far)
            yield Claim(id_, f"{rule.name}: {says} {where}", SOURCE, seen, rule=rule, promise=promise)


def case(problem: str, target: str, net: str, far: bool, seed: int) -> tuple[Any, np.ndarray]:
    """The exact objective, and a point θ."""
    objective, theta = (linear_case if net == "linear" else network_case)(find_problem(problem), target, seed)
    return objective, theta * FAR if far else theta


def solves_w(rule: Rule, problem: str, target: str, net: str, far: bool, setting: Setting) -> Finding:
    """As a share of its size at w = 0."""
    error = solves_w_error(rule, *case(problem, target, net, far, setting.seed))
    wrong = "w is never updated" if error == 1.0 else "look at the cotangent of u: ρδ − u solves for w*"
    return exactly(error, EXACT, f"‖E[Δw]‖ at w* is {error:.1e} of its size at 0", wrong)


def descends(rule: Rule, problem: str, target: str, net: str, far: bool, setting: Setting) -> Finding:
    """Against the gradient of the exact objective."""
    objective, theta = case(problem, target, net, far, setting.seed)
    d_theta, _ = objective.mean_update(rule, theta, objective.optimal_w(theta))
    return means.compare(d_theta, -0.5 * objective.gradient(theta))


PLACE = {"linear": "baird", "mlp": "two_state"}
PUBLISHED = {
    "gtd2": "paper, Algorithm 1",
    "tdc": "paper, Algorithm 2",
    "gtd2_sb": "Sutton & Barto 2018, §11.7",
    "tdc_sb": "Sutton & Barto 2018, §11.7",
    "td": "Sutton & Barto 2018, §11.1",
    "residual_gradient": "Baird 1995",
    "greedy_gq(eta=0.5)": "paper, Algorithm 3",
    "tdrc(kappa=0.5)": "Ghiassian et al. 2020",
}


def is_published(rule: Rule, net: str, setting: Setting) -> Finding:
    """Δθ/α and Δw/β of the update as its authors write it, against the rule's cotangents pulled back."""
    import torch

    objective, theta = case(PLACE[net], "cdf", net, False, setting.seed)
    predict, at = objective.predictor.at, torch.as_tensor(theta)
    w = torch.as_tensor(np.random.default_rng(setting.seed).normal(size=len(theta)))
    found, expected = [], []
    for s in literal.samples_of(objective.mdp.table, objective.predictor.inputs.numpy(), objective.target):
        g_theta, g_w = literal.directions(rule, predict, at, w, s)
        found.append(torch.cat([-g_theta, g_w]))
        name = rule.name.partition("(")[0]
        expected.append(torch.cat(literal.published(name, *literal.parts(predict, at, w, s), s.rho, w)))
    return means.compare(
        torch.cat(found).numpy(), torch.cat(expected).numpy(), "the rule's update", f"that of {len(found)} transitions"
    )


ENGINES = {  # its mean over every transition, or a whole step
    "mean": ("averages to the exact mean update", means.engine_mean),
    "step": ("moves θ by −αG_θ and w by β(G_w − κw)", means.engine_step),
}


def engine_claim(rule: Rule, engine: str, what: str) -> Claim:
    does, check = ENGINES[what]
    id_, seen = f"gradients/collision/cdf/{engine}-engine/{rule.name}/{what}", partial(check, rule, engine)
    says = f"{rule.name}: the {engine} engine {does} on collision"
    return Claim(id_, says, "Algorithms 1 and 2", seen, rule=rule)


def controls() -> Iterator[Claim]:
    """The same check on wrong algorithms."""

    def forgets_rho(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-u, u, delta - u)

    def clips_rho(delta, u, rho):  # type: ignore[no-untyped-def]
        r = min(rho, 5.0)
        return Cotangents(-r * u, r * u, r * delta - u)

    without_h, mutant = replace(gtd2, name="gtd2 without h", curvature=False), _descends_mutant
    for name, check, problem in (
        ("h-dropped", partial(descends, without_h), "random_walk"),
        ("h-sign-flipped", partial(mutant, "sign of h"), "random_walk"),
        ("rho-forgotten", partial(descends, Rule("gtd2 without rho", forgets_rho)), "random_walk"),
        ("w-at-rest", partial(solves_w, td), "random_walk"),
        ("rho-clipped", partial(descends, Rule("gtd2 with rho clipped at 5", clips_rho)), "baird"),
        ("gamma-forgotten", partial(mutant, "gamma"), "collision"),
        ("s-for-next-s", partial(mutant, "s for s'"), "random_walk"),
    ):
        says = f"GTD2 with {name.replace('-', ' ')} is not the gradient"
        seen = partial(check, problem, "cdf", "mlp", False)
        yield Claim(f"gradients/control/{name}", says, SOURCE, seen, control=True)


def _descends_mutant(mutant: str, problem: str, target: str, net: str, far: bool, setting: Setting) -> Finding:
    """GTD2's mean update on a world, or in a pass, with one thing wrong, against the right gradient."""
    objective, theta = case(problem, target, net, far, setting.seed)
    w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    if mutant == "sign of h":
        right, _ = objective.mean_update(gtd2, theta, w)
        without, _ = objective.mean_update(replace(gtd2, curvature=False), theta, w)
        return means.compare(2 * without - right, expected)
    listed = objective.mdp.transitions
    if mutant == "gamma":
        wrong = objective.mdp.with_(gamma=0.999)
    else:
        wrong = objective.mdp.with_(
            transitions=replace(listed, next_state=listed.state), weights=objective.mdp.d, gamma=0.9
        )
        objective = replace(objective, mdp=objective.mdp.with_(weights=objective.mdp.d, gamma=0.9))
        w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    return means.compare(replace(objective, mdp=wrong).mean_update(gtd2, theta, w)[0], expected)
