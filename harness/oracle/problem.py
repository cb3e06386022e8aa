"""A problem: a FiniteMDP, where it comes from, and its distributional lift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.targets import CdfTarget, Target, ValueTarget
from harness.oracle.mdp import FiniteMDP

ATOMS = 21


@dataclass(frozen=True)
class Problem:
    """What suites and the command line know of a problem.

    support   a range that holds every return and a little more: where the lift's atoms lie
    network   for a nonlinear problem, a function that makes its torch module (inputs: one-hot states)
    drawing   an ASCII picture, for problems that have a place
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
        if kind == "value":
            return ValueTarget()
        if kind != "cdf":
            raise ValueError(f"target must be 'value' or 'cdf', got {kind!r}")
        return CdfTarget(*self.support, atoms, projection)

    def theta_initial(self, target: Target) -> Floats:
        """[n, k]: θ₀, spread evenly over the atoms of a lift so that it starts from the same mean.

        The mean of F = Θφ is z_m − Δz φᵀΣθ_j, so a lift needs c with φᵀc = 1; where the features have none, the
        least-squares c stands in, and the lift's mean starts near the scalar one.
        """
        theta = self.mdp.theta_initial
        if not isinstance(target, CdfTarget):
            return theta[None].copy()
        one = np.linalg.lstsq(self.mdp.features, np.ones(self.mdp.states), rcond=None)[0]
        each = (target.v_max * one - theta) / (target.spacing * target.outputs)
        return np.tile(each, (target.outputs, 1))
