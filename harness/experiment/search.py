"""How step sizes are found: a grid on seeds of its own, and one choice by a rule that is stated beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from algorithms.checks import positive

SWEEP_SEED = 2_000_003  # added to the root seed: lanes that choose step sizes are not those that are reported
CHOICE = "best mean {label} over the sweep's lanes that did not diverge, of the settings with the fewest that did"


@dataclass(frozen=True)
class Grid:
    """α × β/α; without ratios α alone, and w has one step size, `beta`."""

    alphas: tuple[float, ...] = (2.0**-1, 2.0**-3, 2.0**-5, 2.0**-7, 2.0**-9)
    ratios: tuple[float, ...] = (0.25, 1.0, 4.0, 16.0)
    beta: float | None = None

    def __post_init__(self) -> None:
        if not self.alphas or (not self.ratios and self.beta is None):
            raise ValueError("a sweep needs at least one alpha and one ratio")
        for name, values in (("alpha", self.alphas), ("ratio", self.ratios)):
            for value in values:
                positive(name, value)

    def points(self) -> list[tuple[float, float]]:
        """(α, β) of every setting."""
        if self.beta is not None:
            return [(alpha, self.beta) for alpha in self.alphas]
        return [(alpha, ratio * alpha) for alpha in self.alphas for ratio in self.ratios]

    def beyond(self, chosen: Iterable[tuple[float, float]]) -> Grid:
        """One more value on each side where somebody's choice lies on the edge; everybody gets the same grid."""
        found = list(chosen)
        alphas = _beyond(self.alphas, [alpha for alpha, _ in found])
        ratios = self.ratios if self.beta is not None else _beyond(self.ratios, [beta / alpha for alpha, beta in found])
        return Grid(alphas, ratios, self.beta)


def _beyond(values: tuple[float, ...], chosen: list[float]) -> tuple[float, ...]:
    """At the distance of the two values at that end."""
    order = sorted(values)
    if len(order) < 2:
        return values
    low, high = order[0], order[-1]
    below = (_tidy(low * low / order[1]),) if np.isclose(chosen, low, rtol=1e-9, atol=0).any() else ()
    above = (_tidy(high * high / order[-2]),) if np.isclose(chosen, high, rtol=1e-9, atol=0).any() else ()
    return (*values, *above, *below)


def _tidy(value: float) -> float:
    return float(f"{value:.15g}")


@dataclass(frozen=True)
class SweepPoint:
    """A point of a sweep: the mean score of the lanes that did not diverge, and how many did."""

    alpha: float
    beta: float
    mean: float
    diverged: int
    lanes: int

    @property
    def stable(self) -> bool:
        """No lane diverged."""
        return self.diverged == 0

    @property
    def area(self) -> float:
        """The mean score where no lane diverged; infinity elsewhere."""
        return self.mean if self.stable else np.inf


@dataclass(frozen=True)
class Choice:
    """The step sizes to use, and the sweep behind them (empty if they were given)."""

    best: tuple[float, float]
    sweep: tuple[SweepPoint, ...] = ()
    seconds: float = 0.0

    @staticmethod
    def among(points: list[SweepPoint], higher: bool, seconds: float = 0.0) -> Choice:
        """By the rule stated in CHOICE; ties go to the smaller α, then the smaller β."""
        sign = -1.0 if higher else 1.0
        best = min(points, key=lambda each: (each.diverged, sign * each.mean, each.alpha, each.beta))
        return Choice((best.alpha, best.beta), tuple(points), seconds)

    @property
    def stable(self) -> bool:
        """Whether there was a setting without a diverged lane, or nothing to choose."""
        return not self.sweep or any(point.stable for point in self.sweep)

    @property
    def on_edge(self) -> tuple[str, ...]:
        """Which of α and β/α is the smallest or largest of the grid: a better one may lie beyond."""
        if len(self.sweep) < 2:
            return ()
        alpha, beta = self.best
        alphas = sorted({point.alpha for point in self.sweep})
        ratios = sorted({point.beta / point.alpha for point in self.sweep})
        out = []
        if len(alphas) > 1 and alpha in (alphas[0], alphas[-1]):
            out.append("α")
        one_beta = len({point.beta for point in self.sweep}) == 1
        if len(ratios) > 1 and not one_beta and beta / alpha in (ratios[0], ratios[-1]):
            out.append("β/α")
        return tuple(out)
