"""Distributional Greedy-GQ is Algorithm 3 as the paper has it: one atom after the other, each with its own gradient.

Nothing of ours is used but the engine under test. The network, its law, F((z_j − r)/γ) as a step function (our
`floor`) and both updates are written out here.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.streams import generator, generators
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest
from dgtd.suites.control.published import ACTIONS, HIDDEN, INPUTS, LANES, transitions

SOURCE = "paper, Algorithm 3"
EXACT = 1e-12
ATOMS = 7
LAW = CdfTarget(0, 10, ATOMS, "floor")
ETAS = (0.0, 0.5, 1.0)


def claims() -> list[Claim]:
    """Each η, one whose correction has the wrong sign, and η = 0 against Q-learning."""
    made = []
    for eta in ETAS:
        says = f"distributional Greedy-GQ({eta:g}) moves θ and w as Algorithm 3 does, written out atom by atom"
        made.append(Claim(f"control/atom-by-atom/greedy_gq({eta:g})", says, SOURCE, partial(differs, eta, eta)))
    other, wrong = "so does one whose correction has the other sign", partial(differs, 0.5, -0.5)
    made.append(Claim("control/control/atom-by-atom/sign", other, SOURCE, wrong, control=True))
    says = "with η = 0 θ moves as in distributional Q-learning: semi-gradient TD towards the greedy action's law"
    return [*made, Claim("control/atom-by-atom/q-learning", says, SOURCE, is_q_learning)]


def engine(rule: Any) -> ReplayEngine:
    return ReplayEngine(rule, (INPUTS, *HIDDEN), LAW, dtype=torch.float64, actions=ACTIONS, activation="tanh")


def points(ours: ReplayEngine, setting: Setting) -> tuple[Floats, Floats, Transitions]:
    """Random θ, w and transitions."""
    rng = generator(setting.seed, suite="control", which="atoms")
    theta = ours.start(generators(setting.seed, range(LANES), suite="control", which="atoms"))
    return theta, rng.normal(size=theta.shape), transitions(rng)


def differs(eta: float, written: float, setting: Setting) -> Finding:
    """The largest difference of a direction of ours from Algorithm 3's with η as it is written."""
    ours = engine(rules.greedy_gq(eta))
    theta, w, drawn = points(ours, setting)
    g_theta, g_w, _ = ours.gradients(theta, w, drawn)
    worst = 0.0
    for lane in range(LANES):
        moves = np.zeros((2, theta.shape[1]))
        for i in range(drawn.action.shape[1]):
            moves += atom_by_atom(ours.shapes, theta[lane], w[lane], Transitions(*(p[lane, i] for p in drawn)), written)
        moves /= drawn.action.shape[1]
        worst = largest(worst, np.abs(-g_theta[lane] - moves[0]), np.abs(g_w[lane] - moves[1]))
    return exactly(worst, EXACT, f"the moves of θ and w are off by {worst:.1e}")


def atom_by_atom(shapes: list[tuple[int, int]], theta: Floats, w: Floats, one: Any, eta: float) -> Floats:
    """[2, d]: what Algorithm 3 adds to θ and to w for one transition, without step sizes."""
    flat = torch.tensor(theta, requires_grad=True)
    z = np.linspace(0, 10, ATOMS)
    here, there = (cumulated(shapes, flat, x) for x in (one.x, one.x_next))
    masses = np.diff(there.detach().numpy(), prepend=0.0)
    best = int(np.argmax(masses @ z))
    moved, climbed = np.zeros_like(theta), np.zeros_like(theta)
    for j in range(ATOMS):
        f, phi = value_and_gradient(here[int(one.action)][j], flat)
        if one.discount > 0:
            at_or_below = int((z <= (z[j] - one.reward) / one.discount + 1e-9).sum())
            g, phi_next = value_and_gradient(there[best][at_or_below - 1], flat) if at_or_below else (0.0, 0 * phi)
        else:  # the return is the reward
            g, phi_next = float(z[j] >= one.reward), 0 * phi
        delta, along = g - f, float(phi @ w)
        climbed += (delta - along) * phi
        moved += delta * phi - eta * phi_next * along
    return np.stack([moved, climbed])


def cumulated(shapes: Sequence[tuple[int, int]], flat: torch.Tensor, x: Any, actions: int = ACTIONS) -> torch.Tensor:
    """[actions, atoms]: F(z_j) of every action, from a network of tanh units whose biases are the last rows."""
    at, h = 0, torch.tensor(x, dtype=torch.float64)
    for i, (rows, columns) in enumerate(shapes):
        layer = flat[at : at + rows * columns].reshape(rows, columns)
        at += rows * columns
        h = h @ layer[:-1] + layer[-1]
        h = torch.tanh(h) if i < len(shapes) - 1 else h
    return torch.softmax(h.reshape(actions, -1), -1).cumsum(-1)


def value_and_gradient(number: torch.Tensor, flat: torch.Tensor) -> tuple[float, Floats]:
    """F at an atom, and φ there."""
    (gradient,) = torch.autograd.grad(number, flat, retain_graph=True)
    return float(number.detach()), gradient.numpy()


def is_q_learning(setting: Setting) -> Finding:
    """G_θ of both, bootstrapping from themselves."""
    ours, theirs = engine(rules.greedy_gq(0.0)), engine(rules.td)
    theta, w, drawn = points(ours, setting)
    worst = largest(np.abs(ours.gradients(theta, w, drawn)[0] - theirs.gradients(theta, w, drawn)[0]))
    return exactly(worst, EXACT, f"the directions of θ are off by {worst:.1e}")
