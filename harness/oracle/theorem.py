"""Theorem 1 as numbers: how far a rule's exact mean update is from what it says. Shared by suite and battery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from algorithms.rule import Rule
from algorithms.rules import gtd2

if TYPE_CHECKING:
    from algorithms.checks import Floats
    from harness.oracle.objectives import Objective

EXACT = 1e-8  # relative: rounding is at 1e-12, a wrong term at 1e-2


def linear_case(problem: str, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """A linear predictor on 5 atoms at a random θ."""
    from algorithms.streams import generator
    from harness.oracle.objectives import Objective, linear
    from harness.plugins import find_problem

    world = find_problem(problem)
    target = world.target(target_kind, atoms=5)
    predictor = linear(world.mdp.features, target.outputs)
    return Objective(world.mdp, target, predictor), generator(seed, purpose="point").normal(size=predictor.size)


def network_case(problem: str, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """One hidden layer of 3, 5 atoms, a pinned logit, random weights."""
    import torch

    from algorithms.engines.mlp import MlpEngine
    from harness.oracle.objectives import Objective, flat, mlp
    from harness.plugins import find_problem

    world = find_problem(problem)
    target = world.target(target_kind, atoms=5)
    engine = MlpEngine(gtd2, (world.mdp.features.shape[1], 3), target, pinned=target_kind == "cdf")
    theta = flat(engine.init(1, torch.Generator().manual_seed(seed)))
    return Objective(world.mdp, target, mlp(engine, world.mdp.features)), theta


def solves_w_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """‖E[Δw]‖ at w*(θ), as a share of what pulls w there from 0; 1 if w is never updated."""
    w = objective.optimal_w(theta)
    at_optimum = np.abs(objective.mean_update(rule, theta, w)[1]).max()
    at_zero = np.abs(objective.mean_update(rule, theta, 0 * w)[1]).max()
    pull = np.abs(objective.mean_update(gtd2, theta, 0 * w)[1]).max()
    # A w that never moves vanishes everywhere, and solves nothing.
    return float(at_optimum / pull) if at_zero > 1e-6 * pull else 1.0


def descends_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """How far E[Δθ] at w*(θ) is from −½∇J, as a share of its size."""
    d_theta, _ = objective.mean_update(rule, theta, objective.optimal_w(theta))
    return relative_error(d_theta, -0.5 * objective.gradient(theta))


def relative_error(found: Floats, expected: Floats) -> float:
    """Largest difference over largest entry."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())
