"""What torch engines share. Heads map a network's last layer to f and its tangent u, and cotangents back; batches.

Rows of a stack are [x; x'; R], B of each: the prediction, the next prediction, and the tangent of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, Shift, ValueTarget


@dataclass(frozen=True)
class ValueHead:
    """f is the last layer itself."""

    target: ValueTarget

    @property
    def logits(self) -> int:
        """Width of the last layer, per action."""
        return self.target.logits(False)

    def predict(self, y: Tensor) -> Tensor:
        """f from the last layer, differentiable: used by the module engine and the tests."""
        return y

    def forward(self, y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
        """(f, f', u) and what `backward` needs, from the stack y [lanes, 3B, 1]."""
        return y[:, :size], y[:, size : 2 * size], y[:, 2 * size :], ()

    def backward(self, stack: Tensor, saved: tuple[Tensor, ...], size: int, curvature: bool) -> Tensor:
        """Cotangents of the last layer from those of (f, f', u)."""
        return stack

    def means(self, y: Tensor) -> Tensor:
        """The value of each action's output [..., actions, 1]."""
        return y[..., 0]


@dataclass(frozen=True)
class CdfHead:
    """F = cumsum(softmax(y)) without its last entry, which is 1. `pinned` holds the last logit at 0.

    A constant added to all logits does not change softmax: without the pin E Σφφᵀ is singular (Theorem 2's condition).
    """

    target: CdfTarget
    pinned: bool = False

    @property
    def logits(self) -> int:
        return self.target.logits(self.pinned)

    def _softmax(self, y: Tensor) -> Tensor:
        if self.pinned:
            y = torch.nn.functional.pad(y, (0, 1))
        return torch.softmax(y, -1)

    def predict(self, y: Tensor) -> Tensor:
        return self._softmax(y).cumsum(-1)[..., :-1]

    def forward(self, y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
        """(f, f', u) and what `backward` needs, from the stack y [lanes, 3B, logits]."""
        p = self._softmax(y[:, : 2 * size])
        here = p[:, :size]
        r = y[:, 2 * size :]
        if self.pinned:
            r = torch.nn.functional.pad(r, (0, 1))
        centred = r - (here * r).sum(-1, keepdim=True)  # R p = p ∘ centred
        f = p.cumsum(-1)[..., :-1]
        u = (here * centred).cumsum(-1)[..., :-1]
        return f[:, :size], f[:, size:], u, (p, centred)

    def backward(self, stack: Tensor, saved: tuple[Tensor, ...], size: int, curvature: bool) -> Tensor:
        """Cotangents of the last layer from those of (f, f', u).

        The transpose of cumsum is a reversed sum, which differs from minus the exclusive cumsum by a constant per row;
        softmax's Jacobian, diag(p) − ppᵀ, takes any constant to 0.
        """
        p, centred = saved
        here = p[:, :size]
        rows = torch.cat([p, here], 1)
        pulled = torch.nn.functional.pad(stack.cumsum(-1), (1, 0))
        pulled = (rows * pulled).sum(-1, keepdim=True) - pulled
        out = rows * pulled
        if curvature:
            bent = pulled[:, 2 * size :] * centred
            out[:, :size].addcmul_(here, bent.sub_((here * bent).sum(-1, keepdim=True)))
        return out[..., :-1] if self.pinned else out

    def means(self, y: Tensor) -> Tensor:
        """The mean return of each action's law [..., actions, logits]."""
        return self._softmax(y) @ torch.as_tensor(self.target.support, dtype=y.dtype)


Head = ValueHead | CdfHead


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
