"""The small engine: the linear engine's idea for networks. The whole loop is compiled, lanes in parallel, any depth.

theta, w  [lanes, 1, d]   d weights in the mlp engine's order, layer by layer, each layer row by row, the bias last.
One transition a step on a small network is nearly all dispatch in torch; here there is none. In float32 weights and
directions are single, and what a head adds up is double.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from dgtd.algorithms.checks import Floats, at_least, finite, shape
from dgtd.algorithms.fast import kernels, network_heads, network_kernels
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.compiled_loop import CompiledLoop
from dgtd.algorithms.fast.linear import batch_as_data
from dgtd.algorithms.names import look_up
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.table import Batch, TransitionTable
from dgtd.algorithms.targets import CdfTarget, Target, ValueTarget


class Shape(TypedDict, total=False):
    """Options of a layered network, by keyword."""

    activation: str
    actions: int
    pinned: bool


class Layered:
    """`sizes` = (inputs, hidden …); the last layer, whose width follows from the target, is added to it."""

    def __init__(
        self,
        rule: Rule,
        sizes: Sequence[int],
        target: Target,
        *,
        activation: str = "tanh",
        actions: int = 1,
        pinned: bool = False,
    ) -> None:
        for size in sizes:
            at_least("sizes", size, 1)
        at_least("actions", actions, 1)
        look_up("activation", activation, dict.fromkeys(ACTIVATIONS))
        self.rule, self.target, self.actions, self.pinned = rule, target, actions, pinned
        self.activation_name = activation
        self.sizes = (*sizes, actions * target.logits(pinned))
        self.shapes = [(rows + 1, columns) for rows, columns in pairwise(self.sizes)]
        self.lengths = [rows * columns for rows, columns in self.shapes]

    @property
    def weights(self) -> int:
        return sum(self.lengths)


def has_compiled_head(target: Target) -> bool:
    """Whether the compiled engines know how this target is predicted."""
    return isinstance(target, ValueTarget | CdfTarget)


class SmallEngine(Layered):
    """One rule on equal networks, `sizes` = (inputs, hidden …), with a head for the target: as MlpEngine, compiled."""

    def __init__(
        self, rule: Rule, sizes: Sequence[int], target: Target, dtype: DTypeLike = np.float64, **shape: Unpack[Shape]
    ) -> None:
        if not has_compiled_head(target):
            raise ValueError(f"target must have a compiled head (a value or a CDF), got {type(target).__name__}")
        super().__init__(rule, sizes, target, **shape)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise ValueError(f"dtype must be float64 or float32, got {self.dtype}")

    @cached_property
    def network(self) -> network_kernels.Network:
        """The network as the kernels take it."""
        head, support = network_heads.VALUE, np.zeros(0)
        if isinstance(self.target, CdfTarget):
            head, support = network_heads.CDF + self.pinned, self.target.support
        support = support.astype(self.dtype)
        units = [size + 1 for size in self.sizes]
        return network_kernels.Network(
            np.array(self.sizes), starts(self.lengths), starts(units), sum(units),
            ACTIVATIONS.index(self.activation_name), head, self.actions, self.rule.curvature, support,
        )  # fmt: skip

    def init(self, streams: Sequence[np.random.Generator]) -> Floats:
        """Random weights, uniform in ±1/√in like torch.nn.Linear's; each lane uses its own stream. As MlpEngine."""
        theta = np.empty((len(streams), 1, self.weights), self.dtype)
        edges = np.repeat([1 / math.sqrt(rows) for rows in self.sizes[:-1]], self.lengths)
        for lane, stream in zip(theta[:, 0], streams, strict=True):
            lane[:] = stream.uniform(-edges, edges)
        return theta

    def zeros(self, like: Floats) -> Floats:
        return np.zeros_like(like)

    def layers(self, theta: Floats) -> list[Floats]:
        """Each layer's weights [lanes, in + 1, out], as views: what MlpEngine works on."""
        parts = np.split(theta[:, 0], self.network.weight[1:], axis=1)
        return [part.reshape(-1, *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def flat(self, layers: Sequence[Any]) -> Floats:
        """The other way: θ from MlpEngine's layers."""
        parts = [np.asarray(layer, dtype=self.dtype).reshape(len(layer), 1, -1) for layer in layers]
        return np.concatenate(parts, axis=2)

    def step(self, theta: Floats, w: Floats, batch: Batch, alpha: ArrayLike, beta: ArrayLike) -> None:
        """θ ← θ − αG_θ, w ← w + β(G_w − κw), in place; alpha and beta are numbers or [lanes]."""
        check_steps(alpha, beta)
        d_theta, d_w = self.directions(theta, w, batch)
        theta -= np.reshape(alpha, (-1, 1, 1)) * d_theta
        w += np.reshape(beta, (-1, 1, 1)) * d_w

    def directions(self, theta: ArrayLike, w: ArrayLike, batch: Batch) -> tuple[Floats, Floats]:
        """(G_θ, G_w − κw), averaged over the batch of each lane; arrays of theta's shape."""
        theta, w = finite("theta", theta).astype(self.dtype), finite("w", w).astype(self.dtype)
        lanes, samples, k = batch.x.shape
        shape("theta", theta, (lanes, 1, self.weights))
        shape("w", w, theta.shape)
        if k != self.sizes[0]:
            raise ValueError(f"batch.x must have {self.sizes[0]} inputs, got {k}")
        if batch.shift.row.shape[-1] != self.target.outputs:
            raise ValueError(f"batch.shift must have {self.target.outputs} outputs, got {batch.shift.row.shape[-1]}")
        data, function, rho = batch_as_data(self.rule, batch)
        data = data.of(self.dtype)
        g_theta, g_w = np.zeros_like(theta), np.zeros_like(theta)
        actions = self._actions(batch)
        room = network_kernels.room(self.network, self.target.outputs + 1)
        network_kernels.directions.of(self.dtype)(
            theta, w, data, self.network, actions, function, rho, g_theta, g_w, *room
        )
        return g_theta / samples, g_w / samples - self.rule.w_decay * w

    def _actions(self, batch: Batch) -> Any:
        """[samples, 2]: the action whose output each sample uses, and the next one; greedy where none is given."""
        lanes, samples, _ = batch.x.shape
        chosen = np.zeros((lanes * samples, 2), dtype=np.int64)
        if self.actions == 1:
            return chosen
        if batch.action is None:
            raise ValueError(f"batch.action must be given when actions={self.actions}, got None")
        for name, given in (("action", batch.action), ("next_action", batch.next_action)):
            if given is not None and given.max(initial=0) >= self.actions:
                raise ValueError(f"batch.{name} must be below {self.actions}, got {given.max()}")
        chosen[:, 0] = batch.action.reshape(-1)
        chosen[:, 1] = network_heads.GREEDY if batch.next_action is None else batch.next_action.reshape(-1)
        return chosen


class SmallLoop(CompiledLoop):
    """A small engine on one table of transitions; `inputs` [states, k] is what the network sees of a state."""

    def __init__(self, engine: SmallEngine, table: TransitionTable, inputs: ArrayLike) -> None:
        super().__init__(engine.rule, table, inputs, engine.target, "inputs")
        self.engine, self.inputs, self.dtype = engine, self._samples.x, engine.dtype
        self._samples = self._samples.of(self.dtype)
        shape("inputs", self.inputs, (table.states, engine.sizes[0]))
        if engine.actions != 1:
            raise ValueError(f"a table of transitions has no actions to choose from, got actions={engine.actions}")

    @property
    def parameters(self) -> tuple[int, int]:
        """[1, d]."""
        return 1, self.engine.weights

    def _kernel(
        self, lanes: kernels.Lanes, moves: kernels.Moves, snapshots: kernels.Snapshots
    ) -> Callable[[int, int], None]:
        if moves.extragradient:
            raise ValueError("Mirror-Prox is for linear predictors, got a network")
        run = network_kernels.run.of(self.dtype)  # compiled here, before threads ask for it

        def part(begin: int, end: int) -> None:
            room = network_kernels.room(self.engine.network, self.target.outputs + 1)
            run(
                lanes, moves, self._sampling, self._samples, self.engine.network, self._lookup, self._function,
                snapshots, *room, begin, end,
            )  # fmt: skip

        return part


def starts(lengths: Sequence[int]) -> Any:
    """Where each part starts if they follow each other."""
    return np.cumsum([0, *lengths[:-1]])
