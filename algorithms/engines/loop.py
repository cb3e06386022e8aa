"""Runs of the torch engines: sample, step, project, snapshot, with deaths dated to the step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.checks import Integers, finite, shape
from algorithms.engines.mlp import MlpEngine
from algorithms.engines.module import ModuleEngine
from algorithms.engines.tensors import TensorBatch
from algorithms.experience.table import Sampler
from algorithms.stepping import Constant, Schedule, check_steps
from algorithms.targets import Target

CHUNK = 256  # steps drawn at once: the sampler is compiled, and a call costs more than a draw


@dataclass(frozen=True)
class TorchCurves:
    """theta and w at the snapshots (one container of tensors each), and the step at which each lane died, or −1."""

    steps: Integers
    theta: list[Any]
    w: list[Any]
    died: Integers


def run(
    engine: MlpEngine | ModuleEngine,
    theta: Any,
    w: Any,
    sampler: Sampler,
    inputs: Any,
    target: Target,
    steps: int,
    alpha: float,
    beta: float,
    *,
    schedule: Schedule | None = None,
    radius: float = np.inf,
    snapshots: Iterable[int] = (),
) -> TorchCurves:
    """Take `steps` steps in place, one transition a step; `inputs` [states, k] is what the network sees of a state."""
    check_steps(alpha, beta)
    if not radius > 0:
        raise ValueError(f"radius must be positive, got {radius}")
    table = sampler.table
    features = finite("inputs", inputs)
    shape("inputs", features, (table.states, None))
    dtype = next(iter(_tensors(theta))).dtype
    every = _gathered(table, features, target, dtype)
    alphas, betas = (schedule or Constant()).factors(0, steps)
    at = np.unique(np.asarray(list(snapshots), dtype=np.int64))
    died = np.full(sampler.lanes, -1, dtype=np.int64)
    kept_theta, kept_w = [], []
    done = 0
    while True:
        if done in at:
            kept_theta.append(_copy(theta))
            kept_w.append(_copy(w))
        if done == steps:
            break
        length = min([CHUNK, steps - done, *[int(s) - done for s in at if s > done]])
        health = []
        outcomes = torch.as_tensor(sampler.draw(length))
        for step in range(length):
            batch = every(outcomes[step])
            parts = engine.step(theta, w, batch, alpha * alphas[done + step], beta * betas[done + step])
            health.append(sum((0.0 * part for part in parts), start=parts[0].new_zeros(())).sum((1, 2)))
            if radius < np.inf:
                _project(theta, radius)
                _project(w, radius)
        sick = ~torch.isfinite(torch.stack(health)).numpy()
        newly = sick.any(0) & (died < 0)
        died[newly] = done + sick.argmax(0)[newly]
        done += length
    return TorchCurves(at, kept_theta, kept_w, died)


def _gathered(table: Any, features: np.ndarray, target: Target, dtype: torch.dtype) -> Any:
    """A function from outcome numbers [lanes] to their TensorBatch, with every table a tensor once."""
    shift = target.shift(table.reward, table.discount).tensors(dtype)
    rows = torch.as_tensor(features, dtype=dtype)
    x, x_next = rows[torch.as_tensor(table.state)], rows[torch.as_tensor(table.next_state)]
    rho = torch.as_tensor(table.rho, dtype=dtype)[:, None]

    def batch(outcome: Tensor) -> TensorBatch:
        index = outcome[:, None]
        return TensorBatch(x[index], x_next[index], shift.take(index), rho[index])

    return batch


def _tensors(weights: Any) -> list[Tensor]:
    return list(weights.values()) if isinstance(weights, dict) else list(weights)


def _copy(weights: Any) -> Any:
    if isinstance(weights, dict):
        return {name: value.clone() for name, value in weights.items()}
    return [value.clone() for value in weights]


def _project(weights: Any, radius: float) -> None:
    """Γ in place: each lane's whole parameter vector onto the ball."""
    parts = _tensors(weights)
    squares = torch.stack([part.flatten(1).square().sum(1) for part in parts]).sum(0)
    factor = torch.clamp(radius / squares.sqrt(), max=1.0)
    for part in parts:
        part.mul_(factor.reshape(-1, *[1] * (part.dim() - 1)))
