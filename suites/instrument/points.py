"""Networks to try, and their weights in the layouts of the engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from algorithms.rules import gtd2


@dataclass(frozen=True)
class Net:
    """A network to try: hidden widths, activation, target, samples per step, actions (greedy: no next action given)."""

    hidden: tuple[int, ...]
    activation: str = "tanh"
    target: str = "cdf"
    pinned: bool = False
    batch: int = 1
    actions: int = 1
    greedy: bool = False


def vector(weights: Any, lane: int = 0) -> Floats:
    """A lane's weights as one vector."""
    from harness.oracle.objectives import flat

    return flat(weights, lane)


def off(found: Floats, expected: Floats) -> float:
    """The largest difference, as a share of the largest number."""
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def linear(outputs: int, theta: Any, x: Any) -> Any:
    """f = Θφ, as a formula."""
    return theta.reshape(outputs, -1) @ x


def make_mlp(rule: Rule, net: Net, goal: Any, inputs: int) -> Any:
    """The mlp engine on this network."""
    from algorithms.fast.mlp import MlpEngine

    return MlpEngine(rule, (inputs, *net.hidden), goal, **_options(net))


def make_small(rule: Rule, net: Net, goal: Any, inputs: int) -> Any:
    """The small engine on this network."""
    from algorithms.fast.small import SmallEngine

    return SmallEngine(rule, (inputs, *net.hidden), goal, **_options(net))


def _options(net: Net) -> dict[str, Any]:
    return {"activation": net.activation, "pinned": net.pinned, "actions": net.actions}


def first_weights(net: Net, goal: Any, inputs: int, rng: Any) -> list[Any]:
    """One lane of the mlp engine's weights; half as large again as it starts with, so that no term is small."""
    return [1.5 * part for part in make_mlp(gtd2, net, goal, inputs).init([rng])]


def make_module(rule: Rule, net: Net, goal: Any, theta: list) -> Any:
    """The same network as torch users build it."""
    import torch

    from algorithms.fast.module import ModuleEngine

    layers: list[torch.nn.Module] = []
    for i, part in enumerate(theta):
        rows, columns = part.shape[1] - 1, part.shape[2]
        layers += [torch.nn.Linear(rows, columns, dtype=torch.float64), torch.nn.Tanh()][
            : 2 if i < len(theta) - 1 else 1
        ]
    return ModuleEngine(rule, torch.nn.Sequential(*layers), goal.head(net.pinned).predict)


def to_module(weights: list) -> dict[str, Any]:
    """The mlp engine's weights as the module engine's."""
    named = {f"{2 * i}.weight": part[:, :-1].mT.clone() for i, part in enumerate(weights)}
    return named | {f"{2 * i}.bias": part[:, -1].clone() for i, part in enumerate(weights)}


def of_module(named: dict[str, Any]) -> list:
    """The inverse."""
    import torch

    layers = [name.split(".")[0] for name in named if name.endswith("weight")]
    return [torch.cat([named[f"{i}.weight"].mT, named[f"{i}.bias"][:, None]], 1) for i in layers]
