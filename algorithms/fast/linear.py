"""The linear engine: f = Θφ(s), the whole loop compiled, lanes in parallel.

theta, w  [lanes, n, k]   n outputs of the target, k features. A step costs O(nk): each of θ and w is read and written
once, and the number of passes does not depend on m.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, finite, shape
from dgtd.algorithms.fast import kernels
from dgtd.algorithms.fast.compiled_loop import CompiledLoop, rule_as_data
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.table import Batch, TransitionTable
from dgtd.algorithms.targets import Affine

if TYPE_CHECKING:  # importing torch takes a second
    from dgtd.algorithms.fast.heads import TensorBatch


class LinearEngine(CompiledLoop):
    """One rule on one table of transitions with one set of features."""

    def __init__(self, rule: Rule, table: TransitionTable, features: ArrayLike, target: Affine) -> None:
        super().__init__(rule, table, features, target, "features")
        self.features = self._samples.x

    @property
    def parameters(self) -> tuple[int, int]:
        """[n, k]."""
        return self.target.outputs, self.features.shape[1]

    def _kernel(
        self, lanes: kernels.Lanes, moves: kernels.Moves, snapshots: kernels.Snapshots
    ) -> Callable[[int, int], None]:
        run = kernels.run.dispatcher  # compiled here, before threads ask for it

        def part(begin: int, end: int) -> None:
            room = kernels.room(*self.parameters)
            run(lanes, moves, self._sampling, self._samples, self._lookup, self._function, snapshots, *room, begin, end)

        return part

    def directions(self, theta: ArrayLike, w: ArrayLike, batch: Batch) -> tuple[Floats, Floats]:
        """(G_θ, G_w − κw), averaged over the batch of each lane; arrays of theta's shape."""
        return directions(self.rule, finite("theta", theta), finite("w", w), batch)


def directions(rule: Rule, theta: Floats, w: Floats, batch: Batch) -> tuple[Floats, Floats]:
    """Same as LinearEngine.directions, for callers that have no table of transitions."""
    lanes, samples, k = batch.x.shape
    shape("theta", theta, (lanes, batch.shift.row.shape[-1], k))
    shape("w", w, theta.shape)
    data, function, rho = batch_as_data(rule, batch)
    g_theta, g_w = np.zeros_like(theta), np.zeros_like(theta)
    kernels.directions(theta, w, data, function, rho, g_theta, g_w)
    return g_theta / samples, g_w / samples - rule.w_decay * w


def batch_as_data(rule: Rule, batch: Batch | TensorBatch) -> tuple[kernels.Samples, object, Floats]:
    """A batch and a rule as the kernels take them: samples lane by lane, the rule's function, the ratios."""
    x, x_next, row, weight, constant = (
        np.ascontiguousarray(part) for part in (batch.x, batch.x_next, *batch.shift.arrays)
    )
    k, n = x.shape[2], row.shape[-1]
    rho = np.asarray(batch.rho, dtype=float).reshape(-1)
    coefficients, function = rule_as_data(rule, rho)
    data = kernels.Samples(
        x.reshape(-1, k), x_next.reshape(-1, k),
        row.reshape(-1, n), weight.reshape(-1, 2, n), constant.reshape(-1, n), rule.linear, coefficients,
    )  # fmt: skip
    return data, function, rho
