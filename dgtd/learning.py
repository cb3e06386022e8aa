"""`dgtd.learn`: any rule on a torch module of your own, from transitions of your own."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from dgtd.algorithms.checks import Floats, at_least, finite, integers, shape
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.names import look_up
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import Target, ValueTarget
from dgtd.given import AnyRule, rule_of
from dgtd.harness.runs.rule_files import resolve

FIELDS, OPTIONAL = ("x", "reward", "gamma", "x_next"), ("rho", "action", "next_action")
Transitions = Mapping[str, ArrayLike]


class Learner:
    """θ and w of a module, and the steps of a rule on them. `errors`: the mean square of δ before every step.

    The module stays as it is; `network.load_state_dict(learner.state_dict()["theta"])` gives it what was learned.

    target   what is predicted: `ValueTarget()`, or `CdfTarget(v_min, v_max, atoms)` for `atoms` outputs
    actions  how many actions a module has outputs for, all of one action behind each other
    """

    def __init__(self, rule: AnyRule, network: torch.nn.Module, target: Target | None = None, actions: int = 1) -> None:
        if not isinstance(network, torch.nn.Module):
            raise ValueError(f"network must be a torch.nn.Module, got {type(network).__name__}")
        for part in network.modules():
            if isinstance(part, _BatchNorm | _DropoutNd):
                raise ValueError(
                    f"network has {type(part).__name__}, which is no function of one input and the weights: "
                    "write LayerNorm for BatchNorm, and nothing for Dropout"
                )
        if not all(part.requires_grad for part in network.parameters()) or not list(network.parameters()):
            raise ValueError(
                "network must have parameters, and all of them must require a gradient: every one is learned"
            )
        self.target: Target = target or ValueTarget()
        self.actions = actions
        head = self.target.head()
        module = copy.deepcopy(network).double()
        self.engine = ModuleEngine(resolve(rule_of(rule)), module, head.predict, actions, self.target.mean)
        self.outputs = actions * head.logits
        self.theta = self.engine.init(1)
        self.w = self.engine.zeros(self.theta)
        self.errors: list[float] = []

    def step(self, transitions: Transitions, alpha: float, beta: float) -> float:
        """One update from a batch: x [B, …], reward, gamma (0 where it ended), x_next, and rho, action, next_action."""
        check_steps(alpha, beta)
        parts = self.engine.step(self.theta, self.w, self._batch(transitions), alpha, beta)
        self.errors.append(float((parts[0] ** 2).mean()))
        return self.errors[-1]

    def predict(self, x: ArrayLike) -> Floats:
        """The value at inputs x [B, …]: of a return distribution, its mean."""
        with torch.no_grad():
            found = self.engine.predict_all(self.theta, torch.as_tensor(finite("x", x)))[0]
        return np.asarray(self.target.mean(found.numpy()))

    def state_dict(self) -> dict[str, Any]:
        """θ and w by the parameters' names, as torch saves them."""
        return {
            kind: {name: part[0].clone() for name, part in parts.items()}
            for kind, parts in (("theta", self.theta), ("w", self.w))
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        for kind, parts in (("theta", self.theta), ("w", self.w)):
            if set(state.get(kind, ())) != set(parts):
                raise ValueError(f"state must have 'theta' and 'w', each with {', '.join(parts)}: see `state_dict`")
            for name, part in parts.items():
                if part[0].shape != state[kind][name].shape:
                    raise ValueError(
                        f"{name} must have shape {tuple(part[0].shape)}, got {tuple(state[kind][name].shape)}"
                    )
                part[0].copy_(state[kind][name])

    def _batch(self, given: Transitions) -> Batch:
        for name in FIELDS:
            if name not in given:
                raise ValueError(f"transitions must have {name!r}, got {', '.join(given) or 'nothing'}")
        for name in given:
            look_up("part of transitions", name, dict.fromkeys((*FIELDS, *OPTIONAL)))
        reward, gamma = (finite(name, given[name]) for name in ("reward", "gamma"))
        shape("reward", reward, (None,))
        at_least("transitions in a batch", len(reward), 1)
        rho = np.ones(len(reward)) if given.get("rho") is None else finite("rho", given["rho"])
        if (rho < 0).any():
            raise ValueError(f"rho must not be negative, got {rho.min():g}")
        for name, part in (("gamma", gamma), ("rho", rho)):
            shape(name, part, reward.shape)
        x, x_next = (finite(name, given[name])[None] for name in ("x", "x_next"))
        acts = [self._actions(name, given.get(name)) for name in ("action", "next_action")]
        if not self.errors:
            self._check_outputs(x[0])
        return Batch(x, x_next, self.target.shift(reward[None], gamma[None]), rho[None], *acts)

    def _actions(self, name: str, given: Any) -> Any:
        if given is None:
            return None
        found = integers(name, given)[None]
        if found.max(initial=0) >= self.actions:
            raise ValueError(f"{name} must be below {self.actions}, got {found.max()}")
        return found

    def _check_outputs(self, x: Floats) -> None:
        with torch.no_grad():
            got = tuple(self.engine.module(torch.as_tensor(x)).shape)
        if got != (len(x), self.outputs):
            raise ValueError(
                f"network must give {self.outputs} outputs for this target, got shape {list(got)} for {len(x)} inputs"
            )


def learn(
    rule: AnyRule, network: torch.nn.Module, transitions: Transitions | Iterable[Transitions], alpha: float,
    beta: float, *, target: Target | None = None, actions: int = 1, batch: int = 1, passes: int = 1,
) -> Learner:  # fmt: skip
    """Run a rule over transitions: a table of arrays, read `batch` rows at a time in order, or an iterator of batches.

    >>> import dgtd, numpy as np, torch
    >>> table = {"x": np.eye(2)[[0, 1] * 300], "reward": np.array([0.0, 1.0] * 300),
    ...          "gamma": np.array([0.5, 0.0] * 300), "x_next": np.eye(2)[[1, 0] * 300]}
    >>> learner = dgtd.learn("tdc", torch.nn.Linear(2, 1, bias=False), table, alpha=0.1, beta=0.1)
    >>> learner.predict(np.eye(2)).round(2)
    array([0.5, 1. ])
    """
    learner = Learner(rule, network, target, actions)
    if passes > 1 and not isinstance(transitions, Mapping | Sequence):
        raise ValueError(f"an iterator is read once: passes must be 1, got {passes}")
    for _ in range(passes):
        for part in _batches(transitions, batch):
            learner.step(part, alpha, beta)
    return learner


def _batches(given: Transitions | Iterable[Transitions], size: int) -> Iterable[Transitions]:
    if not isinstance(given, Mapping):
        return given
    if size < 1:
        raise ValueError(f"batch must be at least 1, got {size}")
    arrays = {name: np.asarray(part) for name, part in given.items()}
    count = len(arrays["x"]) if "x" in arrays else 0
    for name, part in arrays.items():
        if len(part) != count:
            raise ValueError(f"transitions must be as many of each, got {count} of x and {len(part)} of {name}")
    return ({name: part[i : i + size] for name, part in arrays.items()} for i in range(0, max(count, 1), size))
