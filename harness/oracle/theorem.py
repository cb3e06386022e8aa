"""Theorem 1 as numbers: how far a rule's exact mean update is from the theorem's. Used by suite and battery."""

import numpy as np
from numpy.typing import ArrayLike

from dgtd.algorithms.checks import Floats, Integers, integers
from dgtd.algorithms.fast.mlp import MlpEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.stepping import check_steps
from dgtd.algorithms.streams import generator
from dgtd.harness.oracle.mdp import FiniteMDP, mix
from dgtd.harness.oracle.moments import Expected, Moments
from dgtd.harness.oracle.objectives import Objective, flat, linear, mlp
from dgtd.harness.oracle.problem import Problem

EXACT = 1e-8  # relative: rounding is at 1e-12, a wrong term at 1e-2


def linear_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """A linear predictor on 5 atoms at a random θ."""
    target = problem.target(target_kind, atoms=5)
    predictor = linear(problem.mdp.features, target.outputs)
    return Objective(problem.mdp, target, predictor), generator(seed, purpose="point").normal(size=predictor.size)


def network_case(problem: Problem, target_kind: str, seed: int) -> tuple[Objective, Floats]:
    """One hidden layer of 3, 5 atoms, a pinned logit, random weights."""
    target = problem.target(target_kind, atoms=5)
    engine = MlpEngine(gtd2, (problem.mdp.features.shape[1], 3), target, pinned=True)
    theta = flat(engine.init([generator(seed, purpose="weights")]))
    return Objective(problem.mdp, target, mlp(engine, problem.mdp.features)), theta


def small_problem() -> Problem:
    """Six states, two actions, off-policy, drawn once: for checks that need any problem, even if none is installed."""
    rng = generator(0, purpose="small problem")
    P = rng.dirichlet(np.ones(6), size=(6, 2))
    target, behaviour = rng.dirichlet(np.ones(2), size=(2, 6))
    mdp = FiniteMDP.from_arrays(
        "small", P, rng.normal(size=P.shape), gamma=0.8, behaviour=mix(behaviour, 0.3), target=target,
        features=rng.normal(size=(6, 3)), theta_initial=np.zeros(3),
    )  # fmt: skip
    return Problem(mdp, "six states drawn once", "for checks", (-6.0, 6.0))


def solves_w_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """‖E[Δw]‖ at w*(θ), as a share of GTD2's at w = 0; 1 if w is never updated."""
    w = objective.optimal_w(theta)
    at_optimum = np.abs(objective.mean_update(rule, theta, w)[1]).max()
    at_zero = np.abs(objective.mean_update(rule, theta, 0 * w)[1]).max()
    pull = np.abs(objective.mean_update(gtd2, theta, 0 * w)[1]).max()
    # If w never moves, its update is 0 everywhere, and it solves nothing.
    return float(at_optimum / pull) if at_zero > 1e-6 * pull else 1.0


def descends_error(rule: Rule, objective: Objective, theta: Floats) -> float:
    """How far E[Δθ] at w*(θ) is from −½∇J, as a share of its size."""
    d_theta, _ = objective.mean_update(rule, theta, objective.optimal_w(theta))
    return relative_error(d_theta, -0.5 * objective.gradient(theta))


def relative_error(found: Floats, expected: Floats) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


LARGEST = 1100  # rows of the map: a squaring takes a tenth of a second


def at_horizon(
    moments: Moments, alpha: float, beta: float, times: ArrayLike, *, metrics: tuple[str, ...] = (),
    average: bool = False, theta: Floats | None = None,
) -> Expected:  # fmt: skip
    """As Moments.run, by powers of the map; θ₀ … θ_{n−1} are averaged."""
    check_steps(alpha, beta)
    if not moments.mdp.iid:
        raise ValueError("powers are for independent transitions: along trajectories use Moments.run")
    d = moments.size
    side = 3 * d + 1
    if side * side > LARGEST:
        raise ValueError(f"powers are for small problems: {side}² rows here, at most {LARGEST}")
    at, names = np.unique(integers("times", times)), metrics or moments.target.metrics
    step = _map(moments, alpha, beta)
    y = np.zeros(side)
    y[:d], y[-1] = moments.start(theta).ravel(), 1.0
    first = np.outer(y, y).ravel()
    forms, out, means = moments.forms(names), np.full((len(at), len(names)), np.nan), np.full((len(at), d), np.nan)
    for i, found in enumerate(_powers(step, first, at)):
        if not np.isfinite(found).all() or np.abs(found).max() > 1e200:
            return Expected(at, moments.predictions(means), out, names, int(at[i]))
        second = found.reshape(side, side)
        averaged = average and at[i] > 0
        block, scale = (slice(2 * d, 3 * d), 1.0 / at[i]) if averaged else (slice(0, d), 1.0)
        means[i] = second[block, -1] * scale
        squares = np.einsum("mab,ab->m", forms.square, second[block, block]) * scale**2
        out[i] = squares + forms.line @ means[i] + forms.constant
    return Expected(at, moments.predictions(means), out, names, -1)


def _map(moments: Moments, alpha: float, beta: float) -> Floats:
    """E[N ⊗ N], with y ← N y."""
    d = moments.size
    side = 3 * d + 1
    total = np.zeros((side * side, side * side))
    for chance, inner, push in moments.written_out(alpha, beta):
        N = np.eye(side)
        N[: 2 * d, : 2 * d] = inner
        N[: 2 * d, -1] = push
        N[2 * d : 3 * d, :d] += np.eye(d)  # the sum takes θ before the step
        total += chance * np.kron(N, N)
    return total


def _powers(step: Floats, first: Floats, times: Integers) -> list[Floats]:
    """step^n first for each n, each from the last one, by its binary digits."""
    out, now, done, squares = [], first, 0, [step]
    for n in times:
        left, digit = int(n) - done, 0
        with np.errstate(all="ignore"):
            while left:
                if digit == len(squares):
                    squares.append(squares[-1] @ squares[-1])
                if left & 1:
                    now = squares[digit] @ now
                left, digit = left >> 1, digit + 1
        done = int(n)
        out.append(now)
    return out
