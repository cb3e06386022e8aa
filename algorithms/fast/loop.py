"""The whole run of a torch engine on a finite problem: sample, step, project, snapshot, and date deaths."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from dgtd.algorithms.checks import Integers, finite, shape
from dgtd.algorithms.fast.compiled_loop import checked
from dgtd.algorithms.fast.heads import TensorBatch
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.stepping import Constant, Schedule
from dgtd.algorithms.table import Sampler, TransitionTable
from dgtd.algorithms.targets import Affine

CHUNK = 256  # steps drawn at once: the sampler is compiled, and a call costs more than a draw


@dataclass
class TorchState:
    """Where the lanes are: `run` changes it in place. theta and w are the engine's containers of stacked tensors."""

    theta: Any
    w: Any
    sampler: Sampler
    died: Integers  # [lanes]  the first step with a δ, u or cotangent that was not finite, or −1
    steps: int = 0


@dataclass(frozen=True)
class TorchCurves:
    """theta and w at the snapshots, one container of tensors each."""

    steps: Integers
    theta: list[Any]
    w: list[Any]


class TorchLoop:
    """An engine on one table of transitions; `inputs` [states, k] is what the network sees of a state."""

    def __init__(self, engine: MlpEngine | ModuleEngine, table: TransitionTable, inputs: Any, target: Affine) -> None:
        self.engine, self.table = engine, table
        self.inputs = finite("inputs", inputs)
        shape("inputs", self.inputs, (table.states, None))
        self._shift = target.shift(table.reward, table.discount)
        self._tensors: dict[torch.dtype, TensorBatch] = {}

    def start(self, theta: Any, streams: NDArray[np.uint64]) -> TorchState:
        """Lanes at theta, w = 0, each on its own stream [lanes, 4]."""
        lanes = len(streams)
        for part in tree_leaves(theta):
            shape("theta", part, (lanes, *part.shape[1:]))
        return TorchState(theta, self.engine.zeros(theta), Sampler(self.table, streams), np.full(lanes, -1))

    def run(
        self,
        state: TorchState,
        steps: int,
        alpha: float,
        beta: float,
        *,
        schedule: Schedule | None = None,
        radius: float = np.inf,
        snapshots: ArrayLike = (),
    ) -> TorchCurves:
        """Take `steps` steps in every lane, one transition per step.

        radius     Γ: each of θ and w is projected, as one vector, onto the ball of this radius
        snapshots  numbers of steps, counted from the start of the lanes, at which to keep θ and w
        """
        first, last = state.steps, state.steps + steps
        at = checked(first, steps, alpha, beta, radius, snapshots)
        alphas, betas = (schedule or Constant()).factors(first, steps)
        kept_theta, kept_w = [], []
        while True:
            if state.steps in at:
                kept_theta.append(tree_map(torch.clone, state.theta))
                kept_w.append(tree_map(torch.clone, state.w))
            if state.steps == last:
                return TorchCurves(at, kept_theta, kept_w)
            length = min([CHUNK, last - state.steps, *[int(s) - state.steps for s in at if s > state.steps]])
            done = state.steps - first
            sizes = [(alpha * alphas[done + i], beta * betas[done + i]) for i in range(length)]
            self._steps(state, sizes, radius)

    def _steps(self, state: TorchState, sizes: list[tuple[float, float]], radius: float) -> None:
        health = []
        outcomes = torch.as_tensor(state.sampler.draw(len(sizes)))
        for outcome, (alpha, beta) in zip(outcomes, sizes, strict=True):
            parts = self.engine.step(state.theta, state.w, self._batch(outcome, state.theta), alpha, beta)
            health.append(torch.stack([(0.0 * part).sum((1, 2)) for part in parts]).sum(0))
            if radius < np.inf:
                _project(state.theta, radius)
                _project(state.w, radius)
        sick = ~torch.isfinite(torch.stack(health)).numpy()
        newly = sick.any(0) & (state.died < 0)
        state.died[newly] = state.steps + sick.argmax(0)[newly]
        state.steps += len(sizes)

    def _batch(self, outcome: Tensor, theta: Any) -> TensorBatch:
        """The transitions with these outcome numbers [lanes], from tables that are made tensors once."""
        every, index = self._every(tree_leaves(theta)[0].dtype), outcome[:, None]
        return TensorBatch(every.x[index], every.x_next[index], every.shift.take(index), every.rho[index])

    def _every(self, dtype: torch.dtype) -> TensorBatch:
        if dtype not in self._tensors:
            table = self.table
            rows = torch.as_tensor(self.inputs, dtype=dtype)
            x, x_next = rows[torch.as_tensor(table.state)], rows[torch.as_tensor(table.next_state)]
            rho = torch.as_tensor(table.rho, dtype=dtype)[:, None]
            self._tensors[dtype] = TensorBatch(x, x_next, self._shift.tensors(dtype), rho)
        return self._tensors[dtype]


def _project(weights: Any, radius: float) -> None:
    """Γ in place: each lane's whole parameter vector onto the ball."""
    parts = tree_leaves(weights)
    squares = torch.stack([part.flatten(1).square().sum(1) for part in parts]).sum(0)
    factor = torch.clamp(radius / squares.sqrt(), max=1.0)
    for part in parts:
        part.mul_(factor.reshape(-1, *[1] * (part.dim() - 1)))
