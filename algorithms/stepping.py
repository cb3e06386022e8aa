"""Step sizes, the projection Γ, iterate averages, mirror descent and Mirror-Prox."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.checks import Floats, positive


@dataclass(frozen=True)
class Constant:
    """α_t = α, β_t = β."""

    def factors(self, first: int, steps: int) -> tuple[Floats, Floats]:
        """The factors of α and β at steps first … first + steps − 1."""
        return np.ones(steps), np.ones(steps)


@dataclass(frozen=True)
class PowerLaw:
    """α_t = α (1 + t/offset)^−a and β_t = β (1 + t/offset)^−b, for any a and b: controls must break the conditions."""

    alpha_exponent: float = 0.75
    beta_exponent: float = 0.55
    offset: float = 1000.0

    def __post_init__(self) -> None:
        positive("offset", self.offset)

    def factors(self, first: int, steps: int) -> tuple[Floats, Floats]:
        """The factors of α and β at steps first … first + steps − 1."""
        base = 1.0 + np.arange(first, first + steps) / self.offset
        return base**-self.alpha_exponent, base**-self.beta_exponent


@dataclass(frozen=True)
class RobbinsMonro(PowerLaw):
    """A power law that meets Theorem 2's conditions.

    Σα_t = Σβ_t = ∞ needs a, b ≤ 1;  Σα_t², Σβ_t² < ∞ needs a, b > ½;  α_t/β_t → 0 needs a > b.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, exponent in (("alpha", self.alpha_exponent), ("beta", self.beta_exponent)):
            if not exponent <= 1.0:
                raise ValueError(f"{name}_exponent must be at most 1 so that Σ{name} = ∞, got {exponent}")
            if not exponent > 0.5:
                raise ValueError(f"{name}_exponent must exceed 1/2 so that Σ{name}² < ∞, got {exponent}")
        if not self.alpha_exponent > self.beta_exponent:
            raise ValueError(
                "alpha_exponent must exceed beta_exponent so that alpha/beta → 0, "
                f"got {self.alpha_exponent} and {self.beta_exponent}"
            )


Schedule = Constant | PowerLaw


def check_steps(alpha: Any, beta: Any) -> None:
    """Both step sizes are positive and finite, in every lane."""
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not (isinstance(value, float) and 0.0 < value < np.inf):  # the common case, without an array
            positive(name, value)


def project_ball(point: Any, radius: float) -> Any:
    """Γ onto {‖x‖ ≤ radius}, for one vector (array or tensor)."""
    norm = (point * point).sum() ** 0.5
    return point * (radius / norm) if norm > radius else point


@dataclass
class WeightedAverage:
    """x̄ = Σ α_t x_t / Σ α_t, updated in place without keeping the sum."""

    mean: Any
    weight: float = 0.0

    def add(self, point: Any, weight: float) -> None:
        """Count one more iterate."""
        self.weight += weight
        self.mean = self.mean + (weight / self.weight) * (point - self.mean)


Field = Callable[[Any, Any], tuple[Any, Any]]


def mirror_descent(field: Field, theta: Any, w: Any, step: float, radius: float = np.inf) -> tuple[Any, Any, Any, Any]:
    """One Euclidean mirror-descent step (Nemirovski et al. 2009, Prop. 3.2): what the paper calls Mirror-Prox.

    `field(θ, w)` gives (G_θ, G_w). Returns the next point, and the point that counts in the average: the one whose
    field was followed.
    """
    d_theta, d_w = field(theta, w)
    after = project_ball(theta - step * d_theta, radius), project_ball(w + step * d_w, radius)
    return (*after, theta, w)


def mirror_prox(field: Field, theta: Any, w: Any, step: float, radius: float = np.inf) -> tuple[Any, Any, Any, Any]:
    """One extragradient step (Juditsky et al. 2011): look ahead, then step *from where you were*.

    Returns the next point, and the midpoint, which counts in the average.
    """
    middle = mirror_descent(field, theta, w, step, radius)[:2]
    d_theta, d_w = field(*middle)
    after = project_ball(theta - step * d_theta, radius), project_ball(w + step * d_w, radius)
    return (*after, *middle)
