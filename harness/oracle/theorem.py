"""Theorem 1 as numbers: how far a rule's exact mean update is from the theorem's. Used by suite and battery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from algorithms.fast.mlp import MlpEngine
from algorithms.rule import Rule
from algorithms.rules import gtd2
from algorithms.streams import generator
from harness.oracle.mdp import FiniteMDP, mix
from harness.oracle.objectives import Objective, flat, linear, mlp
from harness.oracle.problem import Problem

if TYPE_CHECKING:
    from algorithms.checks import Floats
    from harness.oracle.objectives import Objective
    from harness.oracle.problem import Problem

EXACT = 1e-8  # relative: rounding is at 1e-12, a wrong term at 1e-2


def linear_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """A linear predictor on 5 atoms at a random θ."""

    target = problem.target(target_kind, atoms=5)
    predictor = linear(problem.mdp.features, target.outputs)
    return Objective(problem.mdp, target, predictor), generator(seed, purpose="point").normal(size=predictor.size)


def network_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """One hidden layer of 3, 5 atoms, a pinned logit, random weights."""

    target = problem.target(target_kind, atoms=5)
    engine = MlpEngine(gtd2, (problem.mdp.features.shape[1], 3), target, pinned=True)
    theta = flat(engine.init([generator(seed, purpose="weights")]))
    return Objective(problem.mdp, target, mlp(engine, problem.mdp.features)), theta


def small_problem() -> Problem:
    """Six states, two actions, off-policy, drawn once: for checks that need any problem, even if none is installed."""

    rng = generator(0, purpose="small problem")
    P = rng.dirichlet(np.ones(6), size=(6, 2))
    target, behaviour = rng.dirichlet(np.ones(2), size=(2, 6))
    mdp = FiniteMDP.from_arrays(
        "small", P, rng.normal(size=P.shape), gamma=0.8, behaviour=mix(behaviour, 0.3), target=target,
        features=rng.normal(size=(6, 3)), theta_initial=np.zeros(3),
    )  # fmt: skip
    return Problem(mdp, "six states drawn once", "for checks", (-6.0, 6.0))


def solves_w_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """‖E[Δw]‖ at w*(θ), as a share of GTD2's at w = 0; 1 if w is never updated."""
    w = objective.optimal_w(theta)
    at_optimum = np.abs(objective.mean_update(rule, theta, w)[1]).max()
    at_zero = np.abs(objective.mean_update(rule, theta, 0 * w)[1]).max()
    pull = np.abs(objective.mean_update(gtd2, theta, 0 * w)[1]).max()
    # If w never moves, its update is 0 everywhere, and it solves nothing.
    return float(at_optimum / pull) if at_zero > 1e-6 * pull else 1.0


def descends_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """How far E[Δθ] at w*(θ) is from −½∇J, as a share of its size."""
    d_theta, _ = objective.mean_update(rule, theta, objective.optimal_w(theta))
    return relative_error(d_theta, -0.5 * objective.gradient(theta))


def relative_error(found: Floats, expected: Floats) -> float:
    """Largest difference over largest entry."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
