"""Independent oracles: the paper's sums written out with explicit Jacobians and Hessians. Slow, and obviously right."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import grad, hessian, jacrev, jvp

from algorithms.rule import Rule

Predictor = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Sample:
    """One transition for a predictor f(theta, x) with theta a vector: g = T f(x') + t."""

    predict: Predictor
    theta: Tensor
    w: Tensor
    x: Tensor
    x_next: Tensor
    T: Tensor
    t: Tensor
    rho: float

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """f, g, u."""
        f, u = jvp(lambda theta: self.predict(theta, self.x), (self.theta,), (self.w,))
        return f, self.T @ self.predict(self.theta, self.x_next) + self.t, u


def autodiff_of_cotangents(rule: Rule, s: Sample) -> tuple[Tensor, Tensor]:
    """∇ of Σ p̄f + t̄g + q̄u, the cotangents held constant."""
    f0, g0, u0 = s.parts()
    p, t, q = rule(g0 - f0, u0, s.rho)

    def scalar(theta: Tensor, w: Tensor) -> Tensor:
        at = theta if rule.curvature else s.theta
        _, u = jvp(lambda th: s.predict(th, s.x), (at,), (w,))
        g = s.T @ s.predict(theta, s.x_next) + s.t
        return p @ s.predict(theta, s.x) + t @ g + q @ u

    d_theta, d_w = grad(scalar, argnums=(0, 1))(s.theta, s.w)
    return d_theta, d_w - rule.w_decay * s.w


def autodiff_of_saddle(s: Sample) -> tuple[Tensor, Tensor]:
    """∇ of S = Σ ρδu − ½u² itself: GTD2 without any rule."""

    def saddle(theta: Tensor, w: Tensor) -> Tensor:
        f, u = jvp(lambda th: s.predict(th, s.x), (theta,), (w,))
        delta = s.T @ s.predict(theta, s.x_next) + s.t - f
        return s.rho * delta @ u - 0.5 * u @ u

    return grad(saddle, argnums=(0, 1))(s.theta, s.w)


def literal_algorithm(number: int, s: Sample, eta: float = 1.0) -> tuple[Tensor, Tensor]:
    """Algorithm 1, 2 or 3 of the paper, atom by atom, as (−Δθ/α, Δw/β); ρ weights δ and φ' (off-policy)."""
    f, g, _ = s.parts()
    phi = jacrev(s.predict)(s.theta, s.x)  # [n, d]
    phi_next = s.T @ jacrev(s.predict)(s.theta, s.x_next)
    hessians = hessian(s.predict)(s.theta, s.x)  # [n, d, d]
    d_theta, d_w = torch.zeros_like(s.theta), torch.zeros_like(s.w)
    for j in range(len(f)):
        delta, tangent = g[j] - f[j], phi[j] @ s.w
        d_w += (s.rho * delta - tangent) * phi[j]
        h = (s.rho * delta - tangent) * hessians[j] @ s.w
        if number == 1:
            d_theta -= s.rho * (phi[j] - phi_next[j]) * tangent - h
        elif number == 2:
            d_theta -= s.rho * (delta * phi[j] - phi_next[j] * tangent) - h
        else:
            d_theta -= s.rho * (delta * phi[j] - eta * phi_next[j] * tangent)
    return d_theta, d_w


def appendix_r_operator(v1: Tensor, v2: Tensor, w1: Tensor, w2: Tensor, x: Tensor) -> tuple[Tensor, list, list]:
    """The appendix, one hidden tanh layer, index by index: p, ∂p_m/∂(v1, v2) and ∇²p_m w for every m.

    v1 [hidden, inputs], v2 [outputs, hidden], and w1, w2 of the same shapes.
    """
    a = v1 @ x
    z, h1 = torch.tanh(a), 1 - torch.tanh(a) ** 2
    h2 = -2 * z * h1
    p = torch.softmax(v2 @ z, 0)
    r_a = w1 @ x
    r_z = h1 * r_a
    r_y = v2 @ r_z + w2 @ z
    r_p = p * r_y - p * (p * r_y).sum()
    first, second = [], []
    for m in range(len(p)):
        one = torch.zeros_like(p)
        one[m] = 1.0
        delta_k = p[m] * (one - p)
        r_delta_k = torch.where(one == 1, r_p - 2 * p * r_p, -r_p[m] * p - p[m] * r_p)
        back = v2.T @ delta_k
        r_delta_j = h2 * r_a * back + h1 * (w2.T @ delta_k) + h1 * (v2.T @ r_delta_k)
        first.append((torch.outer(h1 * back, x), torch.outer(delta_k, z)))
        second.append((torch.outer(r_delta_j, x), torch.outer(r_delta_k, z) + torch.outer(delta_k, r_z)))
    return p, first, second
