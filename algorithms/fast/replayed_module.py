"""A user's network as an agent's engine: flat weights [lanes, d] and replayed batches, through the module engine.

It has the methods of `ReplayEngine` that players use. Convolutions work; nothing here is compiled, so a network of
plain layers is far faster as `ReplayEngine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.func import functional_call, vmap

from algorithms.batch import Batch
from algorithms.checks import Floats
from algorithms.fast.module import ModuleEngine, Parameters, drawing_from
from algorithms.fast.replayed import check_metric
from algorithms.fast.tensors import TensorBatch
from algorithms.replay import Transitions
from algorithms.rule import Rule, uses
from algorithms.targets import Target

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
        """[lanes, batch, actions, n]: the predictions at x [lanes, batch, k]."""
        lane = vmap(lambda parameters, seen: self.predict(functional_call(self.module, parameters, (seen,))))
        return lane(self.named(theta), torch.from_numpy(x).to(self.dtype)).numpy()

    def values(self, theta: Any, x: Any) -> Any:
        """[lanes, actions]: the value of each action at x [lanes, k], one observation a lane."""
        return self.target.mean(self.laws(theta, x[:, None])[:, 0].astype(float))

    def gradients(self, theta: Any, w: Any, drawn: Transitions, frozen: Any = None) -> tuple[Any, Any, Floats]:
        """(G_θ, G_w − κw) [lanes, d], averaged over each lane's batch, G_w empty without w; and the lanes' health."""
        shift, rho = self.target.shift(drawn.reward, drawn.discount), np.ones(drawn.reward.shape)
        batch = TensorBatch.of(Batch(drawn.x, drawn.x_next, shift, rho, drawn.action), self.dtype)
        copy = None if frozen is None else self.named(frozen)
        g_theta, g_w, parts = self.directions_and_parts(self.named(theta), self.named(w), batch, copy)
        health = torch.stack([(0.0 * part).flatten(1).sum(1) for part in parts]).sum(0).double().numpy()
        nothing = np.empty((len(theta), 0), dtype=theta.dtype)
        return self._flat(g_theta), self._flat(g_w) if self.uses_w or self.follows else nothing, health
