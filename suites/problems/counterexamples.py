"""Small problems on which semi-gradient TD, or its dynamic program, fails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dgtd.algorithms.checks import within
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.problem import Problem

if TYPE_CHECKING:
    import torch


def baird() -> Problem:
    """Baird's star: seven states, eight features, TD diverges at every step size."""
    dashed, solid = 0, 1
    rows = [(s, dashed, 1 / 6, to, 0.0, False) for s in range(7) for to in range(6)]
    rows += [(s, solid, 1.0, 6, 0.0, False) for s in range(7)]
    features = np.zeros((7, 8))
    features[range(6), range(6)] = 2.0
    features[:6, 7] = 1.0
    features[6, 6:] = [1.0, 2.0]
    policies = np.tile([6 / 7, 1 / 7], (7, 1)), np.tile([0.0, 1.0], (7, 1))
    mdp = FiniteMDP.of_rows("baird", rows, 0.99, features, policies, [1, 1, 1, 1, 1, 1, 10, 1])
    return Problem(mdp, "Baird's star, 7 states", "Baird 1995; Sutton & Barto, 2nd ed., §11.2", (-1.0, 1.0))


def two_state(right: float = 0.5) -> Problem:
    """θ → 2θ: two states, one feature; TD's mean diverges at every step size. Behaviour goes right with this chance."""
    within("right", right, 0.0, 1.0)
    rows = [(s, to, 1.0, to, 0.0, False) for s in (0, 1) for to in (0, 1)]
    policies = np.tile([1 - right, right], (2, 1)), np.tile([0.0, 1.0], (2, 1))
    mdp = FiniteMDP.of_rows("two_state", rows, 0.9, np.array([[1.0], [2.0]]), policies, [10])
    return Problem(mdp, "θ → 2θ, two states", "Tsitsiklis & Van Roy 1996; Sutton & Barto, 2nd ed., §11.1", (-1.0, 1.0))


def tsitsiklis_van_roy(epsilon: float = 0.01, gamma: float = 0.99) -> Problem:
    """Least-squares dynamic programming diverges when γ > 5/(6 − 4ε); transitions are i.i.d., half from each state."""
    within("epsilon", epsilon, 0.0, 1.0)
    rows = [(0, 0, 1.0, 1, 0.0, False), (1, 0, 1 - epsilon, 1, 0.0, False), (1, 0, epsilon, 1, 0.0, True)]
    X, half = np.array([[1.0], [2.0]]), np.array([0.5, 0.5])
    mdp = FiniteMDP.of_rows("tsitsiklis_van_roy", rows, gamma, X, theta_initial=[1], weights=half)
    source = "Tsitsiklis & Van Roy 1996; Sutton & Barto, 2nd ed., example 11.1"
    return Problem(mdp, "Tsitsiklis and Van Roy's two states, with an exit", source, (-1.0, 1.0))


def kolter(epsilon: float = 0.01, offset: float = 0.01) -> Problem:
    """Kolter's two states, `offset` away from the distribution at which A = 0 and the TD fixed point is infinite."""
    at = 2961 + 45240 * epsilon + 40400 * epsilon**2
    p = at / (4141 + 84840 * epsilon + 40400 * epsilon**2) + offset
    within("p(epsilon) + offset", p, 0.0, 1.0)
    reward = (-0.01475, 0.03525)
    rows = [(s, 0, 0.5, to, reward[s], False) for s in (0, 1) for to in (0, 1)]
    mdp = FiniteMDP.of_rows("kolter", rows, 0.99, np.array([[1.0], [1.05 + epsilon]]), weights=np.array([p, 1 - p]))
    return Problem(mdp, "Kolter's two states: a bad d ruins the fixed point", "Kolter 2011", (-2.0, 4.0))


SPIRAL_A = (100.0, -70.0, -30.0)
# A quarter turn of SPIRAL_A about (1, 1, 1), in the order that fits s → s or s + 1. Swapping the last two, as public
# code does, is not a rotation, and with it TD does not diverge.
SPIRAL_B = (23.094, 75.056, -98.15)


def spiral_network(rate: float = 0.866, growth: float = 0.05, theta: float = 0.0) -> torch.nn.Module:
    """V_θ(s) = (a_s cos λθ − b_s sin λθ) e^{εθ}, from a one-hot state."""
    import torch

    class Spiral(torch.nn.Module):
        a: torch.Tensor
        b: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.theta = torch.nn.Parameter(torch.tensor([theta], dtype=torch.float64))
            self.register_buffer("a", torch.tensor(SPIRAL_A, dtype=torch.float64))
            self.register_buffer("b", torch.tensor(SPIRAL_B, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            turn = self.a * torch.cos(rate * self.theta) - self.b * torch.sin(rate * self.theta)
            return (x @ turn * torch.exp(growth * self.theta))[..., None]

    return Spiral()


def spiral() -> Problem:
    """The spiral: one parameter, nonlinear, on-policy; TD's parameter diverges along it.

    Judge divergence by the running maximum of RMS V and convergence by RMS V, never by θ.
    """
    rows = [(s, 0, 0.5, to, 0.0, False) for s in range(3) for to in (s, (s + 1) % 3)]
    mdp = FiniteMDP.of_rows("spiral", rows, 0.9, np.eye(3), theta_initial=SPIRAL_A)
    source = "Tsitsiklis & Van Roy 1997; Bhatnagar et al. 2009"
    bound = math.ceil(max(map(abs, SPIRAL_A + SPIRAL_B)) / 10) * 10.0
    return Problem(mdp, "the spiral: a nonlinear value with one parameter", source, (-bound, bound), spiral_network)


WHEEL = 4  # states


def wheel_network(inputs: int = WHEEL, outputs: int = 1, theta: float = 0.0) -> torch.nn.Module:
    """V_θ(s) = 2 cos(θ + 2πs/n), from a one-hot state; as a law, logits z_j V_θ(s) with z_j from −1 to 1."""
    import torch

    class Wheel(torch.nn.Module):
        spokes: torch.Tensor
        tilt: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.theta = torch.nn.Parameter(torch.tensor([theta], dtype=torch.float64))
            turn = 2 * math.pi * torch.arange(inputs, dtype=torch.float64) / inputs
            self.register_buffer("spokes", turn)
            ends = (-1.0, 1.0) if outputs > 1 else (1.0, 1.0)
            self.register_buffer("tilt", torch.linspace(*ends, outputs, dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x @ (2.0 * torch.cos(self.theta + self.spokes)))[..., None] * self.tilt

    return Wheel()


def wheel(push: float = 0.5) -> Problem:
    """The wheel: one parameter, an angle. The best J is not 0, so w* is not 0 there, and TD turns for ever.

    On a ring of n states one stays or goes on, with a reward of push · cos(2πs/n). With V = R cos(θ + 2πs/n)

        E[φδ] = κ − A sin θ        κ = γR²/4 · sin(2π/n)        A = R push/2

    has no zero if A < κ: TD has no fixed point, and √J = √2/R · |κ − A sin θ| is smallest at θ = π/2.
    """
    within("push", push, 0.0, 0.8)
    angles = 2 * np.pi * np.arange(WHEEL) / WHEEL
    rows = [(s, 0, 0.5, to, push * math.cos(angles[s]), False) for s in range(WHEEL) for to in (s, (s + 1) % WHEEL)]
    mdp = FiniteMDP.of_rows("wheel", rows, 0.9, np.eye(WHEEL), theta_initial=2.0 * np.cos(angles))
    summary = "the wheel: a nonlinear prediction with one angle; the best J is not 0"
    bound = 11.0 * max(push, 0.1)  # a return is at most 10 push
    return Problem(mdp, summary, "ours, after Tsitsiklis & Van Roy 1997", (-bound, bound), wheel_network)
