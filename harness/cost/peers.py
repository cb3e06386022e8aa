"""Steps to compare ours with: eager backprop as a user writes it, and GTD2 with explicit Jacobians or Hessians.

Every maker takes a Network and returns a Step on random data, so that one check can compare them all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from dgtd.algorithms.fast.heads import TensorBatch
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generators
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget, Target, ValueTarget


@dataclass(frozen=True)
class Network:
    """inputs, hidden widths, atoms (1: a value), and samples per step."""

    inputs: int
    hidden: tuple[int, ...]
    atoms: int
    batch: int = 1

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.inputs, *self.hidden, self.atoms)

    @property
    def size(self) -> int:
        """d: weights and biases."""
        return sum((rows + 1) * columns for rows, columns in pairwise(self.widths))

    @cached_property
    def target(self) -> Target:
        """A value, or a law on [0, 10]."""
        return ValueTarget() if self.atoms == 1 else CdfTarget(0, 10, self.atoms)

    def data(self, lanes: int = 1, dtype: torch.dtype = torch.float32) -> TensorBatch:
        rng = np.random.default_rng(0)
        x, x_next = rng.normal(size=(2, lanes, self.batch, self.inputs))
        ones = np.ones((lanes, self.batch))
        return TensorBatch.of(Batch(x, x_next, self.target.shift(ones, 0.9 * ones), ones), dtype)

    def module(self) -> torch.nn.Sequential:
        """The same network as torch users build it, up to the last layer."""
        layers: list[torch.nn.Module] = []
        for rows, columns in pairwise(self.widths[:-1]):
            layers += [torch.nn.Linear(rows, columns), torch.nn.Tanh()]
        return torch.nn.Sequential(*layers, torch.nn.Linear(self.widths[-2], self.atoms))

    def __str__(self) -> str:
        return "-".join(map(str, self.widths))


@dataclass(frozen=True)
class Step:
    """One update, in place; it keeps `held` bytes between steps in addition to the parameters (w)."""

    call: Callable[[], object]
    held: int = 0


Maker = Callable[[Network], Step]
SMALL = 1e-6  # step sizes: nothing here needs to learn


def mlp_step(rule: Rule, network: Network, lanes: int = 1) -> Step:
    engine = MlpEngine(rule, network.widths[:-1], network.target, dtype=torch.float32, compiled=False)
    theta = engine.init(generators(0, range(lanes)))
    w, batch = engine.zeros(theta), network.data(lanes)
    return Step(lambda: engine.step(theta, w, batch, SMALL, SMALL), held=sum(part.nbytes for part in w))


def module_step(rule: Rule, network: Network) -> Step:
    predict = MlpEngine(rule, network.widths[:-1], network.target).head.predict
    engine = ModuleEngine(rule, network.module(), predict)
    theta = engine.init(1)
    w, batch = engine.zeros(theta), network.data()
    return Step(lambda: engine.step(theta, w, batch, SMALL, SMALL), held=sum(part.nbytes for part in w.values()))


def backprop(network: Network) -> Step:
    """Forward, backward and SGD towards a fixed goal."""
    module = network.module()
    optimiser = torch.optim.SGD(module.parameters(), lr=SMALL)
    x = network.data().x[0]
    goal = torch.rand(len(x), network.atoms)

    def step() -> None:
        optimiser.zero_grad()
        y = module(x)
        f = y if network.atoms == 1 else torch.softmax(y, -1).cumsum(-1)
        ((f - goal).square().sum() / len(x)).backward()
        optimiser.step()

    return Step(step)


class Literal:
    """Algorithm 1 as it is printed: one backprop per φ_j; h from them, or from full Hessians."""

    def __init__(self, network: Network, hessian: bool = False, dtype: torch.dtype = torch.float32) -> None:
        engine = MlpEngine(gtd2, network.widths[:-1], network.target, dtype=dtype)
        start = engine.init(generators(0, [0]))
        self.shapes = [part.shape for part in start]
        self.theta = torch.cat([part.reshape(-1) for part in start])
        self.w = torch.zeros_like(self.theta)
        self.engine, self.batch, self.hessian = engine, network.data(dtype=dtype), hessian

    def predict(self, theta: Tensor, x: Tensor) -> Tensor:
        """f [n] at one input."""
        return self.engine.predict(self.engine.layers(theta[None]), x)[0, 0]

    def directions(self) -> tuple[Tensor, Tensor]:
        """(G_θ, G_w) of the one sample."""
        theta = self.theta.clone().requires_grad_()
        f, f_next = self.predict(theta, self.batch.x), self.predict(theta, self.batch.x_next)
        phi, phi_next = (self._rows(values, theta, graph) for values, graph in ((f, not self.hessian), (f_next, False)))
        shift = self.batch.shift
        rho = self.batch.rho[0, 0]
        delta = (shift.apply(f_next[None, None]) - f)[0, 0].detach()
        u = phi @ self.w
        q = (rho * delta - u).detach()
        pulled = shift.transpose((rho * u.detach())[None, None])[0, 0]
        if self.hessian:
            whole = torch.func.hessian(lambda at: (q * self.predict(at, self.batch.x)).sum())(self.theta)
            h = whole @ self.w
        else:
            (h,) = torch.autograd.grad((q * u).sum(), theta)
        phi = phi.detach()
        return h - phi.T @ (rho * u.detach()) + phi_next.T @ pulled, phi.T @ q

    def step(self) -> None:
        """θ ← θ − αG_θ, w ← w + βG_w."""
        g_theta, g_w = self.directions()
        self.theta -= SMALL * g_theta
        self.w += SMALL * g_w

    @staticmethod
    def _rows(values: Tensor, theta: Tensor, graph: bool) -> Tensor:
        rows = [torch.autograd.grad(value, theta, create_graph=graph, retain_graph=True)[0] for value in values]
        return torch.stack(rows)


def explicit_jacobian(network: Network) -> Step:
    """m backprops per step, and all φ_j in memory at once."""
    literal = Literal(network)
    return Step(literal.step, held=literal.w.nbytes)


def explicit_hessian(network: Network) -> Step:
    """One d × d Hessian per step."""
    literal = Literal(network, hessian=True)
    return Step(literal.step, held=literal.w.nbytes)
