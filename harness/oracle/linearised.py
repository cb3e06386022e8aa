"""Why an evaluation by a network fails, at a point (θ, w): exact numbers about the mean update there.

J, ‖∇J‖   what is to fall, and whether it still can
heading   the cosine between E[Δθ] and −∇J: below 0 the mean update ascends. At w*(θ) it is 1 for GTD2 and TDC
gap       ‖w − w*(θ)‖_C as a share of ‖w*(θ)‖_C: 1 where w knows nothing
missing   the same share after n steps of β from w = 0 while θ stands still: w is too slow if it is near 1
abscissa  the largest real part of the eigenvalues of the mean update's Jacobian in (θ, w): above 0 the point repels
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import jvp, vjp, vmap

from dgtd.algorithms.checks import Floats, positive, whole
from dgtd.algorithms.rule import Rule
from dgtd.harness.oracle.objectives import Objective

MANY = 4000  # unknowns: eigenvalues of a larger matrix take minutes


@dataclass(frozen=True)
class Diagnosis:
    """See above; `abscissa` is per step, NaN where it was not asked for."""

    J: float
    gradient: float
    heading: float
    heading_at_best: float
    gap: float
    missing: float
    abscissa: float


def diagnose(
    objective: Objective,
    rule: Rule,
    theta: ArrayLike,
    w: ArrayLike,
    alpha: float,
    beta: float,
    steps: int,
    linearise: bool = True,
) -> Diagnosis:
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
    field = _field(objective, rule, alpha, beta)
    y = torch.cat([at, aux])
    columns: Tensor = vmap(lambda along: jvp(field, (y,), (along,))[1], chunk_size=64)(torch.eye(len(y), dtype=y.dtype))
    return columns.T.numpy()


def _field(objective: Objective, rule: Rule, alpha: float, beta: float) -> Callable[[Tensor], Tensor]:
    """The mean update of y = (θ, w): as `Objective.mean_update`, and differentiable."""
    table = objective.mdp.table
    state, following = torch.as_tensor(table.state), torch.as_tensor(table.next_state)
    shift = objective.target.shift(table.reward, table.discount).tensors(torch.float64)
    mass, rho = torch.as_tensor(objective.mdp.mass)[:, None], torch.as_tensor(table.rho)[:, None]
    predict = objective.predictor.all

    def field(y: Tensor) -> Tensor:
        theta, w = y.chunk(2)

        def parts(at: Tensor, along: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            F, u = jvp(predict, (at if rule.curvature else theta,), (along,))[:2]
            F = F if rule.curvature else predict(at)
            return F[state], shift.apply(F[following]), u[state]

        pulled: Any = vjp(parts, theta, w)
        (f, g, u), pull = pulled
        p, t, q = rule(g - f, u, rho)
        d_theta, d_w = pull(tuple(mass * (each + 0.0 * f) for each in (p, t, q)))
        return torch.cat([-alpha * d_theta, beta * (d_w - rule.w_decay * w)])

    return field
