"""The algorithms written out: explicit Jacobians and Hessians, atom by atom and step by step.

Slow, and obviously what the paper says. Claims and tests hold engines and stored runs to it. It shares the rule and the
target's T and t with them, and nothing else: no fused pass, no shift on tensors, no compiled loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import hessian, jacrev

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.table import Batch, TransitionTable
from dgtd.algorithms.targets import Affine, CdfTarget, Target

Predict = Callable[[Tensor, Tensor], Tensor]  # (θ as one vector, x [k]) → f [n]

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": lambda a: (a.exp() - (-a).exp()) / (a.exp() + (-a).exp()),
    "relu": lambda a: torch.where(a > 0, a, 0.0),
    "silu": lambda a: a / (1 + (-a).exp()),
    "softplus": lambda a: (1 + a.exp()).log(),
}


def linear(outputs: int, theta: Tensor, x: Tensor) -> Tensor:
    """f = Θφ, as a formula."""
    return theta.reshape(outputs, -1) @ x


@dataclass(frozen=True)
class Network:
    """A network as a formula; `sizes` = (inputs, hidden …), each layer (in + 1) × out weights with the bias last."""

    sizes: tuple[int, ...]
    target: Target
    activation: str = "tanh"
    pinned: bool = False
    actions: int = 1

    def _last(self, theta: Tensor, x: Tensor) -> Tensor:
        """[actions, logits]: the last layer, a pinned logit included."""
        width = self.target.outputs + (isinstance(self.target, CdfTarget) and not self.pinned)
        sizes, h, used = (*self.sizes, self.actions * width), x, 0
        for layer, (rows, columns) in enumerate(pairwise(sizes)):
            weights = theta[used : used + (rows + 1) * columns].reshape(rows + 1, columns)
            a = torch.cat([h, torch.ones(1, dtype=h.dtype)]) @ weights
            h = FUNCTIONS[self.activation](a) if layer < len(sizes) - 2 else a
            used += (rows + 1) * columns
        y = h.reshape(self.actions, width)
        if self.pinned and isinstance(self.target, CdfTarget):
            y = torch.cat([y, torch.zeros(self.actions, 1, dtype=y.dtype)], 1)
        return y

    def at(self, action: int = 0) -> Predict:
        """f of one action: the value, or F at every atom but the last."""

        def predict(theta: Tensor, x: Tensor) -> Tensor:
            y = self._last(theta, x)[action]
            if not isinstance(self.target, CdfTarget):
                return y
            mass = y.exp() / y.exp().sum()
            return torch.stack([mass[: j + 1].sum() for j in range(len(mass) - 1)])

        return predict

    def greedy(self, theta: Tensor, x: Tensor) -> int:
        """The action of the largest value."""
        means = [float(self.target.mean(self.at(a)(theta, x))) for a in range(self.actions)]
        return int(np.argmax(means))


@dataclass(frozen=True)
class Sample:
    """One transition: inputs, T and t, and the ratio."""

    x: Tensor
    x_next: Tensor
    T: Tensor
    t: Tensor
    rho: float


def samples_of(table: TransitionTable, inputs: Floats, target: Affine) -> list[Sample]:
    shift = target.shift(table.reward, table.discount)
    X, T, t = (torch.as_tensor(np.asarray(part, dtype=float)) for part in (inputs, shift.matrix(), shift.constant))
    rows = zip(X[table.state], X[table.next_state], T, t, table.rho.tolist(), strict=True)
    return [Sample(*row) for row in rows]


def samples_in(batch: Batch, lane: int = 0) -> list[Sample]:
    """Every transition of one lane's batch."""
    parts = batch.x, batch.x_next, batch.shift.matrix(), batch.shift.constant
    rows = zip(*(torch.as_tensor(part[lane]) for part in parts), batch.rho[lane].tolist(), strict=True)
    return [Sample(*row) for row in rows]


def parts(
    predict: Predict, theta: Tensor, w: Tensor, s: Sample, next_predict: Predict | None = None, curved: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """δ [n], u [n], φ [n, d], TΦ' [n, d] and ∇²f_j w [n, d] (zeros if not `curved`) of one transition."""
    following = next_predict or predict
    phi = jacrev(predict)(theta, s.x)
    delta = s.T @ following(theta, s.x_next) + s.t - predict(theta, s.x)
    bent = hessian(predict)(theta, s.x) @ w if curved else torch.zeros_like(phi)
    return delta, phi @ w, phi, s.T @ jacrev(following)(theta, s.x_next), bent


def directions(
    rule: Rule, predict: Predict, theta: Tensor, w: Tensor, s: Sample, next_predict: Predict | None = None
) -> tuple[Tensor, Tensor]:
    """(G_θ, G_w − κw) of one transition.

    G_θ = Σ_j p_j φ_j + t_j (TΦ')_j + q_j ∇²f_j w        G_w = Σ_j q_j φ_j
    """
    delta, u, phi, psi, bent = parts(predict, theta, w, s, next_predict, rule.curvature)
    g_theta, g_w = torch.zeros_like(theta), -rule.w_decay * w
    for j in range(len(delta)):
        p, t, q = rule(float(delta[j]), float(u[j]), s.rho)
        g_theta = g_theta + p * phi[j] + t * psi[j]
        if rule.curvature:
            g_theta = g_theta + q * bent[j]
        g_w = g_w + q * phi[j]
    return g_theta, g_w


def published(
    name: str,
    delta: Tensor,
    u: Tensor,
    phi: Tensor,
    psi: Tensor,
    bent: Tensor,
    rho: float,
    w: Tensor,
    half: float = 0.5,
) -> tuple[Tensor, Tensor]:
    """(Δθ/α, Δw/β) of a rule as its authors write it, without any rule of ours; ρ weighs δ and φ' (off-policy).

    Sums over atoms j of φ_j and ψ_j = γφ'_j, with `bent` = ∇²f_j w [n, d]; `half` is Greedy-GQ's η and TDRC's κ.
    """
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
        "greedy_gq": (rho * (phi.T @ delta - half * psi.T @ u), fast),
        "tdrc": (tdc_step - h, fast - half * w),
    }[name]


@dataclass(frozen=True)
class Steps:
    """α_t = α(1 + t/offset)^−a and likewise β_t; Γ; averages; Mirror-Prox. Exponents 0 are constant steps."""

    alpha: float
    beta: float
    exponents: tuple[float, float] = (0.0, 0.0)
    offset: float = 1.0
    radius: float = np.inf
    average: bool = False
    extragradient: bool = False

    def sizes(self, t: int) -> tuple[float, float]:
        """(α_t, β_t)."""
        a, b = self.exponents
        return self.alpha * (1 + t / self.offset) ** -a, self.beta * (1 + t / self.offset) ** -b


Field = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]  # (θ, w, outcome) → (G_θ, G_w)


def walk(field: Field, theta: Any, outcomes: Sequence[int], steps: Steps, w: Any = None) -> list[tuple[Floats, Floats]]:
    """(θ, w) after 0, 1, 2 … steps, or their averages, on these outcomes in this order; w starts at 0 unless given.

    A step uses one outcome; with the extragradient two: one to look ahead, one at the midpoint, from where it was.
    """

    def inside(point: Tensor) -> Tensor:
        norm = float((point**2).sum()) ** 0.5
        return point * (steps.radius / norm) if norm > steps.radius else point

    def moved(point: tuple[Tensor, Tensor], along: tuple[Tensor, Tensor], t: int) -> tuple[Tensor, Tensor]:
        alpha, beta = steps.sizes(t)
        return inside(point[0] - alpha * along[0]), inside(point[1] + beta * along[1])

    at = torch.as_tensor(np.asarray(theta, dtype=float).ravel())
    aux = torch.zeros_like(at) if w is None else torch.as_tensor(np.asarray(w, dtype=float).ravel())
    here, used, visited = (at, aux), 0, []
    weights: list[float] = []
    out = [here]
    for t in range(len(outcomes) // (2 if steps.extragradient else 1)):
        middle = here
        if steps.extragradient:
            middle = moved(here, field(*here, int(outcomes[used])), t)
            used += 1
        visited.append(middle)
        weights.append(steps.sizes(t)[0])
        here = moved(here, field(*middle, int(outcomes[used])), t)
        used += 1
        out.append(_mean(visited, weights) if steps.average else here)
    return [(theta_t.numpy(), w_t.numpy()) for theta_t, w_t in out]


def _mean(points: list[tuple[Tensor, Tensor]], weights: list[float]) -> tuple[Tensor, Tensor]:
    """Σ α_t x_t / Σ α_t."""
    share = torch.tensor(weights, dtype=torch.float64) / sum(weights)
    theta, w = (torch.stack([point[i] for point in points]) for i in (0, 1))
    return share @ theta, share @ w
