"""Step sizes, the projection Γ, iterate averages, mirror descent and Mirror-Prox, and optimisers of stacked weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from dgtd.algorithms.checks import Floats, positive
from dgtd.algorithms.fast.compiling import FASTMATH, compiled, inlined
from dgtd.algorithms.names import look_up
from dgtd.algorithms.replay import State, refill


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


BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@inlined(FASTMATH, error_model="numpy")  # Python's would test every divisor for 0, and nothing would be vectorised
def _move(theta, direction, size, first, second, numbers):
    """One lane's step: Kingma and Ba (2015), with torch's defaults and order of operations."""
    keep1, take1, keep2, take2, correct, epsilon = (
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5],
    )  # fmt: skip
    for i in range(theta.shape[0]):
        g = direction[i]
        m = keep1 * first[i] + take1 * g
        v = keep2 * second[i] + take2 * g * g
        first[i] = m
        second[i] = v
        theta[i] -= size * m / (np.sqrt(v) / correct + epsilon)


def _adam(theta, direction, size, first, second, numbers):
    """numbers  [6] are of theta's own precision: with a float64 constant among them the loop would not vectorise."""
    for lane in range(theta.shape[0]):
        _move(theta[lane], direction[lane], size[lane], first[lane], second[lane], numbers)


def _kernel(number: Any) -> Any:
    matrix, vector = types.Array(number, 2, "C"), types.Array(number, 1, "C")
    return compiled(matrix, matrix, vector, matrix, matrix, vector, fastmath=True, bare=True)(_adam)


_KERNELS = {np.dtype(np.float32): _kernel(types.float32), np.dtype(np.float64): _kernel(types.float64)}


class Adam:
    """State for weights [lanes, d]."""

    def __init__(self, rate: Floats, like: Any) -> None:
        positive("rate", rate)
        self.rate = np.array(np.broadcast_to(np.asarray(rate, dtype=float), (len(like),)))
        self.first, self.second, self.count = np.zeros_like(like), np.zeros_like(like), 0

    def step(self, theta: Any, direction: Any) -> None:
        """In place."""
        self.count += 1
        size = (self.rate / (1.0 - BETA1**self.count)).astype(theta.dtype)
        correct = np.sqrt(1.0 - BETA2**self.count)
        numbers = np.array([BETA1, 1.0 - BETA1, BETA2, 1.0 - BETA2, correct, EPSILON], dtype=theta.dtype)
        _KERNELS[theta.dtype](theta, direction, size, self.first, self.second, numbers)

    def state(self) -> State:
        """Both moments, and how many steps they are of; the arrays themselves."""
        return {"first": self.first, "second": self.second, "count": np.array(self.count)}

    def restore(self, saved: State) -> None:
        """Go on from a state."""
        count = np.array(self.count)
        refill({"first": self.first, "second": self.second, "count": count}, saved)
        self.count = int(count)


class Sgd:
    """θ ← θ − rate·direction."""

    def __init__(self, rate: Floats, like: Any) -> None:
        positive("rate", rate)
        self.rate = np.broadcast_to(np.asarray(rate, dtype=like.dtype), (len(like),))[:, None]

    def step(self, theta: Any, direction: Any) -> None:
        """In place. A lane that overflows is dated by whoever steps it, and needs no warning."""
        with np.errstate(over="ignore", invalid="ignore"):
            theta -= self.rate * direction

    def state(self) -> State:
        """It has none."""
        return {}

    def restore(self, saved: State) -> None:
        """Nothing to put back."""


OPTIMISERS: dict[str, type[Adam] | type[Sgd]] = {"adam": Adam, "sgd": Sgd}


def optimiser(name: str, rate: Any, like: Any) -> Adam | Sgd:
    """By name, for weights like these."""
    return look_up("optimiser", name, OPTIMISERS)(rate, like)
