"""The mlp engine on transitions from outside, for learners whose weights are the small engine's: large batches."""

from __future__ import annotations

import numpy as np
import torch

from algorithms.batch import Batch
from algorithms.checks import Floats
from algorithms.fast.mlp import MlpEngine
from algorithms.fast.network_batches import Lesson, Update
from algorithms.fast.small import SmallEngine


class TorchLearner:
    """Does what BatchLearner does, by matrix products over the whole batch; κ is the rule's own."""

    def __init__(self, engine: SmallEngine) -> None:
        self.engine = engine
        self._twin = MlpEngine(
            engine.rule, engine.sizes[:-1], engine.target, torch.from_numpy(np.empty(0, engine.dtype)).dtype,
            activation=engine.activation_name, pinned=engine.pinned,
        )  # fmt: skip

    def learn(self, theta: Floats, w: Floats, lesson: Lesson, update: Update) -> None:
        """θ and w of every lane, in place; a lane with a number that is not finite is dated, and left alone."""
        engine = self.engine
        shift = engine.target.shift(lesson.reward, lesson.discount)
        batch = Batch(lesson.x, lesson.x_next, shift, lesson.rho)
        layers, auxiliary = ([torch.from_numpy(layer) for layer in engine.layers(each)] for each in (theta, w))
        parts = self._twin.step(layers, auxiliary, batch, update.alpha, update.beta)
        sick = ~torch.isfinite(torch.stack([part.sum((1, 2)) for part in parts]).sum(0)).numpy()
        update.died[sick & (update.died < 0)] = update.now
        for each in (theta, w):
            each[sick] = np.nan
            if update.radius < np.inf:
                norms = np.linalg.norm(each[:, 0], axis=1)
                each *= np.minimum(1.0, update.radius / norms)[:, None, None]
