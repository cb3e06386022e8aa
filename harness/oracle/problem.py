"""A problem: a FiniteMDP, where it comes from, and its distributional lift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from algorithms.checks import Floats
from algorithms.targets import Target, target_class
from harness.oracle.mdp import FiniteMDP

ATOMS = 21


@dataclass(frozen=True)
class Problem:
    """What suites and the command line know of a problem.

    support   a range that holds every return and a little more: where the lift's atoms lie
    network   for a nonlinear problem, a function that makes its torch module (inputs: one-hot states)
    drawing   an ASCII picture, for problems that have a layout
    """

    mdp: FiniteMDP
    summary: str
    source: str
    support: tuple[float, float]
    network: Callable[[], Any] | None = None
    drawing: str = ""

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.mdp.name

    def target(self, kind: str = "value", atoms: int = ATOMS, projection: str = "cramer") -> Target:
        """The value target, or the CDF target of the lift."""
        return target_class(kind).over(self.support, atoms, projection)

    def theta_initial(self, target: Target) -> Floats:
        """[n, k]: θ₀ of a linear predictor; a lift starts from the same mean."""
        return target.start(self.mdp.theta_initial, self.mdp.features)
