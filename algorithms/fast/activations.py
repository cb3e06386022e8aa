"""The activations of layered networks, by name, with the first two derivatives that the R-operator needs.

Compiled code knows an activation by its place among the names (fast/network_kernels.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who only asks for names needs no torch, and importing it takes a second
    from torch import Tensor

ACTIVATIONS = ("tanh", "relu", "silu", "softplus")


@dataclass(frozen=True)
class Activation:
    """σ, σ' and σ''·Ra, each computed from what the pass already has.

    value  (a, out) → σ(a), written into out        slope  (a, σ(a)) → σ'(a)
    bend   (a, σ(a), σ'(a), Ra, σ'(a)Ra) → σ''(a)Ra, or None where it is 0
    """

    value: Callable[[Tensor, Tensor], object]
    slope: Callable[[Tensor, Tensor], Tensor]
    bend: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor] | None
    function: Callable[[Tensor], Tensor]


@cache
def activation(name: str) -> Activation:
    import torch

    def silu_bend(a: Tensor, h: Tensor, slope: Tensor, ra: Tensor, rh: Tensor) -> Tensor:
        s = torch.sigmoid(a)
        return s * (1 - s) * (2 + a * (1 - 2 * s)) * ra

    def silu_slope(a: Tensor, h: Tensor) -> Tensor:
        s = torch.sigmoid(a)
        return s * (1 + a * (1 - s))

    table = (
        Activation(
            lambda a, out: torch.tanh(a, out=out),
            lambda a, h: 1 - h * h,
            lambda a, h, slope, ra, rh: -2 * h * rh,
            torch.tanh,
        ),
        Activation(lambda a, out: torch.clamp(a, min=0, out=out), lambda a, h: (a > 0).to(a.dtype), None, torch.relu),
        Activation(
            lambda a, out: out.copy_(torch.nn.functional.silu(a)), silu_slope, silu_bend, torch.nn.functional.silu
        ),
        Activation(
            lambda a, out: out.copy_(torch.nn.functional.softplus(a)),
            lambda a, h: torch.sigmoid(a),
            lambda a, h, slope, ra, rh: (1 - slope) * rh,
            torch.nn.functional.softplus,
        ),
    )
    return dict(zip(ACTIVATIONS, table, strict=True))[name]
