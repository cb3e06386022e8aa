"""What lanes act by, compiled: the value of every action at one observation per lane, and ε-greedy choices.

Measured: values of 30 lanes of a 4-64-64-80 network 4.7 times as fast as torch's, choices at 6-50-30 2 times (30 lanes)
to 6.7 times (one) as fast as values and numpy.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numba import types

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.fast.compiling import (
    FASTMATH,
    Flags1,
    Floats1,
    Floats2,
    Integer,
    Integers1,
    Number,
    Reals2,
    compiled,
    inlined,
)
from dgtd.algorithms.fast.network_heads import VALUE, mean_of
from dgtd.algorithms.fast.network_kernels import apply_activation


class Stack(NamedTuple):
    """Layers  width  [layers + 1], inputs first   and the head: its kind, its actions, the atoms' places."""

    width: Integers1
    activation: Integer
    head: Integer
    actions: Integer
    support: Floats1


@inlined(FASTMATH)
def _sums(theta, at, h, rows, a, columns):
    """a ← hV, with the bias: V's rows start at `at`, the bias last."""
    bias = theta[at + rows * columns : at + (rows + 1) * columns]
    for j in range(columns):
        a[j] = bias[j]
    for i in range(rows):
        if h[i] != 0:
            row = theta[at + i * columns : at + (i + 1) * columns]
            for j in range(columns):
                a[j] += h[i] * row[j]


@inlined(FASTMATH)
def of_lane(theta, stack, room, mass, out):
    """out  [actions] of one network whose inputs stand in room[0]; room  [3, widest]   mass  [atoms]."""
    layers = stack.width.shape[0] - 1
    h, a, slope = room[0], room[1], room[2]
    at = 0
    for layer in range(layers):
        rows, columns = stack.width[layer], stack.width[layer + 1]
        _sums(theta, at, h, rows, a, columns)
        at += (rows + 1) * columns
        if layer < layers - 1:
            apply_activation(a, h, slope, np.uint64(0), np.uint64(columns), stack.activation)
    logits = stack.width[layers] // stack.actions
    for action in range(stack.actions):
        if stack.head == VALUE:
            out[action] = a[action]
        else:
            out[action] = mean_of(a[action * logits : (action + 1) * logits], mass, stack.support)


@compiled(Reals2, Reals2, Stack, Reals2, Floats1, Floats2, fastmath=True, bare=True)
def values_of_lanes(theta, x, stack, room, mass, out):
    """out  [lanes, actions]   room  [3, widest]   mass  [atoms]."""
    for lane in range(x.shape[0]):
        for i in range(x.shape[1]):
            room[0, i] = x[lane, i]
        of_lane(theta[lane], stack, room, mass, out[lane])


def values(theta: Any, x: Any, stack: Stack) -> Any:
    """[lanes, actions] at x [lanes, k], of networks with weights theta [lanes, d]."""
    out, room = np.empty((len(x), stack.actions)), np.empty((3, stack.width.max()), dtype=theta.dtype)
    mass = np.empty(len(stack.support))
    values_of_lanes.of(theta.dtype)(theta, np.ascontiguousarray(x, dtype=theta.dtype), stack, room, mass, out)
    return out


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


def encoded(x: Floats, action: Integers, actions: int) -> Floats:
    """(s, a) as the network sees it: the observation [..., k], then the action one-hot."""
    return np.concatenate([x, np.eye(actions)[action]], axis=-1)
