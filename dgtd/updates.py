"""Two ways to run a rule over transitions: compiled, for plain layered networks; and through torch, for any module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import nn

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.fast.network_batches import BatchLearner, Lesson, Update
from dgtd.algorithms.fast.network_heads import GREEDY
from dgtd.algorithms.fast.small import SmallEngine, has_compiled_head
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import Target

AT_ONCE = 8192  # transitions for which shifts are kept at the same time: 15 MB with 50 atoms
Weights = Mapping[str, torch.Tensor]
_MODULES = dict(zip(ACTIVATIONS, (nn.Tanh, nn.ReLU, nn.SiLU, nn.Softplus), strict=True))


class Given(NamedTuple):
    """Checked transitions:  x, x_next  [count, …]   reward, gamma, rho  [count]   and actions, where they are given."""

    x: Floats
    x_next: Floats
    reward: Floats
    gamma: Floats
    rho: Floats
    action: Integers | None = None
    next_action: Integers | None = None

    def part(self, begin: int, end: int) -> Given:
        return Given(*(None if each is None else each[begin:end] for each in self))  # type: ignore[arg-type]


class Updates(Protocol):
    """θ and w of one module."""

    def run(self, given: Given, batch: int, alpha: float, beta: float) -> list[float]:
        """An update per `batch` transitions, in order; the mean square of δ before each."""

    def state(self) -> dict[str, dict[str, torch.Tensor]]:
        """'theta' and 'w', each by the parameters' names."""

    def load(self, kind: str, weights: Weights) -> None:
        """θ or w from such weights, whose names and shapes were checked."""


class ByModule:
    """Any module, through torch.func."""

    def __init__(self, engine: ModuleEngine, target: Target) -> None:
        self.engine, self.target = engine, target
        theta = engine.init(1)
        self._parts = {"theta": theta, "w": engine.zeros(theta)}

    def run(self, given: Given, batch: int, alpha: float, beta: float) -> list[float]:
        errors = []
        for begin in range(0, len(given.reward), batch):
            some = given.part(begin, begin + batch)
            shift = self.target.shift(some.reward[None], some.gamma[None])
            acts = (None if each is None else each[None] for each in (some.action, some.next_action))
            data = Batch(some.x[None], some.x_next[None], shift, some.rho[None], *acts)
            delta = self.engine.step(self._parts["theta"], self._parts["w"], data, alpha, beta)[0]
            errors.append(float(delta.square().mean()))
        return errors

    def state(self) -> dict[str, dict[str, torch.Tensor]]:
        return {kind: {name: part[0].clone() for name, part in parts.items()} for kind, parts in self._parts.items()}

    def load(self, kind: str, weights: Weights) -> None:
        for name, part in self._parts[kind].items():
            part[0].copy_(weights[name])


class Compiled:
    """Linear layers with biases and one activation between them: at 6-50-30 and batch 1 some 700 times as fast."""

    def __init__(self, rule: Rule, layers: Layers, target: Target, actions: int) -> None:
        self.names = layers.names
        self.engine = SmallEngine(rule, layers.sizes, target, activation=layers.activation, actions=actions)
        self._learner = BatchLearner(self.engine)
        shape = (1, 1, self.engine.weights)
        self._parts = {"theta": np.zeros(shape), "w": np.zeros(shape)}

    def run(self, given: Given, batch: int, alpha: float, beta: float) -> list[float]:
        errors = []
        size, begin, count = max(1, AT_ONCE // batch) * batch, 0, len(given.reward)
        while begin < count:  # as many equal batches as possible, and then the last, smaller one
            left = count - begin
            end = begin + min(size, left - left % batch if left >= batch else left)
            errors.append(self._run(given.part(begin, end), min(batch, left), alpha, beta))
            begin = end
        found: list[float] = np.concatenate(errors).tolist()
        return found

    def _run(self, given: Given, batch: int, alpha: float, beta: float) -> Floats:
        rates = np.full(1, alpha), np.full(1, beta)
        errors, died = np.empty((1, len(given.reward) // batch)), np.full(1, -1)
        update = Update(*rates, self.engine.rule.w_decay, np.inf, 0, died, errors)
        x, x_next, reward, gamma, rho = (each[None] for each in given[:5])
        acts = None if given.action is None else _pairs(given.action, given.next_action)[None]
        lesson = Lesson(x, x_next, reward, gamma, rho, acts)
        self._learner.learn(self._parts["theta"], self._parts["w"], lesson, update)
        return errors[0]

    def state(self) -> dict[str, dict[str, torch.Tensor]]:
        return {kind: self._named(parts) for kind, parts in self._parts.items()}

    def load(self, kind: str, weights: Weights) -> None:
        for name, layer in zip(self.names, self.engine.layers(self._parts[kind]), strict=True):
            layer[0, :-1] = weights[f"{name}weight"].detach().numpy().T
            layer[0, -1] = weights[f"{name}bias"].detach().numpy()

    def _named(self, flat: Floats) -> dict[str, torch.Tensor]:
        out = {}
        for name, layer in zip(self.names, self.engine.layers(flat), strict=True):
            out[f"{name}weight"] = torch.from_numpy(layer[0, :-1].T.copy())
            out[f"{name}bias"] = torch.from_numpy(layer[0, -1].copy())
        return out


def _pairs(action: Integers, following: Integers | None) -> Integers:
    return np.stack([action, np.full_like(action, GREEDY) if following is None else following], axis=-1)


class Layers(NamedTuple):
    """A plain network: its parameters' names up to 'weight' and 'bias', (inputs, hidden …), and the activation."""

    names: list[str]
    sizes: tuple[int, ...]
    activation: str


def layers_of(network: nn.Module) -> Layers | None:
    """What a module is made of, if it is nothing but linear layers with biases and one activation between them."""
    named = [("", network)]
    while any(type(module) is nn.Sequential for _, module in named):
        named = [
            (f"{name}{inner}." if type(module) is nn.Sequential else name, part)
            for name, module in named
            for inner, part in (module.named_children() if type(module) is nn.Sequential else [("", module)])
        ]
    linear, between = named[::2], [module for _, module in named[1::2]]
    if len(named) % 2 == 0 or len({id(module) for _, module in linear}) < len(linear):
        return None
    if any(type(module) is not nn.Linear or module.bias is None for _, module in linear):
        return None
    if any(module._forward_hooks or module._forward_pre_hooks for module in network.modules()):
        return None
    kinds = {name for name, kind in _MODULES.items() for module in between if type(module) is kind}
    known = all(type(module) in _MODULES.values() and _usual(module) for module in between)
    if not known or len(kinds) > 1:
        return None
    sizes = tuple(int(module.in_features) for _, module in linear)  # type: ignore[arg-type]
    return Layers([name for name, _ in linear], sizes, kinds.pop() if kinds else ACTIVATIONS[0])


def _usual(module: nn.Module) -> bool:
    return not isinstance(module, nn.Softplus) or (module.beta, module.threshold) == (1, 20)


def updates_for(rule: Rule, network: nn.Module, engine: ModuleEngine, target: Target, actions: int) -> Updates:
    """The faster way that fits. θ begins at the network's weights."""
    layers = layers_of(network)
    if layers is None or not has_compiled_head(target):
        return ByModule(engine, target)
    found = Compiled(rule, layers, target, actions)
    found.load("theta", network.state_dict())
    return found
