"""The oracle's numbers once more, with plain loops over the outcomes and dense matrices: what the oracle is held to.

Nothing here uses a formula of the modules it checks: values by iteration, visits by following the chain, the projection
by least squares, Err by a general optimiser, second moments by Kronecker products of one-step matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import CdfTarget, Target
from dgtd.harness.oracle.mdp import FiniteMDP


@dataclass(frozen=True)
class Enumerated:
    """A problem by its list of outcomes (state, action, probability, next state, reward, ends)."""

    mdp: FiniteMDP

    @cached_property
    def outcomes(self) -> list[tuple[int, int, float, int, float, bool]]:
        o = self.mdp.transitions
        columns = (o.state, o.action, o.probability, o.next_state, o.reward, o.ends)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    @cached_property
    def visits(self) -> Floats:
        """[states]: the weights if there are some; else how often the behaviour is in each state, by following it."""
        if self.mdp.weights is not None:
            return np.asarray(self.mdp.weights, dtype=float)
        size = self.mdp.states
        start = np.full(size, 1 / size) if self.mdp.start is None else np.asarray(self.mdp.start)
        move = np.zeros((size, size))
        for s, a, p, following, _, ends in self.outcomes:
            move[s] += self.mdp.behaviour[s, a] * p * (start if ends else np.eye(size)[following])
        lazy = 0.5 * (np.eye(size) + move)  # the same stationary distribution, and no period
        for _ in range(40):
            lazy = lazy @ lazy
            lazy /= lazy.sum(1, keepdims=True)  # or forty squarings lose seven digits
        found: Floats = start @ lazy
        return found

    @cached_property
    def values(self) -> Floats:
        """[states]: v of the target policy, by iterating the Bellman equation."""
        return self._settled(self.backup)

    def _settled(self, step: Callable[[Floats], Floats]) -> Floats:
        """Where a step repeated from 0 stands still."""
        now = np.zeros(self.mdp.states)
        for _ in range(20_000):
            after = step(now)
            if np.abs(after - now).max() < 1e-15 * max(1.0, np.abs(now).max()):
                break
            now = after
        return now

    def backup(self, v: Floats) -> Floats:
        """E_π[r + γ v(s')] of each state."""
        after = np.zeros(self.mdp.states)
        for s, a, p, following, reward, ends in self.outcomes:
            after[s] += self.mdp.target[s, a] * p * (reward + (0.0 if ends else self.mdp.gamma * v[following]))
        return after

    @cached_property
    def second_moments(self) -> Floats:
        """[states]: E[G²] of the target policy's return, by iterating its own equation."""
        v, gamma = self.values, self.mdp.gamma

        def step(m: Floats) -> Floats:
            after = np.zeros_like(m)
            for s, a, p, following, r, ends in self.outcomes:
                rest = 0.0 if ends else 2 * r * gamma * v[following] + gamma**2 * m[following]
                after[s] += self.mdp.target[s, a] * p * (r * r + rest)
            return after

        return self._settled(step)

    def key_matrices(self) -> tuple[Floats, Floats, Floats]:
        """A = E[ρφ(φ − γφ')ᵀ], b = E[ρrφ] and C = E[φφᵀ], outcome by outcome."""
        X, k = self.mdp.features, self.mdp.features.shape[1]
        A, b, C = np.zeros((k, k)), np.zeros(k), np.zeros((k, k))
        for s, a, p, following, r, ends in self.outcomes:
            share = self.visits[s] * self.mdp.behaviour[s, a] * p
            ratio = self.mdp.target[s, a] / self.mdp.behaviour[s, a] if share else 0.0
            A += share * ratio * np.outer(X[s], X[s] - (0.0 if ends else self.mdp.gamma) * X[following])
            b += share * ratio * r * X[s]
            C += share * np.outer(X[s], X[s])
        return A, b, C

    def law_backup(self, F: Floats, target: Target) -> Floats:
        """E_π[T F(s') + t] of each state, F [states, n]; of a linear predictor's F from law to law."""
        after, at_0 = np.zeros_like(F), law_of_0(target)
        on_laws = replace(target, linear=False) if isinstance(target, CdfTarget) else target
        for s, a, p, following, reward, ends in self.outcomes:
            shift = on_laws.shift(reward, 0.0 if ends else self.mdp.gamma)
            backed = shift.matrix() @ (F[following] + at_0) + shift.constant - at_0
            after[s] += self.mdp.target[s, a] * p * backed
        return after

    def projected_norm(self, error: Floats) -> float:
        """‖Πe‖ in the visits' norm, by least squares."""
        root = np.sqrt(self.visits)
        X = root[:, None] * self.mdp.features
        coefficients = np.linalg.lstsq(X, root * error, rcond=1e-12)[0]
        return float(np.linalg.norm(X @ coefficients))

    def metrics(self, F: Floats, target: Target, law: Floats | None = None) -> dict[str, float]:
        """Of one prediction F [states, n]; `law` [states, n] is the true one, where it is known."""
        v = F[:, 0]
        if isinstance(target, CdfTarget):
            v = np.array([target.support @ np.diff([0.0, *row, 1.0]) for row in F + law_of_0(target)])
        out = {
            "rmspbe": self.projected_norm(self.backup(v) - v),
            "rmsve": float(np.sqrt(sum(d * (x - y) ** 2 for d, x, y in zip(self.visits, v, self.values, strict=True)))),
            "size": float(np.sqrt(sum(x * x for x in v) / len(v))),
        }
        if isinstance(target, CdfTarget):
            gap = self.law_backup(F, target) - F
            out["rdmspbe"] = float(np.sqrt(sum(self.projected_norm(column) ** 2 for column in gap.T)))
            if law is not None:
                squares = target.spacing * ((F + law_of_0(target) - law) ** 2).sum(1)
                out["cramer"] = float(np.sqrt(self.visits @ squares))
            out["improper"] = float(np.mean([not is_law(row) for row in F + law_of_0(target)]))
        return out


def law_of_0(target: Target) -> Floats:
    """What a linear predictor's outputs are added to: mass 1 − |z|/Δz at the atoms z next to 0. Else nothing."""
    if not (isinstance(target, CdfTarget) and target.linear):
        return np.zeros(target.outputs)
    return np.cumsum(np.maximum(0.0, 1.0 - np.abs(target.support) / target.spacing))[:-1]


def is_law(F: Floats) -> bool:
    """Between 0 and 1, and rising."""
    return bool((F >= -1e-9).all() and (F <= 1 + 1e-9).all() and (F[1:] >= F[:-1] - 1e-9).all())


def saddle_error(A: Floats, b: Floats, C: Floats, R: float, theta: Floats, w: Floats) -> float:
    """max over ‖w'‖ ≤ R of L(θ, w') minus min over ‖θ'‖ ≤ R of L(θ', w), L = ⟨b − Aθ, w⟩ − ½‖w‖²_C, by an optimiser."""

    def L(at: Floats, aux: Floats) -> float:
        return float((b - A @ at) @ aux - 0.5 * aux @ C @ aux)

    inside = {"type": "ineq", "fun": lambda x: R * R - x @ x, "jac": lambda x: -2 * x}
    options = {"maxiter": 500, "ftol": 1e-15}

    def best(objective: object, start: Floats) -> float:
        tries = [start, np.zeros_like(start), 0.5 * R * start / max(float(np.linalg.norm(start)), 1e-12)]
        return min(
            float(minimize(objective, x, method="SLSQP", constraints=[inside], options=options).fun) for x in tries
        )

    highest = -best(lambda aux: -L(theta, aux), b - A @ theta)
    lowest = best(lambda at: L(at, w), A.T @ w)
    return highest - lowest


def one_step_matrices(rule: Rule, mdp: FiniteMDP, target: Target, alpha: float, beta: float) -> Floats:
    """M [outcomes, 2d, 2d]: one step of the linear engine as a black box, column by column (the step is affine)."""
    table, k, n = mdp.table, mdp.features.shape[1], target.outputs
    count, d = len(table.probability), n * k
    batch = table.batch(np.arange(count)[:, None], mdp.features, target)

    def step(point: Floats) -> Floats:
        theta, w = (
            np.array(np.broadcast_to(part.reshape(n, k), (count, n, k)), order="C") for part in np.split(point, 2)
        )
        g_theta, g_w = directions(rule, theta, w, batch)
        moved = [theta - alpha * g_theta, w + beta * g_w]
        return np.concatenate([part.reshape(count, d) for part in moved], axis=1)

    origin = step(np.zeros(2 * d))
    return np.stack([step(row) - origin for row in np.eye(2 * d)], axis=2)


def second_moment_radius(
    rule: Rule, mdp: FiniteMDP, target: Target, alpha: float, beta: float, trajectory: bool = False
) -> float:
    """The spectral radius of E[M ⊗ M], or along trajectories of its state-indexed form, by dense matrices.

    For features of full rank: off their row space nothing moves, and the radius would be 1.
    """
    M, table = one_step_matrices(rule, mdp, target, alpha, beta), mdp.table
    square = np.stack([np.kron(each, each) for each in M])
    seen = Enumerated(mdp).visits
    if not trajectory or mdp.iid:
        mean = np.tensordot(seen[table.state] * table.probability, square, axes=1)
        return float(np.abs(np.linalg.eigvals(mean)).max())
    size, S = square.shape[1], mdp.states
    whole = np.zeros((S, size, S, size))
    for o in range(len(M)):
        to = table.start if table.ends[o] else np.eye(S)[table.next_state[o]]
        whole[:, :, table.state[o], :] += to[:, None, None] * table.probability[o] * square[o]
    return float(np.abs(np.linalg.eigvals(whole.reshape(S * size, S * size))).max())
