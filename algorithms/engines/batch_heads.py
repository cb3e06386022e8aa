"""The head for batches with actions, compiled: greedy action, Bellman shift, δ, rule and pull-back in one pass.

The last layer's outputs are stacked as in the mlp engine, [x; x'; R], B rows of each; a learner without w has the first
B rows only, and its next outputs come from elsewhere (a frozen network). One sample is what the small engine does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from algorithms.checks import Floats
from algorithms.compiling import FASTMATH, Flag, Floats1, Floats2, Floats3, Integer, Integers2, compiled, inlined
from algorithms.engines import network_heads
from algorithms.engines.kernels import RuleFunction, Sample, Samples
from algorithms.engines.network_heads import VALUE, Atoms, atoms_of
from algorithms.targets import TOLERANCE

PROJECTIONS = ("cramer", "nearest", "floor")


class Setup(NamedTuple):
    """What all samples share. `coefficients` [1, 3, 2] of a linear rule; kl: cotangents of the KL metric (C51's)."""

    head: Integer
    actions: Integer
    projection: Integer
    kl: Flag
    curvature: Flag
    whole: Flag
    linear: Flag
    coefficients: Floats3
    support: Floats1


class Steps(NamedTuple):
    """action, reward, discount  [lanes, B]."""

    action: Integers2
    reward: Floats2
    discount: Floats2


class Room(NamedTuple):
    """To work in: one transition's T and t, and what the head knows of each atom."""

    row: Integers2
    weight: Floats3
    constant: Floats2
    atoms: Floats2
    nothing: Floats1


def room(outputs: int, logits: int) -> Room:
    """Arrays for one call."""
    n = outputs
    return Room(
        np.zeros((1, n), dtype=np.int64), np.zeros((1, 2, n)), np.zeros((1, n)),
        np.zeros((len(Atoms._fields), n + 1)), np.zeros(logits),
    )  # fmt: skip


@inlined(error_model="numpy")
def _shift(setup, reward, discount, room):
    """T and t of one transition: see targets.py, whose numpy code this repeats number by number."""
    row = room.row
    weight = room.weight
    constant = room.constant
    n = row.shape[1]
    if setup.head == VALUE:
        weight[0, 0, 0], constant[0, 0] = discount, reward
        return
    low = setup.support[0]
    spacing = (setup.support[n] - low) / n
    for k in range(n):
        row[0, k], weight[0, 0, k], weight[0, 1, k], constant[0, k] = 0, 0.0, 0.0, 0.0
    if setup.projection == 0:
        last = (reward + discount * setup.support[n] - low) / spacing
        for k in range(n):
            left = (reward + discount * setup.support[k] - low) / spacing
            cell = np.floor(left + TOLERANCE)
            inside = min(1.0 - min(max(left - cell, 0.0), 1.0), discount)
            above = discount - inside
            if cell == -1:
                weight[0, 0, k] = above
            elif 0 <= cell < n:
                weight[0, 0, k] = inside
                weight[0, 1, k] = above if cell < n - 1 else 0.0
            row[0, k] = np.int64(min(max(cell, 0.0), n - 1.0))
            constant[0, k] = min(max(k + 1 - last, 0.0), 1.0)
        return
    half = 0.5 if setup.projection == 1 else 0.0
    for j in range(n):
        z = setup.support[j]
        if discount == 0:
            constant[0, j] = 1.0 if z >= reward - TOLERANCE * spacing else 0.0
            continue
        at = ((z - reward) / discount - low) / spacing
        if at < -TOLERANCE:
            continue
        source = np.floor(min(at, 2.0 * n) + half + TOLERANCE)
        if at >= n - TOLERANCE or source >= n:
            constant[0, j] = 1.0
        else:
            row[0, np.int64(source)], weight[0, 0, np.int64(source)] = j, 1.0


@inlined(FASTMATH)
def _differences(on_f, n, c):
    """KL's cotangent of the logits: that of F, padded with 0 and differenced; for td it is p − m."""
    before = 0.0
    for j in range(n + 1):
        here = on_f[j] if j < n else 0.0
        c[j] = here - before
        before = here


def _head(y, y_next, follows, steps, setup, rule, room, out, health):
    """y, out  [lanes, rows, actions · logits]   y_next: row follows + i is sample i's   health  [lanes]: 0 or NaN."""
    lanes, size = steps.action.shape
    logits, n = y.shape[2] // setup.actions, room.row.shape[1]
    atom = atoms_of(room.atoms)
    data = Samples(
        room.atoms, room.atoms, room.row, room.weight, room.constant, setup.linear, setup.coefficients
    )  # fmt: skip
    at = Sample(0, 0, 0, 0, 1.0)
    for lane in range(lanes):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[lane, i, j] = 0.0
        for i in range(size):
            here = steps.action[lane, i] * logits
            best = network_heads._greedy(y_next[lane, follows + i], atom.p_next, setup, logits)
            there = best * logits
            _shift(setup, steps.reward[lane, i], steps.discount[lane, i], room)
            if setup.head == VALUE:
                atom.f[0], atom.f_next[0] = y[lane, i, here], y_next[lane, follows + i, there]
                atom.u[0] = y[lane, 2 * size + i, here] if setup.whole else 0.0
            elif setup.whole:
                network_heads._predict(
                    y[lane, i, here : here + logits], y_next[lane, follows + i, there : there + logits],
                    y[lane, 2 * size + i, here : here + logits], atom,
                )  # fmt: skip
            else:
                network_heads._predict(
                    y[lane, i, here : here + logits], y_next[lane, follows + i, there : there + logits], room.nothing,
                    atom,
                )  # fmt: skip
            if not network_heads._cotangents(atom, n, data, at, rule):
                health[lane] = np.nan
            if setup.head == VALUE:
                out[lane, i, here] = atom.on_f[0]
                if setup.whole:
                    out[lane, size + i, there], out[lane, 2 * size + i, here] = atom.on_next[0], atom.on_u[0]
            elif setup.whole:
                network_heads._pull_back(
                    atom, n, setup.curvature, out[lane, i, here : here + logits],
                    out[lane, size + i, there : there + logits], out[lane, 2 * size + i, here : here + logits],
                )  # fmt: skip
            elif setup.kl:
                _differences(atom.on_f, n, out[lane, i, here : here + logits])
            else:
                network_heads._exclusive(atom.on_f, atom.p, n)
                for j in range(logits):
                    out[lane, i, here + j] = atom.p[j] * atom.on_f[j]


def _kernel(number: Any) -> Any:
    cube = types.Array(number, 3, "C")
    return compiled(cube, cube, Integer, Steps, Setup, RuleFunction, Room, cube, Floats1, fastmath=True, bare=True)(
        _head
    )


_KERNELS = {np.dtype(np.float32): _kernel(types.float32), np.dtype(np.float64): _kernel(types.float64)}


def cotangents(
    y: Any, y_next: Any, follows: int, steps: Steps, setup: Setup, rule: object, outputs: int
) -> tuple[Any, Floats]:
    """Cotangents of the last layer, stacked as y is; and [lanes] a number that is not 0 where one was not finite."""
    out, health = np.empty_like(y), np.zeros(len(y))
    made = room(outputs, y.shape[2] // setup.actions)
    _KERNELS[y.dtype](y, y_next, follows, steps, setup, rule, made, out, health)
    return out, health
