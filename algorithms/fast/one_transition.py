"""One transition of one lane on the mlp engine's own weights, in the small engine's compiled pass.

In torch such a step is mostly dispatch, and BLAS takes three rows for the time of nearly three. A compiled pass reads
each weight once forward and once backward: 4.7 times as fast at 6-50-30, 4 at 64-512-512-50, 1.3 at 256-2000-2000-50.
It works where the layers follow each other in memory, as `init` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.checks import Floats
from algorithms.fast.compiled_loop import rule_as_data
from algorithms.fast.kernels import Lookup, Samples
from algorithms.fast.network_batches import Update, learn_lanes
from algorithms.fast.network_kernels import room
from algorithms.fast.small import SmallEngine
from algorithms.fast.tensors import TensorBatch
from algorithms.stepping import check_steps

_FIRST = np.zeros(1, dtype=np.int64)


def one_vector(sizes: Sequence[tuple[int, int]], dtype: torch.dtype) -> list[Tensor]:
    """Layers of one lane, 0 everywhere, that follow each other in memory."""
    flat = torch.zeros(1, sum(rows * columns for rows, columns in sizes), dtype=dtype)
    parts = flat.split([rows * columns for rows, columns in sizes], 1)
    return [part.unflatten(1, size) for part, size in zip(parts, sizes, strict=True)]


def as_one_vector(layers: Sequence[Tensor]) -> Floats | None:
    """θ [1, 1, d] over the layers' own memory, or None where it is not one vector of one lane."""
    first = layers[0]
    end = first.storage_offset()
    for layer in layers:
        follows = layer.storage_offset() == end and layer.is_contiguous() and len(layer) == 1
        if not follows or layer.untyped_storage().data_ptr() != first.untyped_storage().data_ptr():
            return None
        end += layer.numel()
    size = end - first.storage_offset()
    whole: Floats = first.as_strided((1, 1, size), (size, size, 1)).numpy()
    return whole


class OneTransition:
    """The step of one engine; `small` has the same rule, sizes and head."""

    def __init__(self, small: SmallEngine) -> None:
        self.small = small
        self._room = (np.zeros((2, 1, 0), small.dtype), *room(small.network, small.target.outputs + 1))
        self._function = rule_as_data(small.rule, np.ones(1))[1]
        self._died = np.full(1, -1)

    def step(self, theta: Floats, w: Floats, data: TensorBatch, alpha: Any, beta: Any) -> Tensor:
        """θ and w [1, 1, d] in place. Returns 0; NaN if a number was not finite, and then θ and w are NaN."""
        check_steps(alpha, beta)
        rule, shift, k, outputs = self.small.rule, data.shift, data.x.shape[2], self.small.target.outputs
        rho = data.rho.numpy().reshape(1).astype(float)
        row, weight, constant = (np.asarray(part) for part in (shift.row, shift.weight, shift.constant))
        samples = Samples(
            data.x.numpy().reshape(1, k), data.x_next.numpy().reshape(1, k), row.reshape(1, outputs),
            weight.reshape(1, 2, outputs), constant.reshape(1, outputs), rule.linear, rule_as_data(rule, rho)[0],
        )  # fmt: skip
        self._died[0] = -1
        slow, fast = (np.full(1, float(np.asarray(rate).reshape(-1)[0])) for rate in (alpha, beta))
        update = Update(slow, fast, rule.w_decay, np.inf, 0, self._died)
        learn_lanes.of(self.small.dtype)(
            theta, w, samples.of(self.small.dtype), Lookup(_FIRST, _FIRST, rho), self.small.network, self._function,
            update, *self._room,
        )  # fmt: skip
        return torch.full((1, 1, 1), np.nan if self._died[0] >= 0 else 0.0)
