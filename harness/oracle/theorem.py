"""A rule's exact mean update at a point (θ, w), as numbers: how far it is from Theorem 1's, and where it leads.

`diagnose` says why an evaluation by a network fails:

J, ‖∇J‖   what is to fall, and whether it still can
heading   the cosine between E[Δθ] and −∇J: below 0 the mean update ascends. At w*(θ) it is 1 for GTD2 and TDC
gap       ‖w − w*(θ)‖_C as a share of ‖w*(θ)‖_C: 1 where w knows nothing
missing   the same share after n steps of β from w = 0 while θ stands still: w is too slow if it is near 1
abscissa  the largest real part of the eigenvalues of the mean update's Jacobian in (θ, w): above 0 the point repels
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import jvp, vmap

from dgtd.algorithms.checks import Floats, positive, whole
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generator
from dgtd.harness.oracle.mdp import FiniteMDP, mix
from dgtd.harness.oracle.objectives import Objective, flat, linear, mlp
from dgtd.harness.oracle.problem import Problem

EXACT = 1e-8  # relative: rounding is at 1e-12, a wrong term at 1e-2


def linear_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """A linear predictor on 5 atoms at a random θ."""
    target = problem.target(target_kind, atoms=5)
    predictor = linear(problem.mdp.features, target.outputs)
    return Objective(problem.mdp, target, predictor), generator(seed, purpose="point").normal(size=predictor.size)


def network_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """One hidden layer of 3, 5 atoms, a pinned logit, random weights."""
    target = problem.target(target_kind, atoms=5, linear=False)
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
    return float(np.abs(found - expected).max() / np.abs(expected).max())


# ---------------------------------------------------------------------- why an evaluation fails

MANY = 4000  # unknowns: eigenvalues of a larger matrix take minutes


@dataclass(frozen=True)
class Diagnosis:
    """See the top; `abscissa` is per step, NaN where it was not asked for."""

    J: float
    gradient: float
    heading: float
    heading_at_best: float
    gap: float
    missing: float
    abscissa: float


def diagnose(
    objective: Objective, rule: Rule, theta: ArrayLike, w: ArrayLike, alpha: float, beta: float, steps: int,
    linearise: bool = True,
) -> Diagnosis:  # fmt: skip
    """At (θ, w), for steps α and β; `steps`: how long an evaluation lasts, for `missing`."""
    positive("alpha", alpha)
    positive("beta", beta)
    whole("steps", steps, 0)
    at, aux = (np.asarray(part, dtype=float).ravel() for part in (theta, w))
    best, slope = objective.optimal_w(at), objective.gradient(at)
    size = objective.distance_to_optimal_w(at, np.zeros_like(best))
    jacobian = mean_jacobian(objective, rule, at, aux, alpha, beta) if linearise else np.full((1, 1), np.nan)
    return Diagnosis(
        J=objective.value(at),
        gradient=float(np.linalg.norm(slope)),
        heading=_cosine(objective.mean_update(rule, at, aux)[0], -slope),
        heading_at_best=_cosine(objective.mean_update(rule, at, best)[0], -slope),
        gap=objective.distance_to_optimal_w(at, aux) / size if size > 0 else 0.0,
        missing=_missing(objective, at, best, beta, steps),
        abscissa=float(np.linalg.eigvals(jacobian).real.max()) if linearise else float("nan"),
    )


def _cosine(found: Floats, wanted: Floats) -> float:
    size = float(np.linalg.norm(found) * np.linalg.norm(wanted))
    return float(found @ wanted) / size if size > 0 else 0.0


def _missing(objective: Objective, theta: Floats, best: Floats, beta: float, steps: int) -> float:
    """‖(I − βC)ⁿw*‖_C / ‖w*‖_C: what w has not learnt after n mean steps from 0, θ standing still."""
    root = torch.as_tensor(objective.mdp.d).sqrt()[:, None, None]
    phi = (root * objective.predictor.jacobian(torch.as_tensor(theta))).flatten(0, 1).numpy()
    squares, vectors = np.linalg.eigh(phi.T @ phi)
    parts = (vectors.T @ best) ** 2 * np.maximum(squares, 0.0)
    total = float(parts.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        left = float((np.abs(1.0 - beta * squares) ** (2 * steps) * parts).sum())
    return float(np.sqrt(left / total)) if total > 0 else 0.0


def mean_jacobian(
    objective: Objective, rule: Rule, theta: ArrayLike, w: ArrayLike, alpha: float, beta: float
) -> Floats:
    """[2d, 2d]: the Jacobian of (αE[−G_θ], βE[G_w − κw]) in (θ, w), curvature and all, by forward differentiation."""
    at, aux = (torch.as_tensor(np.asarray(part, dtype=float).ravel().copy()) for part in (theta, w))
    if 2 * len(at) > MANY:
        raise ValueError(f"a network must have at most {MANY // 2} weights for its Jacobian, got {len(at)}")
    update, sizes, y = objective.field(rule), (alpha, beta), torch.cat([at, aux])

    def field(point: Tensor) -> Tensor:
        return torch.cat([size * part for size, part in zip(sizes, update(*point.chunk(2)), strict=True)])

    columns: Tensor = vmap(lambda along: jvp(field, (y,), (along,))[1], chunk_size=64)(torch.eye(len(y), dtype=y.dtype))
    return columns.T.numpy()
