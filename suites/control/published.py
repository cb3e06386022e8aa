"""Agents make the published updates: directions are the published losses' gradients and Algorithm 3's, steps Adam's."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Agent, Players
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.rules import PUBLISHED
from dgtd.algorithms.streams import generator, generators
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly, largest

AGENTS = ("dqn", "c51", "greedy_gq(0.5)")
EXACT = 1e-10


# Updates that were never published: each has a fault that our agents do not have.
FAULTS = {
    ("c51", "own-action"): "C51 bootstraps from the action that it took",
    ("c51", "truncation-as-termination"): "C51 takes an episode that was cut off for one that ended",
    ("c51", "without-gamma"): "C51's projection forgets γ",
    ("dqn", "own-action"): "DQN bootstraps from the action that it took",
    ("dqn", "truncation-as-termination"): "DQN takes an episode that was cut off for one that ended",
}


def claims() -> Iterator[Claim]:
    """Each agent's directions are its publication's; and the same check against updates that were never published."""
    own = "moves as it was published: its directions are the gradients of the published loss, by autograd"
    source = "Mnih et al. 2015; Bellemare et al. 2017"
    for name in AGENTS:
        seen = partial(directions_error, name)
        yield Claim(f"control/published/{name}", f"{name} {own}", f"{source}; paper, Algorithm 3", seen)
    for (name, fault), says in FAULTS.items():
        id_, seen = f"control/control/{name}/{fault}/published", partial(directions_error, name, fault=fault)
        yield Claim(id_, says, source, seen, control=True)


def directions_error(name: str, setting: Setting, fault: str = "") -> Finding:
    """The largest difference over random networks, transitions on and off the grid, ends among them."""
    rng = generator(setting.seed, suite="control", agent=name)
    row = PUBLISHED.get(name)
    target = CdfTarget(0, 10, 7) if row is None or row.target == "cdf" else ValueTarget()
    rule = rules.find_rule(name if row is None else row.rule)
    engine = ReplayEngine(
        rule, (4, 6, 5), target, "cramer" if row is None else row.metric, torch.float64, actions=2, activation="tanh"
    )
    theta, frozen = (engine.start(generators(setting.seed, range(2), suite="control", which=i)) for i in range(2))
    w = rng.normal(size=theta.shape)
    x, x_next = rng.normal(size=(2, 2, 8, 4)).astype(np.float32)
    reward, discount = rng.choice([-0.7, 0.0, 1.0, 2.35, 14.0], (2, 8)), rng.choice([0.0, 0.9], (2, 8))
    action = rng.integers(2, size=(2, 8))
    # Whatever the seed: two with the same reward, of which one ends; and two that lead to one place, by either action.
    # Their reward is one that leaves the law on the grid: beyond it, a law is the same whatever follows.
    reward[:, :4], discount[:, :4] = 1.0, (0.9, 0.0, 0.9, 0.9)
    x_next[:, 3], action[:, 2:4] = x_next[:, 2], (0, 1)
    drawn = Transitions(x, x_next, action, reward, discount)
    g_theta, g_w, _ = engine.gradients(theta, w, drawn, None if row is None else frozen)
    worst = 0.0
    for lane in range(2):
        weights = [part[lane : lane + 1] for part in (theta, w, frozen)]
        expected = _by_autograd(engine, name, weights, drawn, lane, fault)
        pairs = [(g_theta[lane], expected[0]), *([(g_w[lane], expected[1])] if engine.uses_w else [])]
        worst = largest(worst, *(np.abs(ours - theirs) for ours, theirs in pairs))
    return exactly(worst, EXACT, "largest difference of a direction from autograd's")


def _by_autograd(
    engine: ReplayEngine, name: str, weights: list[Any], drawn: Transitions, lane: int, fault: str = ""
) -> tuple[Any, ...]:
    """The published loss, sample by sample, and torch's own gradient of it; or one with a fault, for the controls."""
    theta, w, frozen = (torch.tensor(part) for part in weights)
    theta.requires_grad_()
    total, tangents = torch.zeros(()), torch.zeros_like(w)
    size = drawn.action.shape[1]
    cut_off = int(np.argmax(drawn.discount[lane] > 0))  # the first that goes on may as well be the last of its episode

    def predict(at: torch.Tensor, x: Any) -> torch.Tensor:
        """[actions, n] at one observation."""
        found = engine.predict(engine.layers(at), torch.tensor(x, dtype=torch.float64)[None, None])
        return found[0, 0]

    for i in range(size):
        x, x_next, action = drawn.x[lane, i], drawn.x_next[lane, i], int(drawn.action[lane, i])
        discount = drawn.discount[lane, i] > 0 if fault == "without-gamma" else drawn.discount[lane, i]
        if fault == "truncation-as-termination" and i == cut_off:
            discount = 0.0
        shift = engine.target.shift(drawn.reward[lane, i], float(discount)).tensors(torch.float64)
        f = predict(theta, x)[action]
        boot = frozen if name in PUBLISHED else theta
        following = predict(boot, x_next)
        best = int(engine.target.mean(following).argmax()) if following.shape[-1] > 1 else int(following[:, 0].argmax())
        g = shift.apply(following[action if fault == "own-action" else best])
        if name == "dqn":
            total = total + 0.5 * (g.detach() - f).square().sum()
        elif name == "c51":
            ends = torch.zeros(1), torch.ones(1)
            m, p = (torch.diff(torch.cat([ends[0], F, ends[1]])) for F in (g.detach(), f))
            total = total - (m * torch.log(p)).sum()
        else:
            at = theta.detach()
            u = torch.func.jvp(lambda point, x=x, action=action: predict(point, x)[action], (at,), (w,))[1]
            p, t, q = engine.rule((g - f).detach(), u, 1.0)
            total = total + (p * f).sum() + (t * g).sum()
            pulled = torch.func.vjp(lambda point, x=x, action=action: predict(point, x)[action], at)[1](q)[0]
            tangents = tangents + pulled
    (total / size).backward()
    assert theta.grad is not None
    return theta.grad[0].numpy(), (tangents / size)[0].numpy()


# ---------------------------------------------------------------------- updates


LANES, INPUTS, ACTIONS, BATCH = 2, 4, 2, 5
HIDDEN = (6, 5)
FROZEN, UPDATES = 5, 12  # a copy that is renewed twice
RATES = (1e-2, 0.05)
LAW = CdfTarget(0, 10, 7)
UPDATED = {
    "dqn": Agent(rules.td, ValueTarget(), frozen=FROZEN, hidden=HIDDEN),
    "c51": Agent(rules.td, LAW, "kl", frozen=FROZEN, hidden=HIDDEN),
    "greedy_gq(0.5)": Agent(rules.greedy_gq(0.5), LAW, hidden=HIDDEN),
}


def updates() -> Iterator[Claim]:
    """What an agent does with a batch: update its weights and renew its frozen copy."""
    source = "Kingma & Ba 2015; Mnih et al. 2015; paper, Algorithm 3"
    for name, agent in UPDATED.items():
        copy = f", bootstrapping from a copy renewed every {FROZEN} steps" if agent.frozen else " and ascent on w"
        says, check = f"{UPDATES} updates of {name} are Adam's on θ{copy}", partial(updates_are_adams, name)
        yield Claim(f"control/updates/{name}", says, source, check)


def transitions(rng: Any) -> Transitions:
    """Rewards on and off the grid, some of them the last of their episode."""
    x, x_next = rng.normal(size=(2, LANES, BATCH, INPUTS)).astype(np.float32)
    reward = rng.choice([-0.7, 0.0, 1.0, 2.35], (LANES, BATCH))
    return Transitions(
        x, x_next, rng.integers(ACTIONS, size=(LANES, BATCH)), reward, rng.choice([0.0, 0.9], (LANES, BATCH))
    )


def updates_are_adams(name: str, setting: Setting) -> Finding:
    """θ and w after some updates, against Adam written out on the engine's own directions."""
    agent, rng = UPDATED[name], generator(setting.seed, suite="control", updates=name)
    streams = generators(setting.seed, range(LANES), suite="control", updates=name)
    players = Players.start(agent, INPUTS, ACTIONS, streams, *RATES, torch.float64)
    engine = agent.engine(INPUTS, ACTIONS, torch.float64)
    theta, frozen, w = players.theta.copy(), players.theta.copy(), np.zeros_like(players.theta)
    moments = [np.zeros_like(theta), np.zeros_like(theta)]
    for step in range(1, UPDATES + 1):
        drawn = transitions(rng)
        players.learn(drawn, step)
        players.renew(step)
        g_theta, g_w, _ = engine.gradients(theta.copy(), w, drawn, frozen if agent.frozen else None)
        if engine.uses_w:
            w = w + RATES[1] * g_w
        theta = theta - RATES[0] * adam(moments, g_theta, step)
        if agent.frozen and step % agent.frozen == 0:
            frozen = theta.copy()
    worst = float(np.max([np.abs(players.theta - theta).max(), np.abs(players.w - w).max()]))
    return exactly(worst, 1e-9, f"after {UPDATES} updates of {LANES} lanes θ and w are off by {worst:.1e}")


def adam(moments: list[Floats], g: Floats, step: int) -> Floats:
    """Kingma & Ba's Algorithm 1: the direction of a step, and both moments in place."""
    for i, (keep, part) in enumerate(((0.9, g), (0.999, g * g))):
        moments[i] = keep * moments[i] + (1 - keep) * part
    first, second = moments[0] / (1 - 0.9**step), moments[1] / (1 - 0.999**step)
    return np.asarray(first / (np.sqrt(second) + 1e-8))


# ---------------------------------------------------------------------- Algorithm 3, one atom after the other
#
# Each atom has its own gradient, as the paper has it. Nothing of ours is used but the engine under test: the network,
# its law, F((z_j − r)/γ) as a step function (our `floor`) and both updates are written out here.

SAME = 1e-12
ATOMS = 7
FLOOR = CdfTarget(0, 10, ATOMS, "floor")
ETAS = (0.0, 0.5, 1.0)


def written_out() -> Iterator[Claim]:
    """Each η, one whose correction has the wrong sign, and η = 0 against Q-learning."""
    source = "paper, Algorithm 3"
    for eta in ETAS:
        says = f"distributional Greedy-GQ({eta:g}) moves θ and w as Algorithm 3 does, written out atom by atom"
        yield Claim(f"control/atom-by-atom/greedy_gq({eta:g})", says, source, partial(differs, eta, eta))
    says, wrong = "so does one whose correction has the other sign", partial(differs, 0.5, -0.5)
    yield Claim("control/control/atom-by-atom/sign", says, source, wrong, control=True)
    says = "with η = 0 θ moves as in distributional Q-learning: semi-gradient TD towards the greedy action's law"
    yield Claim("control/atom-by-atom/q-learning", says, source, is_q_learning)


def engine(rule: Any) -> ReplayEngine:
    return ReplayEngine(rule, (INPUTS, *HIDDEN), FLOOR, dtype=torch.float64, actions=ACTIONS, activation="tanh")


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
    return exactly(worst, SAME, f"the moves of θ and w are off by {worst:.1e}")


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
    return exactly(worst, SAME, f"the directions of θ are off by {worst:.1e}")
