"""The compiled heads: from a network's last sums to a prediction, through the rule, and back.

The same maps as heads.py, one sample at a time; and for batches with actions, where greedy action, δ, rule and
pull-back are one pass.
"""

import math
from typing import NamedTuple

import numpy as np

from dgtd.algorithms.fast.compiling import FASTMATH, Flag, Floats1, Integer, Integers2, Reals1, helper, inlined
from dgtd.algorithms.fast.elementary import EXACT, exp
from dgtd.algorithms.fast.kernels import Sample
from dgtd.algorithms.fast.tiles import apart

VALUE, CDF, PINNED = range(3)
GREEDY = -1


class Atoms(NamedTuple):
    """What the head knows of each atom: f, f', u; masses p and p'; the centred tangent; cotangents of f, f' and u."""

    f: Reals1
    f_next: Reals1
    u: Reals1
    p: Reals1
    p_next: Reals1
    centred: Reals1
    on_f: Reals1
    on_next: Reals1
    on_u: Reals1
    shifted: Reals1


@helper()
def atoms_of(rows):
    return Atoms(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9])


@helper(EXACT, error_model="numpy")
def softmax(y, mass):
    """Masses of all atoms; where there is one logit less than atoms, the last is pinned at 0."""
    logits, atoms = y.shape[0], mass.shape[0]
    top = 0.0 if atoms > logits else -np.inf
    for j in range(logits):
        logit = y[j]
        top = logit if not logit <= top else top  # a NaN stays one
    for j in range(logits):
        mass[j] = exp(y[j] - top)
    if atoms > logits:
        mass[logits] = math.exp(-top)
    total = 0.0
    for j in range(atoms):
        total += mass[j]
    for j in range(atoms):
        mass[j] /= total


@inlined(FASTMATH)
def mean_of(y, mass, support):
    """The mean of the law of these logits; its masses are left in `mass`."""
    softmax(y, mass)
    mean = 0.0
    for j in range(mass.shape[0]):
        mean += mass[j] * support[j]
    return mean


@inlined(FASTMATH)
def _greedy(a_next, p_next, net, logits):
    """The action whose law has the largest mean, or whose value is the largest."""
    best, best_mean = 0, -np.inf
    for action in range(net.actions):
        mean = a_next[action * logits]
        if net.head != VALUE:
            mean = mean_of(a_next[action * logits : (action + 1) * logits], p_next, net.support)
        if mean > best_mean:
            best, best_mean = action, mean
    return best


@inlined(FASTMATH)
def at_the_head(unit, atom, net, data, at, action, next_action, rule):
    """From the last sums to their cotangents: f, f' and u, the rule, and back. (all finite, the mean of δ²)."""
    n = data.row.shape[1]
    last = net.width.shape[0] - 1
    first, logits = net.unit[last], net.width[last] // net.actions
    if next_action == GREEDY:
        next_action = _greedy(unit.a_next[first : first + net.width[last]], atom.p_next, net, logits)
    here, there = first + action * logits, first + next_action * logits
    if net.head == VALUE:
        atom.f[0], atom.f_next[0], atom.u[0] = unit.a[here], unit.a_next[there], unit.ra[here]
    else:
        _predict(unit.a[here : here + logits], unit.a_next[there : there + logits], unit.ra[here : here + logits], atom)
    healthy, error = _cotangents(atom, n, data, at, rule)
    if net.actions > 1:
        for j in range(first, first + net.width[last]):
            unit.c[j], unit.c_next[j], unit.e[j] = 0.0, 0.0, 0.0
    if net.head == VALUE:
        unit.c[here], unit.c_next[there], unit.e[here] = atom.on_f[0], atom.on_next[0], atom.on_u[0]
    else:
        c, c_next, e = unit.c[here : here + logits], unit.c_next[there : there + logits], unit.e[here : here + logits]
        _pull_back(atom, n, net.curvature, c, c_next, e)
    return healthy, error


@inlined(FASTMATH)
def _predict(y, y_next, r, atom):
    """f = cumsum(softmax(y)), f' likewise, and u = Rf, where R p = p ∘ centred."""
    softmax(y, atom.p)
    softmax(y_next, atom.p_next)
    mean = 0.0
    for j in range(r.shape[0]):
        mean += atom.p[j] * r[j]
    total, total_next, total_u = 0.0, 0.0, 0.0
    for j in range(atom.p.shape[0]):
        centred = (r[j] if j < r.shape[0] else 0.0) - mean
        total += atom.p[j]
        total_next += atom.p_next[j]
        total_u += atom.p[j] * centred
        atom.centred[j] = centred
        atom.f[j], atom.f_next[j], atom.u[j] = total, total_next, total_u


@inlined(FASTMATH)
def _cotangents(atom, n, data, at, rule):
    """δ = Tf' + t − f, and the rule's cotangents on f, f' and u. (whether all numbers are finite, the mean of δ²)."""
    row = data.row
    weight = data.weight
    c = data.coefficients
    pair, ratio = at.pair, at.ratio
    for j in range(n):
        atom.shifted[j] = 0.0
    for j in range(n):
        atom.shifted[row[pair, j]] += weight[pair, 0, j] * atom.f_next[j]
        if row[pair, j] + 1 < n:
            atom.shifted[row[pair, j] + 1] += weight[pair, 1, j] * atom.f_next[j]
    health, squares = 0.0, 0.0
    for j in range(n):
        delta, u = atom.shifted[j] + data.constant[pair, j] - atom.f[j], atom.u[j]
        if data.linear:
            p = c[ratio, 0, 0] * delta + c[ratio, 0, 1] * u
            t = c[ratio, 1, 0] * delta + c[ratio, 1, 1] * u
            q = c[ratio, 2, 0] * delta + c[ratio, 2, 1] * u
        else:
            p, t, q = rule(delta, u, at.rho)
        atom.on_f[j], atom.shifted[j], atom.on_u[j] = p, t, q
        health += 0.0 * (p + t + q) + 0.0 * (delta + u)
        squares += delta * delta
    for j in range(n):
        low = row[pair, j]
        above = atom.shifted[low + 1] if low + 1 < n else 0.0
        atom.on_next[j] = weight[pair, 0, j] * atom.shifted[low] + weight[pair, 1, j] * above
    return health == 0.0, squares / n


@inlined(FASTMATH)
def _pull_back(atom, n, curvature, c, c_next, e):
    """Cotangents of the logits from those of f, f' and u. See CdfHead.backward."""
    _exclusive(atom.on_f, atom.p, n)
    _exclusive(atom.on_next, atom.p_next, n)
    _exclusive(atom.on_u, atom.p, n)
    bent = 0.0
    if curvature:
        for j in range(n + 1):
            bent += atom.p[j] * (atom.on_u[j] * atom.centred[j])
    for j in range(c.shape[0]):
        on_y = atom.on_f[j]
        if curvature:
            on_y += atom.on_u[j] * atom.centred[j] - bent
        c[j] = atom.p[j] * on_y
        c_next[j] = atom.p_next[j] * atom.on_next[j]
        e[j] = atom.p[j] * atom.on_u[j]


@inlined(FASTMATH)
def _exclusive(row, mass, n):
    """A cotangent of F → minus its exclusive cumsum, centred: one of the logits, but for the factor p."""
    total, mean = 0.0, 0.0
    for j in range(n + 1):
        following = total + (row[j] if j < n else 0.0)
        row[j] = -total
        mean += mass[j] * total
        total = following
    for j in range(n + 1):
        row[j] += mean


# ---------------------------------------------------------------------- batches with actions
#
# A lane's last sums are stacked as in the mlp engine, [x; x'; R], B rows of each; a learner without w has no R, and
# what follows x' gets no cotangent. One sample is what the small engine does.


class Setup(NamedTuple):
    """What all samples share. kl: cotangents of the KL metric (C51's)."""

    head: Integer
    actions: Integer
    kl: Flag
    curvature: Flag
    whole: Flag
    support: Floats1


class Steps(NamedTuple):
    """[lanes, B]: the action, and which of the shifts is the transition's."""

    action: Integers2
    pair: Integers2


@inlined(FASTMATH)
def _differences(on_f, n, c):
    """KL's cotangent of the logits: that of F, padded with 0 and differenced; for td it is p − m."""
    before = 0.0
    for j in range(n + 1):
        here = on_f[j] if j < n else 0.0
        c[j] = here - before
        before = here


@helper(FASTMATH)
def at_the_heads(lane, y, steps, setup, data, rule, atoms, out):
    """From a lane's last sums y to their cotangents, averaged: out.  Both are [rows, actions · logits], see above.

    False if a number was not finite.
    """
    apart()
    size = steps.action.shape[1]
    logits, n = y.shape[1] // setup.actions, data.row.shape[1]
    atom = atoms_of(atoms)
    rows, share, healthy = 3 * size if setup.whole else size, 1.0 / size, True
    for i in range(rows):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
    for i in range(size):
        here = steps.action[lane, i] * logits
        following = y[size + i]
        best = _greedy(following, atom.p_next, setup, logits)
        there = best * logits
        at = Sample(0, 0, steps.pair[lane, i], 0, 1.0)
        if setup.head == VALUE:
            atom.f[0], atom.f_next[0] = y[i, here], following[there]
            atom.u[0] = y[2 * size + i, here] if setup.whole else 0.0
        else:  # without w the tangent is 0, as this row of `out` still is
            tangent = y[2 * size + i] if setup.whole else out[i]
            _predict(y[i, here : here + logits], following[there : there + logits], tangent[here : here + logits], atom)
        healthy &= _cotangents(atom, n, data, at, rule)[0]
        for j in range(n):
            atom.on_f[j] *= share
            atom.on_next[j] *= share
            atom.on_u[j] *= share
        if setup.head == VALUE:
            out[i, here] = atom.on_f[0]
            if setup.whole:
                out[size + i, there], out[2 * size + i, here] = atom.on_next[0], atom.on_u[0]
        elif setup.whole:
            _pull_back(
                atom, n, setup.curvature, out[i, here : here + logits],
                out[size + i, there : there + logits], out[2 * size + i, here : here + logits],
            )  # fmt: skip
        elif setup.kl:
            _differences(atom.on_f, n, out[i, here : here + logits])
        else:
            _exclusive(atom.on_f, atom.p, n)
            for j in range(logits):
                out[i, here + j] = atom.p[j] * atom.on_f[j]
    return healthy
