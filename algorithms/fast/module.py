"""The module engine: lanes of any nn.Module take the steps of step.py, and agents of one's own network theirs."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves

from dgtd.algorithms.checks import at_least
from dgtd.algorithms.fast.heads import TensorBatch, step_factors
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.step import Parameters, Parts, detached, parts_of, prediction_and_tangent, weighed
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import Shift

AFTER = 60  # calls with the same shapes; a trace takes as long as 60 of them


class Traced:
    """Like `function`, a pure function of tensors (in dicts and tuples), and the faster the longer it is used.

    Measured on steps of the module engine: 2.4 times as fast at 6-50-30; with 32 transitions 2.1 times
    at 4-64-64-80 and 1.5 times at 64-512-512-50.

    A trace holds what is not a tensor as it was, so it is compared once, on other arguments than its own. A function
    that can't be traced, or whose trace gives something else, is never asked again.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._calls, self._shapes = 0, list[Any]()
        self._trace: Callable[..., Any] | None = None

    @property
    def traced(self) -> bool:
        return self._trace is not None and self._calls > AFTER + 1

    def __call__(self, *arguments: Any) -> Any:
        shapes = [(part.shape, part.dtype) for part in tree_leaves(arguments)]
        if shapes != self._shapes:
            self._calls, self._shapes, self._trace = 0, shapes, None
        self._calls += 1
        if self._trace is not None and self.traced:
            return self._trace(*arguments)
        found = self.function(*arguments)
        if self._calls == AFTER and threading.current_thread() is threading.main_thread():
            self._trace = _trace(self.function, arguments)  # torch is patched meanwhile, for every thread
        elif self._trace is not None and not _same(self._trace(*arguments), found):
            self._trace = None
        return found


def _trace(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    try:
        with torch.no_grad():
            made = make_fx(lambda *parts: function(*parts))(*arguments)
    except Exception:  # whatever a user's module does that a trace can't hold: it works untraced
        return None
    made.graph.eliminate_dead_code()
    made.recompile()
    return made


def _same(a: Any, b: Any) -> bool:
    pairs = zip(tree_leaves(a), tree_leaves(b), strict=True)
    return all(torch.allclose(x, y, rtol=1e-12, atol=0.0, equal_nan=True) for x, y in pairs)


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Torch's global stream, from which networks draw their first weights, begins at a seed; then it is put back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


class ModuleEngine:
    """One rule on copies of a module that maps inputs [batch, …] to predictions [batch, n].

    For a CDF the module must return CDF values, or `predict` makes them from logits, as CdfHead.predict does. With
    `actions` the module returns [batch, actions · logits], and a batch says which action was taken; the next one is
    greedy in `value`, [..., n] → [...] of predictions (a target's mean), if the batch does not say it.
    """

    # What an agent's engine may leave out, where a probe of its rule found zeros; here nothing is left out.
    uses_w, follows = True, True
    metric = "cramer"  # or kl, for a rule without w

    def __init__(
        self,
        rule: Rule,
        module: torch.nn.Module,
        predict: Callable[[Tensor], Tensor] | None = None,
        actions: int = 1,
        value: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        at_least("actions", actions, 1)
        self.rule, self.module, self.actions = rule, module, actions
        self._head = predict or (lambda y: y)
        self._value = value or (lambda f: f[..., 0])
        self._lanes = Traced(vmap(grad(self._objective, argnums=(0, 1), has_aux=True)))

    def predict(self, y: Tensor) -> Tensor:
        """f from what the module returns: [..., n], or [..., actions, n]."""
        return self._head(y if self.actions == 1 else y.unflatten(-1, (self.actions, -1)))

    def init(self, lanes: int, modules: Sequence[torch.nn.Module] | None = None) -> Parameters:
        """The parameters of the lanes' modules, or of the engine's own for every lane: name → [lanes, …]."""
        stacked, _ = stack_module_state(list(modules or [self.module] * lanes))
        return {name: value.detach().clone() for name, value in stacked.items()}

    def zeros(self, like: Parameters) -> Parameters:
        return {name: torch.zeros_like(value) for name, value in like.items()}

    def predict_all(self, theta: Parameters, x: Tensor) -> Tensor:
        """f at x [batch, …] in every lane: [lanes, batch, n], or [lanes, batch, actions, n]."""
        lane = vmap(lambda parameters: self.predict(functional_call(self.module, parameters, (x,))))
        found: Tensor = lane(theta)
        return found

    def directions(self, theta: Parameters, w: Parameters, batch: Batch | TensorBatch) -> tuple[Parameters, Parameters]:
        g_theta, g_w, _ = self.directions_and_parts(theta, w, batch)
        return g_theta, g_w

    def step(self, theta: Parameters, w: Parameters, batch: Batch | TensorBatch, alpha: Any, beta: Any) -> Parts:
        """θ ← θ − αG_θ, w ← w + β(G_w − κw), in place. Returns δ, u, p, t, q."""
        g_theta, g_w, parts = self.directions_and_parts(theta, w, batch)
        minus_alpha, plus_beta, _ = step_factors(alpha, beta, 0.0, 1, next(iter(theta.values())).dtype)
        for name in theta:
            shape = (-1, *[1] * (theta[name].dim() - 1))
            for whole, factor, part in ((theta, minus_alpha, g_theta), (w, plus_beta, g_w)):
                scale = factor.reshape(shape) if isinstance(factor, Tensor) else factor
                whole[name].add_(scale * part[name])
        return parts

    def directions_and_parts(
        self, theta: Parameters, w: Parameters, batch: Batch | TensorBatch, frozen: Parameters | None = None
    ) -> tuple[Parameters, Parameters, Parts]:
        """(G_θ, G_w − κw) and δ, u, p, t, q. frozen: the weights that next predictions are made with, if not θ."""
        data = TensorBatch.of(batch, next(iter(theta.values())).dtype)
        shift = (data.shift.row, data.shift.weight, data.shift.constant)
        given = tuple(part for part in (data.action, data.next_action) if part is not None)
        if self.actions == 1:
            given = ()
        elif data.action is None:
            raise ValueError(f"batch.action must be given when actions={self.actions}, got None")
        (g_theta, g_w), parts = self._lanes(theta, w, frozen or {}, data.x, data.x_next, shift, data.rho, given)
        if self.rule.w_decay:
            g_w = {name: g_w[name] - self.rule.w_decay * w[name] for name in g_w}
        return g_theta, g_w, parts

    def _objective(
        self,
        theta: Parameters,
        w: Parameters,
        frozen: Parameters,
        x: Tensor,
        x_next: Tensor,
        shift: tuple[Tensor, ...],
        rho: Tensor,
        given: tuple[Tensor, ...],
    ) -> tuple[Tensor, Parts]:
        """What step.py differentiates, of one lane: its gradient is (G_θ, G_w).

        given   the action, and the next one if the batch says it  [batch]
        """

        def outputs(parameters: Parameters, inputs: Tensor) -> Tensor:
            y = functional_call(self.module, parameters, (inputs,))
            return y.unflatten(-1, (self.actions, -1)) if given else y

        def taken(parameters: Parameters) -> Tensor:
            y = outputs(parameters, x)
            return _chosen(y, given[0]) if given else y

        maps, y = Shift(*shift), None
        if self.uses_w:
            f, u = prediction_and_tangent(self.rule, lambda at: self._head(taken(at)), theta, w)
        else:
            y = taken(theta)
            f = self._head(y)
            u = torch.zeros_like(f)
        f_next = self._head(outputs(frozen or (theta if self.follows else detached(theta)), x_next))
        if given:
            following = given[1] if len(given) > 1 else self._value(f_next.detach()).argmax(-1)
            f_next = _chosen(f_next, following)
        parts = parts_of(self.rule, maps, f, f_next, u, rho)
        if self.metric == "kl" and y is not None:  # KL's cotangent, through softmax: the differences of p
            p = parts[2]
            ends = torch.zeros_like(p[..., :1])
            return (torch.diff(p, dim=-1, prepend=ends, append=ends) * y).sum() / x.shape[0], parts
        return weighed(parts, maps, f, f_next, u), parts


def _chosen(f: Tensor, action: Tensor) -> Tensor:
    """[batch, n] of [batch, actions, n]: the prediction of each sample's action."""
    return torch.take_along_dim(f, action[:, None, None], 1)[:, 0]
