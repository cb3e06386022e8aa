"""What the torch engines share: transitions as tensors, step sizes per lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from algorithms.batch import Batch
from algorithms.stepping import check_steps
from algorithms.targets import Shift


@dataclass(frozen=True)
class TensorBatch:
    """A Batch on tensors:  x, x_next  [lanes, batch, k]   rho  [lanes, batch, 1]   action  [lanes, batch]."""

    x: Tensor
    x_next: Tensor
    shift: Shift
    rho: Tensor
    action: Tensor | None = None
    next_action: Tensor | None = None

    @staticmethod
    def of(batch: Batch | TensorBatch, dtype: torch.dtype) -> TensorBatch:
        """The batch as tensors; a TensorBatch is returned as it is."""
        if isinstance(batch, TensorBatch):
            return batch
        x, x_next, rho = (torch.as_tensor(part, dtype=dtype) for part in (batch.x, batch.x_next, batch.rho))
        actions = [None if part is None else torch.as_tensor(part) for part in (batch.action, batch.next_action)]
        return TensorBatch(x, x_next, batch.shift.tensors(dtype), rho[..., None], *actions)


def step_factors(alpha: Any, beta: Any, decay: float, batch: int, dtype: torch.dtype) -> tuple[Any, Any, Any]:
    """−α/B, β/B and 1 − βκ: numbers, or tensors [lanes, 1, 1] when the lanes' step sizes differ."""
    check_steps(alpha, beta)
    if isinstance(alpha, int | float) and isinstance(beta, int | float):
        return -alpha / batch, beta / batch, 1.0 - beta * decay
    a, b = (torch.as_tensor(value, dtype=dtype).reshape(-1, 1, 1) for value in (alpha, beta))
    return -a / batch, b / batch, (1.0 - b * decay) if decay else 1.0
