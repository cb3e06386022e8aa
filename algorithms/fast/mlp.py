"""The mlp engine: the paper's R-operator (appendix) for any depth, fused with both updates.

Weights are stacked, V and W  [lanes, in + 1, out]; the last input is the constant 1, so a bias is one more row. The
rows of x, x' and the tangent R go through the network as one stack [lanes, 3B, in + 1], so that each weight matrix is
read once forward and once backward, and rank-3B products go straight into θ and w: no gradient tensor is ever made.

    forward    A = [h; h'; Rh] V,  with hW added to the last B rows
    backward   [c; c'; e] Vᵀ,      with eWᵀ added to the first B rows
    update     V −= α [h; h'; Rh]ᵀ[c; c'; e],   W += β hᵀe

A layer costs 12 in·out products per sample, and 3 in backprop. The first layer (no Rh, nothing to pass down) costs 6,
and 2 in backprop. One transition of one lane goes through the small engine's compiled pass instead (one_transition).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.activations import activation
from dgtd.algorithms.fast.heads import Head, TensorBatch, step_factors
from dgtd.algorithms.fast.network_batches import Lesson, OneTransition, Update, as_one_vector
from dgtd.algorithms.fast.small import Layered, Shape, SmallEngine, has_compiled_head
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.step import Parts, temporal_difference
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import Target

Weights = list[Tensor]
# (layer, inputs and cotangents whose product is G_θ, inputs and cotangents whose product is G_w)
Emit = Callable[[int, Tensor, Tensor, Tensor, Tensor], None]


@dataclass(frozen=True)
class Forward:
    """What the forward pass keeps, layer by layer; rows are [x; x'; R], `size` of each.

    inputs   h, with a constant column for the bias      sums   a = hV, Ra in the last rows      slopes   σ'(a) of x, x'
    """

    size: int
    inputs: list[Tensor]
    sums: list[Tensor]
    slopes: list[Tensor]


class MlpEngine(Layered):
    """One rule on a stack of equal networks, `sizes` = (inputs, hidden …), with a head for the target."""

    def __init__(
        self,
        rule: Rule,
        sizes: Sequence[int],
        target: Target,
        dtype: torch.dtype = torch.float64,
        compiled: bool = True,
        **shape: Unpack[Shape],
    ) -> None:
        """compiled   False: every step by torch's own products, whatever its size"""
        super().__init__(rule, sizes, target, **shape)
        self.dtype = dtype
        self._compiled = compiled and rule.linear and self.actions == 1 and has_compiled_head(target)
        self.head: Head = target.head(self.pinned)
        self.activation = activation(self.activation_name)
        self._buffers: dict[tuple[int, int], list[Tensor]] = {}

    def init(self, streams: Sequence[np.random.Generator]) -> Weights:
        """Random weights, uniform in ±1/√in like torch.nn.Linear's; each lane uses its own stream."""
        weights = self._empty(len(streams))
        for layer in weights:
            edge = 1 / math.sqrt(layer.shape[1] - 1)
            for lane, stream in zip(layer, streams, strict=True):
                for row in lane:  # row by row: a whole layer of float64 beside it would show in the peak memory
                    row[:] = torch.as_tensor(stream.uniform(-edge, edge, size=len(row)))
        return weights

    def zeros(self, like: Weights) -> Weights:
        """Auxiliary weights w = 0."""
        return self._empty(len(like[0]))

    def _empty(self, lanes: int) -> Weights:
        """Layers of zeros; those of one lane follow each other in memory."""
        if lanes == 1:
            return self.layers(torch.zeros(1, self.weights, dtype=self.dtype))
        return [torch.zeros(lanes, *shape, dtype=self.dtype) for shape in self.shapes]

    def layers(self, flat: Any) -> Weights:
        """Views of θ [lanes, d], layer by layer."""
        parts = torch.as_tensor(flat).split(self.lengths, 1)
        return [part.unflatten(1, shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def predict(self, theta: Weights, x: Tensor) -> Tensor:
        """f at x [lanes, batch, inputs], differentiable; [lanes, batch, actions, n] if there are actions."""
        h = x
        for layer, v in enumerate(theta):
            a = torch.baddbmm(v[:, -1:], h, v[:, :-1])
            h = self.activation.function(a) if layer < len(theta) - 1 else a
        if self.actions > 1:
            h = h.unflatten(-1, (self.actions, self.head.logits))
        return self.head.predict(h)

    def step(self, theta: Weights, w: Weights, batch: Batch | TensorBatch, alpha: Any, beta: Any) -> Parts:
        """θ ← θ − αG_θ, w ← w + β(G_w − κw), in place; alpha and beta are numbers or [lanes].

        Returns numbers [lanes, batch, n] of the step, one of which is not finite where the step was not.
        """
        data = TensorBatch.of(batch, self.dtype)
        if self._compiled and data.x.shape[:2] == (1, 1):
            flat, flat_w = as_one_vector(theta), as_one_vector(w)
            if flat is not None and flat_w is not None:
                return (self._one_transition.step(flat, flat_w, data, alpha, beta),)
        d_theta, d_w, keep = step_factors(alpha, beta, self.rule.w_decay, data.x.shape[1], self.dtype)

        def update(layer: int, inputs: Tensor, outputs: Tensor, here: Tensor, tangent: Tensor) -> None:
            _add(theta[layer], inputs, outputs, d_theta, 1.0)
            _add(w[layer], here, tangent, d_w, keep)

        return self._pass(theta, w, data, update)

    @cached_property
    def _one_transition(self) -> OneTransition:
        kind = np.float32 if self.dtype == torch.float32 else np.float64
        options = Shape(activation=self.activation_name, pinned=self.pinned)
        return OneTransition(SmallEngine(self.rule, self.sizes[:-1], self.target, kind, **options))

    def directions(self, theta: Weights, w: Weights, batch: Batch | TensorBatch) -> tuple[Weights, Weights]:
        """(G_θ, G_w − κw), averaged over the batch of each lane."""
        data = TensorBatch.of(batch, self.dtype)
        g_theta: Weights = [torch.empty(0)] * len(theta)
        g_w: Weights = [torch.empty(0)] * len(w)
        share = 1.0 / data.x.shape[1]

        def collect(layer: int, inputs: Tensor, outputs: Tensor, here: Tensor, tangent: Tensor) -> None:
            g_theta[layer] = share * torch.bmm(inputs.mT, outputs)
            g_w[layer] = share * torch.bmm(here.mT, tangent) - self.rule.w_decay * w[layer]

        self._pass(theta, w, data, collect)
        return g_theta, g_w

    @torch.no_grad()
    def _pass(self, theta: Weights, w: Weights, data: TensorBatch, emit: Emit) -> Parts:
        """One forward and one backward pass; `emit` gets the factors of G_θ and G_w, from the top layer down."""
        forward = self._forward(theta, w, data)
        parts, cotangents = self._at_the_head(forward, data)
        self._backward(theta, w, forward, cotangents, emit)
        return parts

    def _forward(self, theta: Weights, w: Weights, data: TensorBatch) -> Forward:
        """x, x' and the tangent of x through the layers: a = hV, and for the tangent Ra = (Rh)V + hW."""
        lanes, size, _ = data.x.shape
        here, both, tangent = slice(size), slice(2 * size), slice(2 * size, None)
        inputs = self._stacks(lanes, size)
        inputs[0][:, here, :-1] = data.x
        inputs[0][:, size : 2 * size, :-1] = data.x_next
        sums, slopes = [], []
        for layer, (v, aux) in enumerate(zip(theta, w, strict=True)):
            h = inputs[layer]
            if layer == 0:  # the input has no tangent: Ra = hW
                a = h.new_empty(lanes, 3 * size, v.shape[2])
                torch.bmm(h[:, both], v, out=a[:, both])
                torch.bmm(h[:, here], aux, out=a[:, tangent])
            else:
                a = torch.bmm(h, v)
                a[:, tangent].baddbmm_(h[:, here], aux)
            sums.append(a)
            if layer < len(theta) - 1:
                above = inputs[layer + 1]
                self.activation.value(a[:, both], above[:, both, :-1])
                slope = self.activation.slope(a[:, both], above[:, both, :-1])
                torch.mul(slope[:, here], a[:, tangent], out=above[:, tangent, :-1])  # Rh = σ'(a) Ra
                slopes.append(slope)
        return Forward(size, inputs, sums, slopes)

    def _at_the_head(self, forward: Forward, data: TensorBatch) -> tuple[Parts, Tensor]:
        """δ, u and the rule's cotangents; and the cotangents of the last layer's outputs, stacked as [x; x'; R]."""
        a, size = forward.sums[-1], forward.size
        chosen = self._chosen(a, data, size)
        y = a if chosen is None else _take(a, chosen, self.actions)
        f, f_next, u, saved = self.head.forward(y, size)
        delta = temporal_difference(data.shift, f, f_next)
        p, t, q = self.rule(delta, u, data.rho)
        stack = torch.cat([p, data.shift.transpose(t), q], 1)
        out = self.head.backward(stack, saved, size, self.rule.curvature)
        return (delta, u, p, t, q), out if chosen is None else _put(out, chosen, self.actions)

    def _backward(self, theta: Weights, w: Weights, forward: Forward, top: Tensor, emit: Emit) -> None:
        """Cotangents [c; c'; e] of the sums, layer by layer: e of Ra, and c of a. e also adds to c, through Ra.

        With curvature,  c ← σ'(a)(cVᵀ + eWᵀ) + σ''(a)Ra·(eVᵀ);  without it e is used in G_w only.
        """
        size, curvature = forward.size, self.rule.curvature
        here, both, tangent = slice(size), slice(2 * size), slice(2 * size, None)
        out = top
        for layer in range(len(theta) - 1, -1, -1):
            h, inner = forward.inputs[layer], out
            if layer > 0:
                a, slope = forward.sums[layer - 1], forward.slopes[layer - 1]
                down = torch.bmm(inner, theta[layer][:, :-1].mT)  # without the bias row: its input is a constant
                if curvature:
                    down[:, here].baddbmm_(inner[:, tangent], w[layer][:, :-1].mT)
                out = torch.empty_like(down)
                torch.mul(down[:, both], slope, out=out[:, both])
                torch.mul(down[:, tangent], slope[:, here], out=out[:, tangent])
                if curvature and self.activation.bend is not None:
                    bent = self.activation.bend(
                        a[:, here], h[:, here, :-1], slope[:, here], a[:, tangent], h[:, tangent, :-1]
                    )
                    out[:, here].addcmul_(bent, down[:, tangent])
            # Rows that add to G_θ: the tangent's only with curvature, and not at the input, which has no tangent.
            rows = 3 * size if curvature and layer > 0 else 2 * size
            emit(layer, h[:, :rows], inner[:, :rows], h[:, here], inner[:, tangent])

    def _stacks(self, lanes: int, size: int) -> list[Tensor]:
        """Input stacks of every layer, kept between steps, with their constant column already set."""
        key = (lanes, size)
        if key not in self._buffers:
            stacks = [torch.zeros(lanes, 3 * size, width + 1, dtype=self.dtype) for width in self.sizes[:-1]]
            for stack in stacks:
                stack[:, : 2 * size, -1] = 1.0
            self._buffers[key] = stacks
        return self._buffers[key]

    def _chosen(self, a: Tensor, data: TensorBatch, size: int) -> Tensor | None:
        """[lanes, 3B]: the action whose output each row uses; the next action is greedy if none is given."""
        if self.actions == 1:
            return None
        if data.action is None:
            raise ValueError(f"batch.action must be given when actions={self.actions}, got None")
        following = data.next_action
        if following is None:
            outputs = a[:, size : 2 * size].unflatten(-1, (self.actions, self.head.logits))
            following = self.head.means(outputs).argmax(-1)
        return torch.cat([data.action, following, data.action], 1)


class TorchLearner:
    """Does what BatchLearner does, by matrix products over the whole batch; κ is the rule's own.

    Measured at 64-512-512-50 and 32 transitions: 1.4 times as fast with one lane, 1.9 with twelve.
    """

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
        update.errors[:, 0] = parts[0].square().mean((1, 2)).numpy()
        for each in (theta, w):
            each[sick] = np.nan
            if update.radius < np.inf:
                norms = np.linalg.norm(each[:, 0], axis=1)
                each *= np.minimum(1.0, update.radius / norms)[:, None, None]


def _take(a: Tensor, chosen: Tensor, actions: int) -> Tensor:
    split = a.unflatten(-1, (actions, a.shape[-1] // actions))
    index = chosen[..., None, None].expand(*chosen.shape, 1, split.shape[-1])
    return split.gather(2, index).squeeze(2)


def _put(out: Tensor, chosen: Tensor, actions: int) -> Tensor:
    whole = out.new_zeros(*out.shape[:2], actions, out.shape[-1])
    index = chosen[..., None, None].expand(*chosen.shape, 1, out.shape[-1])
    return whole.scatter_(2, index, out.unsqueeze(2)).flatten(2)


def _add(weights: Tensor, inputs: Tensor, outputs: Tensor, factor: Any, keep: Any) -> None:
    """weights ← keep·weights + factor·inputsᵀoutputs; per-lane factors scale `outputs`, which is small."""
    if isinstance(factor, Tensor):
        if isinstance(keep, Tensor):
            weights.mul_(keep)
        weights.baddbmm_(inputs.mT, outputs * factor)
    else:
        weights.baddbmm_(inputs.mT, outputs, beta=keep, alpha=factor)
