"""The linear saddle-point problem of Proposition 2, exactly: A, b, C, the balls, Err in closed form, and the bound.

    L(θ, w) = ⟨b − Aθ, w⟩ − ½‖w‖²_C        Err(θ', w') = max_w L(θ', w) − min_θ L(θ, w')

over balls of radius R that hold the saddle point. Value or lift; transitions are i.i.d. from d, as the proposition
assumes. The paper's statement is corrected as docs/reading-the-paper.md says (items 1 to 4).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.stepping import mirror_descent, mirror_prox
from dgtd.algorithms.targets import Target
from dgtd.harness.oracle.mdp import FiniteMDP, row_space


@dataclass(frozen=True)
class Saddle:
    """One problem with one target, on the row space of its features."""

    mdp: FiniteMDP
    target: Target
    slack: float = 1.5  # the balls are this much larger than the solution needs
    radius: float | None = None  # of both balls, if not by slack

    @cached_property
    def features(self) -> Floats:
        """[states, rank]: coordinates in which C is nonsingular."""
        return self.mdp.features @ self._axes

    @cached_property
    def _axes(self) -> Floats:
        """[k, rank]: an orthonormal basis of the features' row space; a linear learner never leaves it."""
        return row_space(self.mdp.features)[1].T

    @cached_property
    def _samples(self) -> tuple[Floats, Floats, Floats]:
        """Â [outcomes, d, d], b̂ [outcomes, d], Ĉ [outcomes, d, d] of every transition."""
        table, n = self.mdp.table, self.target.outputs
        shift = self.target.shift(table.reward, table.discount)
        phi, phi_next = self.features[table.state], self.features[table.next_state]
        count, d = len(phi), n * phi.shape[1]
        here = np.einsum("ok,nm->onkm", phi, np.eye(n)).reshape(count, d, n)
        there = np.einsum("omn,ok->onkm", shift.matrix(), phi_next).reshape(count, d, n)
        rho = table.rho[:, None, None]
        A = rho * here @ (here - there).transpose(0, 2, 1)
        b = table.rho[:, None] * np.einsum("odn,on->od", here, shift.constant)
        return A, b, here @ here.transpose(0, 2, 1)

    def _mean(self, samples: Floats) -> Floats:
        return np.tensordot(self.mdp.mass, samples, axes=1)

    @cached_property
    def A(self) -> Floats:
        """E[Σ ρφ(φ − φ')ᵀ]."""
        return self._mean(self._samples[0])

    @cached_property
    def b(self) -> Floats:
        """E[Σ ρφt]: 0 only if nothing is known at the boundary and nothing is earned."""
        return self._mean(self._samples[1])

    @cached_property
    def C(self) -> Floats:
        """E[Σ φφᵀ]."""
        return self._mean(self._samples[2])

    @cached_property
    def solution(self) -> Floats:
        """θ*, where b = Aθ; w* = 0."""
        return np.linalg.lstsq(self.A, self.b, rcond=None)[0].astype(float)

    @cached_property
    def R(self) -> float:
        return self.radius if self.radius is not None else self.slack * float(np.linalg.norm(self.solution))

    # ------------------------------------------------------------------ Err

    def error(self, theta: Floats, w: Floats) -> Floats:
        """Err of points [..., d], in closed form: a trust-region problem in w, a norm in θ."""
        push = self.b - theta @ self.A.T
        best_w = self._max_over_w(push)
        quadratic = 0.5 * ((w @ self.C) * w).sum(-1)
        best_theta = w @ self.b - self.R * np.linalg.norm(w @ self.A, axis=-1) - quadratic
        return best_w - best_theta

    def _max_over_w(self, push: Floats) -> Floats:
        """max over ‖w‖ ≤ R of ⟨push, w⟩ − ½‖w‖²_C: w = (C + μI)⁻¹push with the least μ ≥ 0 that fits."""
        values, vectors = np.linalg.eigh(self.C)
        parts = push @ vectors

        def norm(mu: Floats) -> Floats:
            return np.sqrt(((parts / (values + mu[..., None])) ** 2).sum(-1))

        low = np.zeros(push.shape[:-1])
        high = np.linalg.norm(push, axis=-1) / self.R
        inside = norm(np.full_like(low, 1e-300)) <= self.R
        for _ in range(80):  # bisection: ‖w(μ)‖ falls with μ, and at ‖push‖/R it is below R
            middle = (low + high) / 2
            too_long = norm(np.maximum(middle, 1e-300)) > self.R
            low, high = np.where(too_long, middle, low), np.where(too_long, high, middle)
        mu = np.where(inside, 0.0, high)[..., None]
        w = parts / np.maximum(values + mu, 1e-300)
        return (parts * w).sum(-1) - 0.5 * (values * w * w).sum(-1)

    # ------------------------------------------------------------------ the step and the bound

    @cached_property
    def noise(self) -> tuple[float, float]:
        """(σ₁², σ₂²): the largest variances of Âᵀw and of b̂ − Âθ − Ĉw over the balls; the second an upper bound."""
        A, b, C = self._samples
        spread_A = A - self.A
        first = float(np.linalg.eigvalsh(self._mean(spread_A @ spread_A.transpose(0, 2, 1)))[-1])
        along = float(np.linalg.eigvalsh(self._mean(spread_A.transpose(0, 2, 1) @ spread_A))[-1])
        of_b = float(self.mdp.mass @ ((b - self.b) ** 2).sum(1))
        of_C = float(np.linalg.eigvalsh(self._mean((C - self.C) @ (C - self.C)))[-1])
        second = (np.sqrt(of_b) + self.R * (np.sqrt(along) + np.sqrt(of_C))) ** 2
        return first * self.R**2, float(second)

    @cached_property
    def M_star(self) -> float:
        """M* of Nemirovski et al. (2009): √(2R²(M_θ² + M_w²))."""
        norm_A, norm_C = np.linalg.norm(self.A, 2), np.linalg.norm(self.C, 2)
        first, second = self.noise
        of_theta = first + (norm_A * self.R) ** 2
        of_w = second + (np.linalg.norm(self.b) + (norm_A + norm_C) * self.R) ** 2
        return float(np.sqrt(2 * self.R**2 * (of_theta + of_w)))

    def step(self, n: int) -> float:
        """The constant step of horizon n, in Euclidean units: 2R² times the paper's 2/(M*√(5n))."""
        return 4 * self.R**2 / (self.M_star * np.sqrt(5 * n))

    def bound(self, n: int, delta: float) -> float:
        """What Err of the average stays below with probability 1 − δ."""
        return float((8 + 2 * np.log(2 / delta)) * np.sqrt(5 / n) * self.M_star)

    @cached_property
    def standing_still(self) -> float:
        """Err of the starting point, θ = w = 0."""
        return float(self.error(np.zeros_like(self.b), np.zeros_like(self.b)))

    def useful_from(self, delta: float) -> int:
        """The n from which the bound beats standing still."""
        return int(np.ceil((self.bound(1, delta) / self.standing_still) ** 2))

    def error_of(self, theta: Floats, w: Floats) -> Floats:
        """Err of linear predictors θ, w [..., n, k], in the problem's own features."""
        points = (part @ self._axes for part in (theta, w))
        return self.error(*(point.reshape(*point.shape[:-2], -1) for point in points))

    # ------------------------------------------------------------------ without noise

    def field(self, theta: Floats, w: Floats) -> tuple[Floats, Floats]:
        """The exact operator: (G_θ, G_w) = (−Aᵀw, b − Aθ − Cw)."""
        return -self.A.T @ w, self.b - self.A @ theta - self.C @ w

    @cached_property
    def lipschitz(self) -> float:
        """The exact operator's Lipschitz constant."""
        return float(np.linalg.norm(self.matrix, 2))

    @cached_property
    def matrix(self) -> Floats:
        """F with z ← z − step·F z around the solution."""
        zero = np.zeros_like(self.A)
        return np.block([[zero, -self.A.T], [self.A, self.C]])

    def exact_errors(self, horizons: Integers, *, extragradient: bool, step: float) -> Floats:
        """Err of the averaged iterate without noise, at each horizon of one run."""
        take = mirror_prox if extragradient else mirror_descent
        theta = w = np.zeros_like(self.b)
        sums, out = [np.zeros_like(self.b), np.zeros_like(self.b)], []
        for t in range(1, int(max(horizons)) + 1):
            theta, w, *counted = take(self.field, theta, w, step, self.R)
            sums = [total + part for total, part in zip(sums, counted, strict=True)]
            if t in horizons:
                out.append(float(self.error(sums[0] / t, sums[1] / t)))
        return np.array(out)
