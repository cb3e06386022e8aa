"""The settings among which policy iteration is searched: what the paper leaves open, as points of one Sobol sequence.

Every rule and form gets the same points, so a search costs each of them the same, and none is tuned by hand. A point is
known by its number: whoever knows that, and how many there are, knows the setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.stats import qmc

from algorithms.checks import whole
from harness.experiment.learners import iterating_learner
from harness.runs.spec import Learner, PredictorSpec, StepSchedule
from harness.runs.trainers.policy_iteration import HIDDEN, Iterating

ALPHAS = (0.003, 1.0)  # even in logarithms
RATIOS = (0.1, 10.0)  # β/α, likewise
DECAYING = StepSchedule("robbins-monro", offset=5_000)
RADIUS = 10.0  # of Γ: θ starts at 3.5 (values) and 5.5 (laws), and reaches 5 to 10 where it learns, 20 to 150 where not
_DIMENSIONS = 5  # of seven, the 16 first points tie the sixth to the first, and the seventh to the second


@dataclass(frozen=True)
class Point:
    """One setting. What a value does not have, a projection and a pinned logit, it does not see."""

    alpha: float
    beta: float
    replayed: bool
    decaying: bool
    activation: str
    projection: str
    pinned: bool
    bounded: bool = False  # by Γ

    def shown(self, target: str) -> str:
        """For readers."""
        words = ["replay" if self.replayed else "online", "decaying" if self.decaying else "constant", self.activation]
        if target == "cdf":
            words += [self.projection, *(["pinned"] if self.pinned else [])]
        words += ["Γ"] if self.bounded else []
        return f"α {self.alpha:.3g}, β {self.beta:.3g}, {', '.join(words)}"


def points(count: int) -> list[Point]:
    """The first `count` points, a power of two: choices and halves of the rates are balanced in pairs."""
    whole("count", count, 2)
    if count & (count - 1):
        raise ValueError(f"count must be a power of two, got {count}")
    sobol = qmc.Sobol(_DIMENSIONS, scramble=False).random(count) + 0.5 / count  # in the middle of the cells
    made = []
    for alpha, ratio, first, second, third in sobol.tolist():
        replayed, nearest = divmod(int(4 * first), 2)  # two choices in one dimension
        decaying, pinned = divmod(int(4 * second), 2)
        relu, bounded = divmod(int(4 * third), 2)
        size = _between(ALPHAS, alpha)
        made.append(
            Point(size, size * _between(RATIOS, ratio), bool(replayed), bool(decaying), "relu" if relu else "tanh",
                  "nearest" if nearest else "cramer", bool(pinned), bool(bounded))
        )  # fmt: skip
    return made


def _between(ends: tuple[float, float], share: float) -> float:
    return float(ends[0] * (ends[1] / ends[0]) ** share)


def learner_at(point: Point, rule: str, target: str, world: str, **rest: Any) -> Learner:
    """A rule at a point, with the paper's networks."""
    law = {"projection": point.projection} if target == "cdf" else {}
    network = PredictorSpec("mlp", HIDDEN[target], point.activation, point.pinned and target == "cdf")
    schedule = DECAYING if point.decaying else StepSchedule()
    replay = Iterating.searched if point.replayed else {}
    ball = {"radius": RADIUS} if point.bounded else {}
    return iterating_learner(
        rule, world, target, point.alpha, point.beta, predictor=network, schedule=schedule, **law | replay | ball | rest
    )
