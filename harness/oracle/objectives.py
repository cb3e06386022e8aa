"""Exact objectives of any predictor, by enumeration: F, its Jacobian, w*(θ), D-MSPBE, and the mean update of any rule.

A predictor is a function of one flat vector θ that gives F [states, n] at once. Value or CDF, linear, MLP or module:
one path for all. With the engines it shares the rule, the target and a network's forward pass; derivatives come from
torch.func, and means are sums over the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import functional_call, grad, jacrev, jvp, vjp, vmap

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.targets import Target, ValueTarget
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.oracle.returns import Backup

MANY = 256  # parameters, above which C's eigenvalues are used
# Below these shares of the largest singular value of D^½Φ a direction counts as null, as softmax's shift does. Null
# ones come out at 1e-16, or at 1e-8 if eigenvalues of C are used. Of a hundred random networks two have one below 1e-5
# that is not null, and to drop it costs 1e-7 of E[Δw].
NULL, NULL_BY_EIGENVALUES = 1e-8, 1e-5
# A rank counts what is not null, however small: of 640 random networks of 23 weights one has a direction at 1.4e-6.
NULL_OF_RANK = 1e-10


@dataclass(frozen=True)
class Predictor:
    """at(θ, x) → f [n] for one input x; `inputs` [states, k] is what it sees of each state; `size` is d."""

    at: Callable[[Tensor, Tensor], Tensor]
    inputs: Tensor
    size: int

    def all(self, theta: Tensor) -> Tensor:
        """F [states, n]."""
        return vmap(self.at, (None, 0))(theta, self.inputs)

    def jacobian(self, theta: Tensor) -> Tensor:
        """Φ [states, n, d], state by state: a row depends on its own state only."""
        return vmap(jacrev(self.at), (None, 0))(theta, self.inputs)

    def __call__(self, theta: ArrayLike) -> Floats:
        """F [states, n] as an array."""
        return self.all(torch.as_tensor(np.asarray(theta, dtype=float).ravel())).numpy()


def linear(features: ArrayLike, outputs: int = 1) -> Predictor:
    """f = Θφ, with Θ [n, k] flattened row by row, as the linear engine lays it out."""
    X = torch.as_tensor(np.asarray(features, dtype=float))
    return Predictor(lambda theta, x: theta.reshape(outputs, -1) @ x, X, outputs * X.shape[1])


def mlp(engine: MlpEngine, inputs: ArrayLike) -> Predictor:
    """An MlpEngine's network; `flat` makes θ of its weights."""
    shapes = [(rows + 1, columns) for rows, columns in zip(engine.sizes[:-1], engine.sizes[1:], strict=True)]
    size = sum(rows * columns for rows, columns in shapes)

    def at(theta: Tensor, x: Tensor) -> Tensor:
        parts = theta.split([rows * columns for rows, columns in shapes])
        weights = [part.reshape(1, *shape) for part, shape in zip(parts, shapes, strict=True)]
        return engine.predict(weights, x[None, None])[0, 0]

    return Predictor(at, torch.as_tensor(np.asarray(inputs, dtype=float)), size)


def module(engine: ModuleEngine, inputs: ArrayLike) -> Predictor:
    """Any module, its parameters flattened in the order in which it names them."""
    named = dict(engine.module.named_parameters())

    def at(theta: Tensor, x: Tensor) -> Tensor:
        parts = theta.split([value.numel() for value in named.values()])
        values = {name: part.reshape(named[name].shape) for name, part in zip(named, parts, strict=True)}
        return engine.predict(functional_call(engine.module, values, (x[None],)))[0]

    size = sum(value.numel() for value in named.values())
    return Predictor(at, torch.as_tensor(np.asarray(inputs, dtype=float)), size)


def flat(weights: Any, lane: int = 0) -> Floats:
    """One lane of an engine's weights (array, list or dict of tensors) as a vector θ."""
    if isinstance(weights, np.ndarray):
        return weights[lane].ravel().copy()
    parts = weights.values() if isinstance(weights, dict) else weights
    return torch.cat([part[lane].reshape(-1) for part in parts]).numpy().copy()


@dataclass(frozen=True)
class Objective:
    """D-MSPBE (for a value target: MSPBE without the ½) of a predictor on a problem, and what belongs to it."""

    mdp: FiniteMDP
    target: Target
    predictor: Predictor

    def _parts(self, theta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(J, w* = C⁺E[Σφδ], D^½Φ [states·n, d]) with C = E[Σφφᵀ] = (D^½Φ)ᵀ(D^½Φ).

        By the singular values of D^½Φ: the eigenvalues of C are their squares, and lose half of the digits. With many
        parameters by the eigenvalues all the same, in less than half the time (2.1 against 4.9 s at 1500).
        """
        root = torch.as_tensor(self.mdp.d).sqrt()[:, None]
        F, phi = self.predictor.all(theta), self.predictor.jacobian(theta)
        delta = (root * self._mean_delta(F)).flatten()
        phi = (root[..., None] * phi).flatten(0, 1)
        if phi.shape[1] <= MANY:
            left, singular, right = torch.linalg.svd(phi, full_matrices=False)
            along, null = left.T @ delta, NULL
        else:
            squares, vectors = torch.linalg.eigh(phi.T @ phi)
            singular, right = squares.clamp(min=1e-300).sqrt(), vectors.T
            along, null = right @ (phi.T @ delta) / singular, NULL_BY_EIGENVALUES
        keep = singular > null * singular.max().clamp(min=1e-150)
        along = torch.where(keep, along, 0.0)
        return along @ along, right.T @ (along / torch.where(keep, singular, 1.0)), phi

    def _mean_delta(self, F: Tensor) -> Tensor:
        """E[ρ(T F(s') + t) | s] − F(s), [states, n]. E[ρ | s] = 1, so ρ need not weigh F(s)."""
        return self._backup.tensor(F) - F

    @cached_property
    def _backup(self) -> Backup:
        return Backup.of(self.mdp, self.target)

    def value(self, theta: ArrayLike) -> float:
        """J(θ)."""
        return float(self._parts(_vector(theta))[0])

    def optimal_w(self, theta: ArrayLike) -> Floats:
        """w*(θ) = C⁺E[Σφδ]."""
        return self._parts(_vector(theta))[1].numpy()

    def distance_to_optimal_w(self, theta: ArrayLike, w: ArrayLike) -> float:
        """‖w − w*(θ)‖_C."""
        return float(self._distance(_vector(theta), _vector(w)))

    def _distance(self, theta: Tensor, w: Tensor) -> Tensor:
        _, best, phi = self._parts(theta)
        return (phi @ (w - best)).norm()

    def rank(self, theta: ArrayLike) -> int:
        """The rank of E[Σφφᵀ]; Theorem 2 asks for d."""
        return int(self.spectrum(_vector(theta).numpy()[None])["rank"][0])

    def spectrum(self, theta: Floats) -> dict[str, Floats]:
        """Rank and condition number of E[Σφφᵀ] of many lanes θ [lanes, d]; NaN where a lane is not finite.

        The condition number is infinite where there are fewer equations (states times outputs) than parameters.
        """
        alive = np.isfinite(theta).all(1)
        out = {name: np.full(len(theta), np.nan) for name in ("rank", "condition")}
        if alive.any():
            phi = vmap(lambda point: self._parts(point)[2])(torch.as_tensor(theta[alive]))
            singular = torch.linalg.svdvals(phi).numpy()
            out["rank"][alive] = (singular > NULL_OF_RANK * singular[:, :1]).sum(1)
            least = singular[:, -1] if phi.shape[1] >= phi.shape[2] else np.zeros(len(phi))
            with np.errstate(divide="ignore"):
                out["condition"][alive] = (singular[:, 0] / least) ** 2
        return out

    def gradient(self, theta: ArrayLike) -> Floats:
        """∇J(θ) by differentiating the projection itself: no w, no rule.

        J = max_w 2 E[Σφδ]ᵀw − wᵀCw. At the maximiser its gradient is the partial one, for any w* (Danskin).
        """
        return self._gradient(_vector(theta)).numpy()

    def _gradient(self, at: Tensor) -> Tensor:
        w = self._parts(at)[1]

        def lagrangian(theta: Tensor) -> Tensor:
            F, u = jvp(self.predictor.all, (theta,), (w,))[:2]
            d = torch.as_tensor(self.mdp.d)[:, None]
            return (d * (2 * self._mean_delta(F) * u - u * u)).sum()

        found: Tensor = grad(lagrangian)(at)
        return found

    def along(self, theta: ArrayLike, w: ArrayLike) -> dict[str, Floats]:
        """J, ‖∇J‖ and ‖w − w*‖_C of many lanes θ, w [lanes, d] at once; NaN where one of them is not finite."""
        at, aux = (np.asarray(part, dtype=float) for part in (theta, w))
        alive = np.isfinite(at).all(1) & np.isfinite(aux).all(1)
        points, weights = torch.as_tensor(at[alive]), torch.as_tensor(aux[alive])
        out = {name: np.full(len(at), np.nan) for name in ("J", "gradient", "w_gap")}
        if alive.any():
            out["J"][alive] = vmap(lambda point: self._parts(point)[0])(points).numpy()
            out["gradient"][alive] = vmap(self._gradient)(points).norm(dim=1).numpy()
            out["w_gap"][alive] = vmap(self._distance)(points, weights).numpy()
        return out

    def field(self, rule: Rule) -> Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """(θ, w) → the exact mean of (−G_θ, G_w − κw), differentiable: a sum over (s, a, s'), nothing sampled."""
        table, predict = self.mdp.table, self.predictor.all
        state, following = torch.as_tensor(table.state), torch.as_tensor(table.next_state)
        shift = self.target.shift(table.reward, table.discount).tensors(torch.float64)
        mass, rho = torch.as_tensor(self.mdp.mass)[:, None], torch.as_tensor(table.rho)[:, None]

        def mean(theta: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
            def parts(at: Tensor, along: Tensor) -> tuple[Tensor, Tensor, Tensor]:
                F, u = jvp(predict, (at if rule.curvature else theta,), (along,))[:2]
                F = F if rule.curvature else predict(at)
                return F[state], shift.apply(F[following]), u[state]

            pulled: Any = vjp(parts, theta, w)
            (f, g, u), pull = pulled
            d_theta, d_w = pull(tuple(mass * (each + 0.0 * f) for each in rule(g - f, u, rho)))
            return -d_theta, d_w - rule.w_decay * w

        return mean

    def mean_update(self, rule: Rule, theta: ArrayLike, w: ArrayLike) -> tuple[Floats, Floats]:
        """The exact mean of (−G_θ, G_w − κw)."""
        d_theta, d_w = self.field(rule)(_vector(theta), _vector(w))
        return d_theta.numpy(), d_w.numpy()


def _vector(theta: ArrayLike) -> Tensor:
    return torch.as_tensor(np.asarray(theta, dtype=float).ravel().copy())


def facts_of(problem: Problem) -> dict[str, Any]:
    """Sizes, distribution, values, the linear problem's matrices, and the objectives where the predictor starts."""
    mdp = problem.mdp
    facts: dict[str, Any] = {
        "name": problem.name,
        "states": mdp.states,
        "actions": mdp.actions,
        "features": mdp.features.shape[1],
        "gamma": mdp.gamma,
        "d": mdp.d,
        "v": mdp.v,
    }
    if problem.network is None:
        values = mdp.features @ mdp.theta_initial
        eigenvalues = sorted(np.linalg.eigvals(mdp.A), key=lambda z: (z.real, z.imag))
        facts |= {
            "theta_initial": mdp.theta_initial,
            "theta_td": mdp.theta_td,
            "eigenvalues_A": [(float(z.real), float(z.imag)) for z in eigenvalues],
        }
        mspbe = mdp.mspbe(mdp.theta_initial)
    else:
        engine = ModuleEngine(gtd2, problem.network())
        predictor = module(engine, np.eye(mdp.states))
        theta = np.concatenate([p.detach().numpy().ravel() for p in engine.module.parameters()])
        values = predictor(theta)[:, 0]
        facts |= {"features": predictor.size, "theta_initial": theta, "theta_td": None, "eigenvalues_A": None}
        mspbe = Objective(mdp, ValueTarget(), predictor).value(theta)
    msve = mdp.msve(values)
    return facts | {
        "mspbe_initial": max(mspbe, 0.0),
        "rmspbe_initial": float(np.sqrt(max(mspbe, 0.0))),
        "msve_initial": msve,
        "rmsve_initial": float(np.sqrt(msve)),
    }
