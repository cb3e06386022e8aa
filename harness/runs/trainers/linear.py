"""Linear in the problem's features: the whole loop compiled."""

from functools import cached_property
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.replay import State
from dgtd.harness.oracle.objectives import Predictor, linear
from dgtd.harness.runs.trainers.table import OnTable


class Linear(OnTable):
    """f = Θφ(s)."""

    @cached_property
    def engine(self) -> LinearEngine:
        return LinearEngine(self.rule, self.mdp.table, self.mdp.features, self.target)

    @property
    def options(self) -> dict[str, Any]:
        learner = self.spec.learner
        return super().options | {"average": learner.average, "extragradient": learner.extragradient}

    def first(self, seeds: range) -> Floats:
        """The problem's θ₀, or zeros."""
        theta = self.target.start(self.problem.mdp.theta_initial)
        return np.zeros_like(theta) if self.spec.learner.start == "zeros" else theta

    def weights(self, state: Any) -> tuple[Floats, Floats]:
        """The averages, if they were asked for and there are any."""
        if self.spec.learner.average and state.steps > 0:
            return state.theta_mean, state.w_mean
        return state.theta, state.w

    def moving(self, state: Any) -> State:
        return {name: getattr(state, name) for name in ("theta", "w", "theta_mean", "w_mean", "mass")}

    def predictions(self, theta: Any) -> Floats:
        return np.asarray(np.swapaxes(theta @ self.mdp.features.T, -1, -2))

    def flat(self, weights: Any) -> Floats:
        return weights.reshape(-1, weights.shape[-1] * weights.shape[-2])

    def predictor(self) -> Predictor:
        return linear(self.mdp.features, self.target.outputs)
