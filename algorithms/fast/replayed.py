"""The engine of agents: stacked networks with an output per action, on batches of replayed transitions.

θ and w are flat, [lanes, d], so that an optimiser is one pass over them. A rule that uses w or follows x' goes through
the mlp engine's stack of three; any other is plain backprop, with its next predictions from itself or a frozen copy.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import torch
from torch.func import functional_call, vmap

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast import acting, network_heads
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.batch_passes import BatchPass
from dgtd.algorithms.fast.compiled_loop import rule_as_data
from dgtd.algorithms.fast.heads import TensorBatch
from dgtd.algorithms.fast.kernels import Samples
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine, Parameters, drawing_from
from dgtd.algorithms.fast.network_batches import Kept
from dgtd.algorithms.fast.small import Shape
from dgtd.algorithms.names import look_up
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.rule import Rule, uses
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, Target

METRICS = ("cramer", "kl")
_NOTHING = np.zeros((0, 0))  # instead of inputs, which a batch brings


def check_metric(metric: str, rule: Rule, target: Target, pinned: bool = False) -> None:
    """KL compares laws, and its cotangent is known for a rule that is plain backprop."""
    look_up("metric", metric, dict.fromkeys(METRICS))
    if metric == "kl" and not isinstance(target, CdfTarget):
        raise ValueError("metric 'kl' compares laws: the target must be 'cdf', got 'value'")
    if metric == "kl" and (any(uses(rule)) or pinned):
        raise ValueError(f"metric 'kl' is for rules without w on free logits, got {rule.name!r}")


class ReplayEngine(MlpEngine):
    """One rule on networks `sizes` = (observations, hidden …), with `actions` outputs of the target's."""

    def __init__(
        self,
        rule: Rule,
        sizes: Sequence[int],
        target: Target,
        metric: str = "cramer",
        dtype: torch.dtype = torch.float32,
        **shape: Unpack[Shape],
    ) -> None:
        super().__init__(rule, sizes, target, dtype, **shape)
        check_metric(metric, rule, target, self.pinned)
        self.uses_w, self.follows = uses(rule)
        self._coefficients, self._function = rule_as_data(rule, np.ones(1))
        self._shifts = Kept(lambda keys: target.shift(*keys.T).arrays)
        head, support = network_heads.VALUE, np.zeros(0)
        if isinstance(target, CdfTarget):
            head, support = network_heads.CDF + self.pinned, target.support
        whole = self.uses_w or self.follows
        self.setup = network_heads.Setup(head, self.actions, metric == "kl", rule.curvature, whole, support)
        self.stack = acting.Stack(
            np.array(self.sizes), ACTIVATIONS.index(self.activation_name), head, self.actions, support
        )
        self._passes: dict[int, BatchPass] = {}

    def start(self, streams: Sequence[np.random.Generator]) -> Any:
        """Random weights, [lanes, d]; each lane uses its own stream."""
        return np.concatenate([layer.flatten(1).numpy() for layer in self.init(streams)], axis=1)

    def _batches(self, size: int) -> BatchPass:
        if size not in self._passes:
            kind, dtype = self.stack.activation, np.dtype(str(self.dtype).removeprefix("torch."))
            self._passes[size] = BatchPass(self.sizes, kind, self.setup, self.target.outputs, size, dtype)
        return self._passes[size]

    def values(self, theta: Any, x: Any) -> Any:
        """[lanes, actions]: the value of each action at x [lanes, k], one observation a lane."""
        return acting.values(theta, x, self.stack)

    @torch.no_grad()
    def laws(self, theta: Any, x: Any) -> Any:
        """[lanes, batch, actions, n]: the predictions at x [lanes, batch, k]."""
        return self.predict(self.layers(theta), torch.from_numpy(x).to(self.dtype)).numpy()

    def gradients(self, theta: Any, w: Any, drawn: Transitions, frozen: Any = None) -> tuple[Any, Any, Floats]:
        """(G_θ, G_w − κw) [lanes, d], averaged over each lane's batch, G_w empty without w; and the lanes' health."""
        g_theta = np.empty_like(theta)
        g_w = np.empty((len(theta), theta.shape[1] if self.setup.whole else 0), dtype=theta.dtype)
        boot = theta if frozen is None else frozen
        pair = self._shifts.find(drawn.reward, drawn.discount)
        row, weight, constant = self._shifts.arrays
        data = Samples(_NOTHING, _NOTHING, row, weight, constant, self.rule.linear, self._coefficients)
        batches = self._batches(drawn.action.shape[1])
        health = batches.gradients(theta, w, boot, drawn, pair, data, self._function, g_theta, g_w)
        if self.setup.whole and self.rule.w_decay:
            g_w -= self.rule.w_decay * w
        return g_theta, g_w, health


Network = Callable[
    [int, int], torch.nn.Module
]  # (observations, outputs) → a module from [batch, k] to [batch, outputs]


class ReplayModule(ModuleEngine):
    """One rule on lanes of a network that `make` makes, with the target's logits for each of `actions`."""

    def __init__(
        self,
        rule: Rule,
        make: Network,
        observations: int,
        target: Target,
        metric: str = "cramer",
        dtype: torch.dtype = torch.float32,
        actions: int = 2,
    ) -> None:
        check_metric(metric, rule, target)
        head = target.head()
        self._make = lambda: make(observations, actions * head.logits).to(dtype)
        with drawing_from(0):  # what is no parameter, such as fixed random features, is the same in every lane
            module = self._make()
        super().__init__(rule, module, head.predict, actions, target.mean)
        self.target, self.dtype, self.metric, self.observations = target, dtype, metric, observations
        self.uses_w, self.follows = uses(rule)
        self._shapes = {name: part.shape for name, part in self.module.named_parameters()}
        self.weights = sum(shape.numel() for shape in self._shapes.values())

    def start(self, streams: Sequence[np.random.Generator]) -> Any:
        """[lanes, d]. A network draws from torch's global stream, which is each lane's own while it is made."""
        made = []
        for stream in streams:
            with drawing_from(int(stream.integers(2**63))):
                made.append(torch.cat([part.detach().flatten() for part in self._make().parameters()]).numpy())
        return np.stack(made)

    def tried(self) -> None:
        """One update of one lane, on nothing: what can't be differentiated for lanes at once raises here."""
        theta = self.start([np.random.default_rng(0)])
        x = np.zeros((1, 2, self.observations), dtype=np.float32)
        drawn = Transitions(x, x, np.zeros((1, 2), dtype=np.int64), np.zeros((1, 2)), np.full((1, 2), 0.5))
        self.gradients(theta, np.zeros_like(theta), drawn)

    def named(self, flat: Any) -> Parameters:
        """Views of [lanes, d], by name."""
        whole = torch.from_numpy(flat)
        ends = np.cumsum([0, *(shape.numel() for shape in self._shapes.values())]).tolist()
        return {
            name: whole[:, low:high].unflatten(1, shape) if shape else whole[:, low]
            for (name, shape), (low, high) in zip(self._shapes.items(), pairwise(ends), strict=True)
        }

    def _flat(self, parts: Parameters) -> Any:
        return torch.cat([parts[name].flatten(1) for name in self._shapes], 1).numpy()

    @torch.no_grad()
    def laws(self, theta: Any, x: Any) -> Any:
        lane = vmap(lambda parameters, seen: self.predict(functional_call(self.module, parameters, (seen,))))
        return lane(self.named(theta), torch.from_numpy(x).to(self.dtype)).numpy()

    def values(self, theta: Any, x: Any) -> Any:
        return self.target.mean(self.laws(theta, x[:, None])[:, 0].astype(float))

    def gradients(self, theta: Any, w: Any, drawn: Transitions, frozen: Any = None) -> tuple[Any, Any, Floats]:
        shift, rho = self.target.shift(drawn.reward, drawn.discount), np.ones(drawn.reward.shape)
        batch = TensorBatch.of(Batch(drawn.x, drawn.x_next, shift, rho, drawn.action), self.dtype)
        copy = None if frozen is None else self.named(frozen)
        g_theta, g_w, parts = self.directions_and_parts(self.named(theta), self.named(w), batch, copy)
        health = torch.stack([(0.0 * part).flatten(1).sum(1) for part in parts]).sum(0).double().numpy()
        nothing = np.empty((len(theta), 0), dtype=theta.dtype)
        return self._flat(g_theta), self._flat(g_w) if self.uses_w or self.follows else nothing, health
