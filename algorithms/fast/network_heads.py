"""The compiled heads of the small engine: from a network's last sums to a prediction, through the rule, and back.

The same maps as heads.py, one sample at a time.
"""

import math
from typing import NamedTuple

import numpy as np

from dgtd.algorithms.fast.compiling import FASTMATH, Reals1, helper, inlined
from dgtd.algorithms.fast.elementary import EXACT, exp

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
    """The rows of one array, by name."""
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
