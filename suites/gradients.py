"""Theorem 1: w's mean update vanishes at w*(θ), and θ's is −½∇J(θ) there. By enumeration, not by sampling."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dgtd.algorithms.rule import Cotangents, Promise, Rule
from dgtd.algorithms.rules import greedy_gq, gtd2, gtd2_sb, residual_gradient, td, tdc, tdc_sb, tdrc
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle import literal
from dgtd.harness.oracle.theorem import EXACT, linear_case, network_case, solves_w_error
from dgtd.harness.plugins import find_problem
from dgtd.suites.means import (
    compare,
    engine_mean,
    engine_step,
    needs_sampled_updates,
    r_operator,
    sampled_mean,
    target_law,
    value_law,
)  # fmt: skip

if TYPE_CHECKING:
    from torch import Tensor

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
        made.append(average_of_samples(each))
        made += [engine_claim(each, engine, what) for engine in ("linear", "mlp") for what in ("mean", "step")]
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
        made += [published(each, net) for each in TABLE for net in ("linear", "mlp")]
        made += [engine_claim(tdrc(0.5), engine, "mean") for engine in ("linear", "mlp")]
        says = "the value target is r + γv(s'), and r at an episode's end"
        made.append(Claim("gradients/target/value", says, "§2", value_law))
    for projection in ("cramer", "nearest", "floor"):
        says = f"the CDF target with `{projection}` is the law of r + γZ, at the boundary and at an episode's end"
        made.append(Claim(f"gradients/target/{projection}", says, "§3.2, remark 3", partial(target_law, projection)))
    says = "the fused pass's curvature term is Σ q ∇²F w, with the Hessians written out"
    made.append(Claim("gradients/r-operator", says, "appendix, update rule of ∇²F w", r_operator))
    return [*made, *controls()]


KINDS = ("value", "cdf")

# ---------------------------------------------------------------------- the theorem


def theorem(rule: Rule, problem: str, target: str, far: bool = False) -> list[Claim]:
    """Both of its statements, with a linear predictor and with a network; far from the origin linear only."""
    made = []
    for net in ("linear",) if far else ("linear", "mlp"):
        place = f"{problem}/{target}/{net}" + ("/far" if far else "")
        where = f"on {problem} ({'a value' if target == 'value' else 'a CDF'}, {net}{', far out' if far else ''})"
        for name, promise, check, says in (
            ("solves-w", Promise.SOLVES_W, solves_w, "w's mean update vanishes at w*(θ)"),
            ("descends", Promise.DESCENDS, descends, "at w*(θ), θ's mean update is −½∇J"),
        ):
            id_, seen = f"gradients/{place}/{rule.name}/{name}", partial(check, rule, problem, target, net, far)
            made.append(Claim(id_, f"{rule.name}: {says} {where}", SOURCE, seen, rule=rule, promise=promise))
    return made


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
    return compare(d_theta, -0.5 * objective.gradient(theta))


# ---------------------------------------------------------------------- each rule is what was published


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


def published(rule: Rule, net: str) -> Claim:
    """Transition by transition: two rules can have one mean."""
    says = f"{rule.name} moves θ and w as published, at every transition of {PLACE[net]} ({net}, a CDF)"
    return Claim(f"gradients/published/{net}/{rule.name}", says, PUBLISHED[rule.name], partial(is_published, rule, net))


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
        expected.append(torch.cat(as_published(rule.name, *literal.parts(predict, at, w, s), s.rho, w)))
    return compare(
        torch.cat(found).numpy(), torch.cat(expected).numpy(), "the rule's update", f"that of {len(found)} transitions"
    )


def as_published(
    name: str, delta: Tensor, u: Tensor, phi: Tensor, psi: Tensor, bent: Tensor, rho: float, w: Tensor
) -> tuple[Tensor, Tensor]:
    """Sums over atoms j of φ_j and ψ_j = γφ'_j, with `bent` = ∇²f_j w [n, d]; Greedy-GQ with η = ½, TDRC with κ = ½."""
    gtd2_step = rho * (phi - psi).T @ u
    tdc_step = rho * (phi.T @ delta - psi.T @ u)
    h = bent.T @ (rho * delta - u)
    h_sb = bent.T @ (rho * (delta - u))
    fast = phi.T @ (rho * delta - u)
    fast_sb = rho * phi.T @ (delta - u)
    return {
        "gtd2": (gtd2_step - h, fast),
        "tdc": (tdc_step - h, fast),
        "gtd2_sb": (gtd2_step - h_sb, fast_sb),
        "tdc_sb": (tdc_step - h_sb, fast_sb),
        "td": (rho * phi.T @ delta, 0 * w),
        "residual_gradient": (rho * (phi - psi).T @ delta, 0 * w),
        "greedy_gq(eta=0.5)": (rho * (phi.T @ delta - 0.5 * psi.T @ u), fast),
        "tdrc(kappa=0.5)": (tdc_step - h, fast - 0.5 * w),
    }[name]


# ---------------------------------------------------------------------- engines and targets


def average_of_samples(rule: Rule) -> Claim:
    id_ = f"gradients/collision/value/linear/{rule.name}/sampled-mean"
    says = f"{rule.name}: the mean of sampled updates is the exact mean update on collision"
    needs = partial(needs_sampled_updates, rule, "collision")
    return Claim(id_, says, "appendix, conditions on M and N", needs=needs, judge=sampled_mean, rule=rule)


def engine_claim(rule: Rule, engine: str, what: str) -> Claim:
    """Its mean over every transition, or a whole step."""
    does = "averages to the exact mean update" if what == "mean" else "moves θ by −αG_θ and w by β(G_w − κw)"
    id_ = f"gradients/collision/cdf/{engine}-engine/{rule.name}/{what}"
    check = partial(engine_mean if what == "mean" else engine_step, rule, engine)
    return Claim(id_, f"{rule.name}: the {engine} engine {does} on collision", "Algorithms 1 and 2", check, rule=rule)


# ---------------------------------------------------------------------- controls


def controls() -> list[Claim]:
    """The same check on wrong algorithms."""

    def forgets_rho(delta, u, rho):  # type: ignore[no-untyped-def]
        return Cotangents(-u, u, delta - u)

    def clips_rho(delta, u, rho):  # type: ignore[no-untyped-def]
        r = min(rho, 5.0)
        return Cotangents(-r * u, r * u, r * delta - u)

    wrong: dict[str, tuple[Any, str]] = {
        "h-dropped": (partial(descends, replace(gtd2, name="gtd2 without h", curvature=False)), "random_walk"),
        "h-sign-flipped": (partial(_descends_mutant, "sign of h"), "random_walk"),
        "rho-forgotten": (partial(descends, Rule("gtd2 without rho", forgets_rho)), "random_walk"),
        "w-at-rest": (partial(solves_w, td), "random_walk"),
        "rho-clipped": (partial(descends, Rule("gtd2 with rho clipped at 5", clips_rho)), "baird"),
        "gamma-forgotten": (partial(_descends_mutant, "gamma"), "collision"),
        "s-for-next-s": (partial(_descends_mutant, "s for s'"), "random_walk"),
    }
    made = []
    for name, (check, problem) in wrong.items():
        says = f"GTD2 with {name.replace('-', ' ')} is not the gradient"
        seen = partial(check, problem, "cdf", "mlp", False)
        made.append(Claim(f"gradients/control/{name}", says, SOURCE, seen, control=True))
    return made


def _descends_mutant(mutant: str, problem: str, target: str, net: str, far: bool, setting: Setting) -> Finding:
    """GTD2's mean update on a world, or in a pass, with one thing wrong, against the right gradient."""
    objective, theta = case(problem, target, net, far, setting.seed)
    w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    if mutant == "sign of h":
        right, _ = objective.mean_update(gtd2, theta, w)
        without, _ = objective.mean_update(replace(gtd2, curvature=False), theta, w)
        return compare(2 * without - right, expected)
    listed = objective.mdp.transitions
    if mutant == "gamma":
        wrong = objective.mdp.with_(gamma=0.999)
    else:
        wrong = objective.mdp.with_(
            transitions=replace(listed, next_state=listed.state), weights=objective.mdp.d, gamma=0.9
        )
        objective = replace(objective, mdp=objective.mdp.with_(weights=objective.mdp.d, gamma=0.9))
        w, expected = objective.optimal_w(theta), -0.5 * objective.gradient(theta)
    return compare(replace(objective, mdp=wrong).mean_update(gtd2, theta, w)[0], expected)
