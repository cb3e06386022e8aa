"""The head for batches with actions, compiled: greedy action, Bellman shift, δ, rule and pull-back in one pass.

A lane's last sums are stacked as in the mlp engine, [x; x'; R], B rows of each; a learner without w has no R, and what
follows x' gets no cotangent. One sample is what the small engine does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from algorithms.compiling import FASTMATH, Flag, Floats1, Floats2, Floats3, Integer, Integers2, helper, inlined
from algorithms.fast import network_heads
from algorithms.fast.kernels import Sample, Samples
from algorithms.fast.network_heads import VALUE, Atoms, atoms_of
from algorithms.fast.tiles import apart
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


class Head(NamedTuple):
    """To work in: one transition's T and t, and what the head knows of each atom."""

    row: Integers2
    weight: Floats3
    constant: Floats2
    atoms: Floats2


def room(outputs: int) -> Head:
    """Arrays for one lane after another."""
    n = outputs
    return Head(
        np.zeros((1, n), dtype=np.int64), np.zeros((1, 2, n)), np.zeros((1, n)),
        np.zeros((len(Atoms._fields), n + 1)),
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


@helper(FASTMATH)
def at_the_head(lane, y, steps, setup, rule, room, out):
    """From a lane's last sums y to their cotangents, averaged: out.  Both are [rows, actions · logits], see above.

    False if a number was not finite.
    """
    apart()
    size = steps.action.shape[1]
    logits, n = y.shape[1] // setup.actions, room.row.shape[1]
    atom = atoms_of(room.atoms)
    data = Samples(
        room.atoms, room.atoms, room.row, room.weight, room.constant, setup.linear, setup.coefficients
    )  # fmt: skip
    at = Sample(0, 0, 0, 0, 1.0)
    rows, share, healthy = 3 * size if setup.whole else size, 1.0 / size, True
    for i in range(rows):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    reward, discount = np.nan, np.nan
    for i in range(size):
        here = steps.action[lane, i] * logits
        following = y[size + i]
        best = network_heads._greedy(following, atom.p_next, setup, logits)
        there = best * logits
        if steps.reward[lane, i] != reward or steps.discount[lane, i] != discount:  # most follow one of their kind
            reward, discount = steps.reward[lane, i], steps.discount[lane, i]
            _shift(setup, reward, discount, room)
        if setup.head == VALUE:
            atom.f[0], atom.f_next[0] = y[i, here], following[there]
            atom.u[0] = y[2 * size + i, here] if setup.whole else 0.0
        else:  # without w the tangent is 0, as this row of `out` still is
            tangent = y[2 * size + i] if setup.whole else out[i]
            network_heads._predict(
                y[i, here : here + logits], following[there : there + logits], tangent[here : here + logits], atom
            )
        healthy &= network_heads._cotangents(atom, n, data, at, rule)
        for j in range(n):
            atom.on_f[j], atom.on_next[j], atom.on_u[j] = (
                share * atom.on_f[j],
                share * atom.on_next[j],
                share * atom.on_u[j],
            )
        if setup.head == VALUE:
            out[i, here] = atom.on_f[0]
            if setup.whole:
                out[size + i, there], out[2 * size + i, here] = atom.on_next[0], atom.on_u[0]
        elif setup.whole:
            network_heads._pull_back(
                atom, n, setup.curvature, out[i, here : here + logits],
                out[size + i, there : there + logits], out[2 * size + i, here : here + logits],
            )  # fmt: skip
        elif setup.kl:
            _differences(atom.on_f, n, out[i, here : here + logits])
        else:
            network_heads._exclusive(atom.on_f, atom.p, n)
            for j in range(logits):
                out[i, here + j] = atom.p[j] * atom.on_f[j]
    return healthy
