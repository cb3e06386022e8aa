"""`dgtd.learn`: any rule on a torch module of your own, from transitions of your own."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, at_least, finite, integers, shape, within
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.names import look_up
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.targets import Target, ValueTarget
from dgtd.given import AnyRule, check, rule_of
from dgtd.harness.runs.predictors import check_network
from dgtd.harness.runs.rule_files import resolve
from dgtd.updates import Given, updates_for

FIELDS, OPTIONAL = ("x", "reward", "gamma", "x_next"), ("rho", "action", "next_action")
Transitions = Mapping[str, ArrayLike]


class Learner:
    """θ and w of a module, and the steps of a rule on them. `errors`: the mean square of δ before every step.

    Linear layers with biases and one activation between them (tanh, relu, silu or softplus) run compiled, any other
    module through torch.func, with the same numbers to rounding. The module stays as it is;
    `network.load_state_dict(learner.state_dict()["theta"])` gives it what was learned.

    target   what is predicted: `ValueTarget()`, or `CdfTarget(v_min, v_max, atoms)` for `atoms` outputs
    actions  how many actions a module has outputs for, all of one action behind each other
    """

    def __init__(self, rule: AnyRule, network: torch.nn.Module, target: Target | None = None, actions: int = 1) -> None:
        if not isinstance(network, torch.nn.Module):
            raise ValueError(f"network must be a torch.nn.Module, got {type(network).__name__}")
        if not all(part.requires_grad for part in network.parameters()) or not list(network.parameters()):
            raise ValueError(
                "network must have parameters, and all of them must require a gradient: every one is learned"
            )
        if isinstance(target, type) or not hasattr(target or ValueTarget, "head"):
            raise ValueError(f"target must be ValueTarget() or CdfTarget(v_min, v_max, atoms), got {target!r:.80}")
        check("actions", actions)
        self.target: Target = target or ValueTarget()
        self.actions = actions
        head = self.target.head()
        module = copy.deepcopy(network).double()
        made = resolve(rule_of(rule))
        self.engine = ModuleEngine(made, module, head.predict, actions, self.target.mean)
        self.outputs = actions * head.logits
        self._updates = updates_for(made, module, self.engine, self.target, actions)
        self._fits = False
        self.errors: list[float] = []

    def step(self, transitions: Transitions, alpha: float, beta: float) -> float:
        """One update from a batch: x [B, …], reward, gamma (0 where it ended), x_next, and rho, action, next_action."""
        given = self._checked(transitions)
        return self.run(given, len(given.reward), alpha, beta)[-1]

    def run(self, transitions: Transitions | Given, batch: int, alpha: float, beta: float) -> list[float]:
        """An update per `batch` transitions, in order. Returns what `errors` gained."""
        check_steps(alpha, beta)
        check("batch", batch)
        given = transitions if isinstance(transitions, Given) else self._checked(transitions)
        found = self._updates.run(given, batch, alpha, beta)
        self.errors += found
        return found

    def predict(self, x: ArrayLike) -> Floats:
        """The value at inputs x [B, …]: of a return distribution, its mean."""
        theta, given = {name: part[None] for name, part in self.state_dict()["theta"].items()}, finite("x", x)
        if len(given):
            self._check_network(given)
        with torch.no_grad():
            found = self.engine.predict_all(theta, torch.as_tensor(given))[0]
        return np.asarray(self.target.mean(found.numpy()))

    def state_dict(self) -> dict[str, Any]:
        """'theta' and 'w', each by the parameters' names, as torch saves them."""
        return dict(self._updates.state())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        own = self.state_dict()
        for kind, parts in own.items():
            if set(state.get(kind, ())) != set(parts):
                raise ValueError(f"state must have 'theta' and 'w', each with {', '.join(parts)}: see `state_dict`")
            for name, part in parts.items():
                if part.shape != state[kind][name].shape:
                    raise ValueError(
                        f"{name} must have shape {tuple(part.shape)}, got {tuple(state[kind][name].shape)}"
                    )
        for kind in own:
            self._updates.load(kind, state[kind])

    def _checked(self, given: Transitions) -> Given:
        if not isinstance(given, Mapping):
            raise ValueError(f"transitions must be a mapping with {', '.join(FIELDS)}, got {type(given).__name__}")
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
        within("gamma", gamma, 0.0, 1.0)
        x, x_next = (finite(name, given[name]) for name in ("x", "x_next"))
        shape("x", x, (len(reward), *x.shape[1:]))
        shape("x_next", x_next, x.shape)
        acts = [self._actions(name, given.get(name), reward.shape) for name in ("action", "next_action")]
        if self.actions > 1 and acts[0] is None:
            raise ValueError(f"transitions must have 'action' when actions={self.actions}")
        if not self._fits:
            self._check_network(x)
        return Given(x, x_next, reward, gamma, rho, *acts)

    def _actions(self, name: str, given: Any, expected: tuple[int, ...]) -> Any:
        if given is None:
            return None
        found = integers(name, given)
        shape(name, found, expected)
        within(name, found, 0, self.actions - 1)
        return found

    def _check_network(self, x: Floats) -> None:
        check_network(self.engine.module, "network", torch.as_tensor(x[[0, 0]]), self.outputs)
        self._fits = True


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
    check("batch", batch)
    check("passes", passes)
    if isinstance(transitions, Mapping):
        table = learner._checked(transitions)
        for _ in range(passes):
            learner.run(table, batch, alpha, beta)
        return learner
    if not isinstance(transitions, Iterable):
        learner._checked(transitions)
    if passes > 1 and not isinstance(transitions, Sequence):
        raise ValueError(f"an iterator is read once: passes must be 1, got {passes}")
    for _ in range(passes):
        for part in transitions:
            learner.step(part, alpha, beta)
    return learner
