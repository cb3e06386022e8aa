"""What agents act by, compiled: the value of every action at one observation per lane.

For twelve lanes of a 64-64 network with 40 atoms this takes 0.07 ms, and torch took a quarter of a millisecond.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from algorithms.compiling import FASTMATH, Floats1, Floats2, Integer, Integers1, compiled, inlined
from algorithms.fast.network_heads import VALUE, mean_of
from algorithms.fast.network_kernels import apply_activation


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


def _values(theta, x, stack, room, mass, out):
    """out  [lanes, actions]   room  [3, widest]   mass  [atoms]."""
    for lane in range(x.shape[0]):
        for i in range(x.shape[1]):
            room[0, i] = x[lane, i]
        of_lane(theta[lane], stack, room, mass, out[lane])


def _kernel(number: Any) -> Any:
    matrix = types.Array(number, 2, "C")
    return compiled(matrix, matrix, Stack, matrix, Floats1, Floats2, fastmath=True, bare=True)(_values)


_KERNELS = {np.dtype(np.float32): _kernel(types.float32), np.dtype(np.float64): _kernel(types.float64)}


def values(theta: Any, x: Any, stack: Stack) -> Any:
    """[lanes, actions] at x [lanes, k], of networks with weights theta [lanes, d]."""
    out, room = np.empty((len(x), stack.actions)), np.empty((3, stack.width.max()), dtype=theta.dtype)
    mass = np.empty(len(stack.support))
    _KERNELS[theta.dtype](theta, np.ascontiguousarray(x, dtype=theta.dtype), stack, room, mass, out)
    return out
