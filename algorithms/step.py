"""The update itself, for any differentiable predictor: a rule's three cotangents, one backward pass, G_θ and G_w.

    f(θ) = f(x)      u = J(x)w      g = T f(x') + t      δ = g − f
    p, t, q = rule(δ, u, ρ)
    (G_θ, G_w) = ∇ of Σ_j p_j f_j + t_j g_j + q_j u_j  by (θ, w), with p, t and q held constant

So J(x)ᵀp, J(x')ᵀTᵀt, the curvature Σ_j q_j ∇²f_j(x)w and J(x)ᵀq come of one pass, at a few times the cost of backprop.
All that is in fast/ takes these steps in less time; tests/algorithms/test_step.py holds it to them.
"""

import warnings
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.func import grad, jvp

from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import Shift

# At its first directional derivative torch compiles parts of itself by torch.jit, and warns of that.
warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning, r"torch\.")
Parameters = dict[str, Tensor]
Parts = tuple[Tensor, ...]  # δ, u and the three cotangents of a step, or a number that is not finite if they are not


def detached(theta: Parameters) -> Parameters:
    """The same numbers, through which nothing is differentiated."""
    return {name: value.detach() for name, value in theta.items()}


def prediction_and_tangent(
    rule: Rule, predict: Callable[[Parameters], Tensor], theta: Parameters, w: Parameters
) -> tuple[Tensor, Tensor]:
    """f(θ), and its tangent u in direction w. A rule without curvature takes u for a constant in θ."""
    if rule.curvature:
        f, u = jvp(predict, (theta,), (w,))[:2]
        return f, u
    _, u = jvp(predict, (detached(theta),), (w,))[:2]
    return predict(theta), u


def temporal_difference(shift: Shift, f: Tensor, f_next: Tensor) -> Tensor:
    """δ = T f' + t − f."""
    return shift.apply(f_next) - f


def parts_of(rule: Rule, shift: Shift, f: Tensor, f_next: Tensor, u: Tensor, rho: Tensor) -> Parts:
    """δ, u, p, t, q: constants."""
    delta, u = temporal_difference(shift, f, f_next).detach(), u.detach()
    p, t, q = rule(delta, u, rho)
    return delta, u, p, t, q


def weighed(parts: Parts, shift: Shift, f: Tensor, f_next: Tensor, u: Tensor) -> Tensor:
    """Σ p·f + t·g + q·u, the mean over the batch: its gradient is (G_θ, G_w)."""
    _, _, p, t, q = parts
    total = (p * f).sum() + (t * shift.apply(f_next)).sum() + (q * u).sum()
    return total / f.shape[0]


def directions(
    rule: Rule, predict: Callable[[Parameters, Any], Tensor], theta: Parameters, w: Parameters, x: Any, x_next: Any,
    shift: Shift, rho: Tensor,
) -> tuple[Parameters, Parameters]:  # fmt: skip
    """(G_θ, G_w − κw) of one network, averaged over a batch:  predict(θ, x)  [batch, n]   rho  [batch, 1]."""

    def objective(theta: Parameters, w: Parameters) -> Tensor:
        f, u = prediction_and_tangent(rule, lambda at: predict(at, x), theta, w)
        f_next = predict(theta, x_next)
        return weighed(parts_of(rule, shift, f, f_next, u, rho), shift, f, f_next, u)

    g_theta, g_w = grad(objective, argnums=(0, 1))(theta, w)
    return g_theta, {name: g_w[name] - rule.w_decay * w[name] for name in w}
