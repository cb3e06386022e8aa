"""How lanes act ε-greedily by networks that see (s, a), compiled: one forward pass per action, then the draw."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numba import types

from algorithms.checks import Floats, Integers
from algorithms.compiling import Flags1, Floats1, Floats2, Integers1, Number, compiled
from algorithms.fast.batch_values import Stack, of_lane

Column = Annotated[Floats, types.Array(types.float64, 1, "A")]  # of an array with a row per lane


class Exploration(NamedTuple):
    """The policies' own ε  [lanes]; a lane acts with at least `behave`."""

    epsilon: Floats1
    behave: Number


class Choice(NamedTuple):
    """[rows]: the action, its ratio ρ = π/b, and what the greedy action is worth."""

    action: Integers1
    rho: Floats1
    worth: Floats1


@compiled(
    Floats2, Floats2, Column, Column, Exploration, Stack, Flags1, Floats2, Floats1, Floats1, Choice,
    fastmath=True, bare=True,
)  # fmt: skip
def choose(policy, x, explore, choice, how, stack, which, room, mass, value, out):
    """Where `which` says so, by the draws explore and choice  [rows].

    x  [rows, k], as many of each lane, lane by lane   room  [3, widest]   mass  [atoms]   value  [1]
    """
    rows, k = x.shape
    actions = stack.width[0] - k
    for row in range(rows):
        if not which[row]:
            continue
        lane = row * policy.shape[0] // rows
        greedy, best = 0, 0.0
        for action in range(actions):
            for i in range(k):
                room[0, i] = x[row, i]
            for i in range(actions):
                room[0, k + i] = 1.0 if i == action else 0.0
            of_lane(policy[lane], stack, room, mass, value)
            if action == 0 or (best == best and not value[0] <= best):  # as argmax has it: the first, or the first NaN
                greedy, best = action, value[0]
        own, wider = how.epsilon[lane], max(how.epsilon[lane], how.behave)
        taken = np.int64(choice[row] * actions) if explore[row] < wider else greedy
        hit = 1.0 if taken == greedy else 0.0
        out.action[row] = taken
        out.rho[row] = (own / actions + (1.0 - own) * hit) / (wider / actions + (1.0 - wider) * hit)
        out.worth[row] = best


@compiled(Floats2, Integers1, Floats2)
def encode(x, action, out):
    """out  [rows, k + actions] ← x  [rows, k], then the action one-hot."""
    k = x.shape[1]
    for row in range(x.shape[0]):
        for i in range(k):
            out[row, i] = x[row, i]
        for i in range(k, out.shape[1]):
            out[row, i] = 0.0
        out[row, k + action[row]] = 1.0


def encoded(x: Floats, action: Integers, actions: int) -> Floats:
    """(s, a) as the network sees it: the observation [..., k], then the action one-hot."""
    k = x.shape[-1]
    out = np.empty((*x.shape[:-1], k + actions))
    rows = np.ascontiguousarray(x, dtype=float).reshape(-1, k)
    encode(rows, np.ascontiguousarray(action).reshape(-1), out.reshape(-1, k + actions))
    return out
