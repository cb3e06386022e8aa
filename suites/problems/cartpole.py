"""A finite CartPole, from the physics: what evaluation of a frozen policy on CartPole has for an exact answer."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, whole, within
from dgtd.algorithms.streams import lane_streams
from dgtd.harness.oracle.mdp import FiniteMDP, Transitions, mix
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.places.cartpole import STEEP, Lanes, Step, move

FASTEST = 2.0  # the largest angular speed on the grid, rad/s: a push changes the speed by 0.3
NEVER = 1_000_000  # steps after which an episode is cut off


def finite_cartpole(angles: int = 13, speeds: int = 11, gamma: float = 0.9, explore: float = 0.1) -> Problem:
    """CartPole's pole on a grid of angles and speeds, as the chain of (s, a) under an ε-greedy policy.

    The pole does not feel where the cart is, so angle and speed are a world of their own; that a cart can leave its
    track is left out. One step of the compiled CartPole leads off the grid: to the four corners around, in the shares
    that keep the mean. Each step pays 1, also the one in which the pole falls. A state of the problem is a pair of
    grid point and action, as a network of policy iteration sees it. The policy pushes to where the pole leans, or moves
    where it stands upright, and with ε = `explore` anywhere: it is far from the best, so that values differ. Episodes
    start at any pair, so that none is rare. Features: angle, speed, and the action one-hot.
    """
    whole("angles", angles, 3, 101)
    whole("speeds", speeds, 3, 101)
    within("explore", explore, 0.0, 1.0)
    inner = _poles(angles, speeds, gamma)
    policy = mix(_leaning(inner.features), explore)
    places, actions = policy.shape
    features = np.concatenate(
        [np.repeat(inner.features, actions, axis=0), np.tile(np.eye(actions), (places, 1))], axis=1
    )
    mdp = FiniteMDP.of_rows(
        "finite_cartpole", _pairs(inner.transitions, policy), gamma, features,
        start=np.full(policy.size, 1.0 / policy.size),
    )  # fmt: skip
    top = round(1.0 / (1.0 - gamma), 9) if gamma < 1 else 1000.0
    words = f"CartPole's pole on {angles} angles and {speeds} speeds, {policy.size} pairs of state and action"
    return Problem(mdp, words, "Barto, Sutton & Anderson 1983; grid ours", (0.0, top))


def _poles(angles: int, speeds: int, gamma: float) -> FiniteMDP:
    """Grid points and two actions; features are angle and speed, each in [−1, 1]."""
    axes = np.linspace(-STEEP, STEEP, angles), np.linspace(-FASTEST, FASTEST, speeds)
    places = np.array(list(product(*axes)))
    rows = []
    for action in (0, 1):
        after, fell = _moved(places, action)
        for s, (to, down) in enumerate(zip(after, fell, strict=True)):
            if down:
                rows.append((s, action, 1.0, s, 1.0, True))
            else:
                rows += [(s, action, share, at, 1.0, False) for at, share in _corners(to, axes)]
    uniform = np.full((len(places), 2), 0.5)
    scaled = places / np.array([STEEP, FASTEST])
    return FiniteMDP.of_rows(
        "poles", rows, gamma, scaled, (uniform, uniform), start=np.full(len(places), 1.0 / len(places))
    )


def _leaning(places: Floats) -> Floats:
    """Right (action 1) if the pole leans there; by its speed where it is upright."""
    angle, speed = np.round(places, 9).T
    return np.eye(2)[np.where(angle != 0, angle > 0, speed >= 0).astype(int)]


def _moved(places: Floats, action: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Where the compiled CartPole leads from angles and speeds [n, 2], and whether the pole fell [n]."""
    count = len(places)
    state = np.zeros((count, 4))
    state[:, 2:] = places
    lanes = Lanes(state, np.zeros(count, dtype=np.int64), lane_streams(0, range(count)))
    out = Step(np.empty(count), np.empty(count, dtype=np.bool_), np.empty(count, dtype=np.bool_))
    shown = np.empty((2, count, 4), dtype=np.float32)
    move(*lanes, np.full(count, action), NEVER, shown[0], shown[1], *out)
    return state[:, 2:].copy(), out.terminated  # a pole that fell stands again, and is not looked at


def _corners(place: Floats, axes: tuple[Floats, Floats]) -> list[tuple[int, float]]:
    """Grid points around a place, and the share of each; a speed beyond the grid counts as its edge."""
    sides = []
    for value, axis in zip(place, axes, strict=True):
        at = np.interp(value, axis, np.arange(len(axis)))
        low = min(int(at), len(axis) - 2)
        sides.append([(low, 1.0 - (at - low)), (low + 1, at - low)])
    return [(i * len(axes[1]) + j, float(p * q)) for (i, p), (j, q) in product(*sides) if p * q > 0]


def _pairs(inner: Transitions, policy: Floats) -> list[tuple[int, int, float, int, float, bool]]:
    """The chain of (s, a): the next action is drawn by the policy. Pair (s, a) is state 2s + a."""
    actions = policy.shape[1]
    rows = []
    for s, a, chance, to, reward, ends in zip(
        inner.state, inner.action, inner.probability, inner.next_state, inner.reward, inner.ends, strict=True
    ):
        here = int(s) * actions + int(a)
        if ends:
            rows.append((here, 0, float(chance), here, float(reward), True))
        else:
            rows += [
                (here, 0, float(chance * policy[to, b]), int(to) * actions + b, float(reward), False)
                for b in range(actions)
            ]
    return rows
