"""The small engine's compiled loop: the R-operator of the mlp engine, one sample at a time, in one function.

A lane's θ and w are flat [d]: layer by layer the rows of V [in + 1, out], the bias last. Units of all layers follow
each other in the arrays of `Units`, each layer with one more that is the constant 1. Backward, a row of V and W is read
once for its products and changed at once: no gradient is ever stored.

Inner loops run over views from 0 on: an index with an offset might be negative for all the compiler knows, and what
Python means by that keeps it from vectorising, which costs several times as much. A lane's loop is compiled without
reference counts, which views would cost; so nothing is allocated in it, and `room` is made for it outside. It holds no
lock either: lanes run on ordinary threads.
"""

import math
from typing import NamedTuple

import numpy as np

from dgtd.algorithms.fast.activations import ACTIVATIONS
from dgtd.algorithms.fast.compiling import (
    FASTMATH,
    Flag,
    Floats1,
    Integer,
    Integers1,
    Integers2,
    Reals1,
    Reals2,
    Reals3,
    compiled,
    helper,
    inlined,
)
from dgtd.algorithms.fast.elementary import EXACT, sigmoid, tanh
from dgtd.algorithms.fast.kernels import (
    Lanes,
    Lookup,
    Moves,
    RuleFunction,
    Sample,
    Samples,
    Snapshots,
    average,
    project,
    write_due,
)
from dgtd.algorithms.fast.network_heads import Atoms, at_the_head, atoms_of
from dgtd.algorithms.streams import Sampling, draw

TANH, RELU, SILU, SOFTPLUS = map(ACTIVATIONS.index, ("tanh", "relu", "silu", "softplus"))


class Network(NamedTuple):
    """Shape of a network:  width  [layers + 1], inputs first   weight, unit  where a layer starts in θ and in `unit`.

    head is network_heads.VALUE, CDF or PINNED; support is the atoms, for greedy actions.
    """

    width: Integers1
    weight: Integers1
    unit: Integers1
    units: Integer
    activation: Integer
    head: Integer
    actions: Integer
    curvature: Flag
    support: Reals1


def room(network, atoms):
    """Arrays for one thread to work in, of the weights' type."""
    kind = network.support.dtype
    return np.zeros((len(Units._fields), network.units), kind), np.zeros((len(Atoms._fields), atoms), kind)


class Units(NamedTuple):
    """What a pass knows of each unit: outputs h, h', Rh; sums a, a', Ra; slopes σ'(a), σ'(a'), and σ''(a)Ra.

    bend stays 0 where σ is piecewise linear; c, c_next and e are the cotangents of a, a' and Ra.
    """

    h: Reals1
    h_next: Reals1
    rh: Reals1
    a: Reals1
    a_next: Reals1
    ra: Reals1
    slope: Reals1
    slope_next: Reals1
    bend: Reals1
    c: Reals1
    c_next: Reals1
    e: Reals1


@helper()
def units_of(rows):
    return Units(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11]
    )


@helper(EXACT, error_model="numpy")
def _activate(unit, low, high, kind):
    """h = σ(a), σ'(a), Rh = σ'(a)Ra and σ''(a)Ra of a layer's units; h' and σ'(a')."""
    first, last = np.uint64(low), np.uint64(high)
    apply_activation(unit.a, unit.h, unit.slope, first, last, kind)
    apply_activation(unit.a_next, unit.h_next, unit.slope_next, first, last, kind)
    a = unit.a
    ra = unit.ra
    h = unit.h
    slope = unit.slope
    rh = unit.rh
    bend = unit.bend
    for i in range(first, last):
        rh[i] = slope[i] * ra[i]
    if kind == TANH:
        for i in range(first, last):
            bend[i] = -2.0 * h[i] * rh[i]
    elif kind == SILU:
        for i in range(first, last):
            s = sigmoid(a[i])
            bend[i] = s * (1.0 - s) * (2.0 + a[i] * (1.0 - 2.0 * s)) * ra[i]
    elif kind == SOFTPLUS:
        for i in range(first, last):
            bend[i] = (1.0 - slope[i]) * rh[i]


@inlined(EXACT, error_model="numpy")
def apply_activation(a, h, slope, first, last, kind):
    """h = σ(a) and σ'(a) of the units first … last − 1."""
    if kind == TANH:
        for i in range(first, last):
            h[i] = tanh(a[i])
            slope[i] = 1.0 - h[i] * h[i]
    elif kind == RELU:
        for i in range(first, last):
            h[i] = 0.0 if a[i] <= 0.0 else a[i]  # a NaN stays one
            slope[i] = 1.0 if a[i] > 0.0 else 0.0
    elif kind == SILU:
        for i in range(first, last):
            s = sigmoid(a[i])
            h[i] = a[i] * s
            slope[i] = s * (1.0 + a[i] * (1.0 - s))
    else:
        for i in range(first, last):
            h[i] = a[i] if a[i] > 20.0 else math.log1p(math.exp(a[i]))  # torch's: beyond 20 it differs by 2e-9
            slope[i] = sigmoid(a[i])


@inlined(FASTMATH)
def _add_row(unit, here, row, aux, a, a_next, ra):
    """What one unit adds to the sums of the layer above."""
    h, h_next, rh = unit.h[here], unit.h_next[here], unit.rh[here]
    if h == 0.0 and h_next == 0.0 and rh == 0.0:  # a state as one-hot input touches one row of many
        return
    for j in range(row.shape[0]):  # two loops: three sums in one are more arrays than LLVM checks for overlap
        a[j] += h * row[j]
        a_next[j] += h_next * row[j]
    for j in range(row.shape[0]):
        ra[j] += rh * row[j] + h * aux[j]


@inlined(FASTMATH)
def _add_two_rows(unit, here, first, first_aux, second, second_aux, a, a_next, ra):
    """What two units add: sums are read and written half as often. A tenth faster at 6-50-30, a seventh at 6-50-50-30.

    Two loops again, and no third row: LLVM checks up to eight pairs of arrays for overlap.
    """
    h, h_next, rh = unit.h[here], unit.h_next[here], unit.rh[here]
    g, g_next, rg = unit.h[here + 1], unit.h_next[here + 1], unit.rh[here + 1]
    for j in range(first.shape[0]):
        a[j] += h * first[j] + g * second[j]
        a_next[j] += h_next * first[j] + g_next * second[j]
    for j in range(first.shape[0]):
        ra[j] += rh * first[j] + h * first_aux[j] + rg * second[j] + g * second_aux[j]


@inlined(FASTMATH)
def _add_layer(theta, w, net, unit, layer):
    """The sums of the units above a layer of weights."""
    rows, columns, low, top = net.width[layer], net.width[layer + 1], net.unit[layer], net.unit[layer + 1]
    a, a_next, ra = unit.a[top : top + columns], unit.a_next[top : top + columns], unit.ra[top : top + columns]
    begin = net.weight[layer]
    last = begin + rows * columns
    bias, bias_aux = theta[last : last + columns], w[last : last + columns]
    for j in range(columns):
        a[j] = bias[j]
        a_next[j] = bias[j]
    for j in range(columns):
        ra[j] = bias_aux[j]
    pairs = 0 if layer == 0 else rows // 2  # inputs may be mostly 0, and are taken one by one
    for i in range(pairs):
        at = begin + 2 * i * columns
        second = at + columns
        _add_two_rows(
            unit, low + 2 * i, theta[at : at + columns], w[at : at + columns], theta[second : second + columns],
            w[second : second + columns], a, a_next, ra,
        )  # fmt: skip
    for i in range(2 * pairs, rows):
        at = begin + i * columns
        _add_row(unit, low + i, theta[at : at + columns], w[at : at + columns], a, a_next, ra)


@inlined(FASTMATH)
def forward(theta, w, x, x_next, net, unit):
    """x, x' and the tangent of x through the layers: a = hV, and for the tangent Ra = (Rh)V + hW."""
    layers = net.weight.shape[0]
    for i in range(x.shape[0]):
        unit.h[i], unit.h_next[i], unit.rh[i] = x[i], x_next[i], 0.0
    for layer in range(layers):
        rows, columns, low, top = net.width[layer], net.width[layer + 1], net.unit[layer], net.unit[layer + 1]
        unit.h[low + rows], unit.h_next[low + rows], unit.rh[low + rows] = 1.0, 1.0, 0.0
        _add_layer(theta, w, net, unit, layer)
        if layer < layers - 1:
            _activate(unit, top, top + columns, net.activation)


@inlined(FASTMATH)
def _pass_down(unit, here, curvature, on_a, on_next, on_ra, through):
    """The cotangents of a unit's sums, from those of its outputs. See mlp._backward."""
    slope = unit.slope[here]
    if curvature:
        unit.c[here] = slope * (on_a + through) + unit.bend[here] * on_ra
    else:
        unit.c[here] = slope * on_a
    unit.c_next[here] = unit.slope_next[here] * on_next
    unit.e[here] = slope * on_ra


@inlined(FASTMATH)
def descend(theta, w, net, unit, alpha, beta, keep):
    """Cotangents layer by layer; θ ← θ − αG_θ and w ← keep·w + βG_w on the way: a row is read once, and changed."""
    real = theta.dtype.type
    down, up, kept, zero = real(-alpha), real(beta), real(keep), real(0.0)
    for layer in range(net.weight.shape[0] - 1, -1, -1):
        rows, columns, low, top = net.width[layer], net.width[layer + 1], net.unit[layer], net.unit[layer + 1]
        c, c_next, e = unit.c[top : top + columns], unit.c_next[top : top + columns], unit.e[top : top + columns]
        for i in range(rows + 1):
            here, at = low + i, net.weight[layer] + i * columns
            h, h_next, g = down * unit.h[here], down * unit.h_next[here], up * unit.h[here]
            rh = down * unit.rh[here] if net.curvature else zero
            row, aux = theta[at : at + columns], w[at : at + columns]
            if layer > 0 and i < rows:
                on_a, on_next, on_ra, through = zero, zero, zero, zero
                for j in range(columns):
                    on_a += row[j] * c[j]
                    on_next += row[j] * c_next[j]
                    on_ra += row[j] * e[j]
                    through += aux[j] * e[j]
                    row[j] += h * c[j] + h_next * c_next[j] + rh * e[j]
                    aux[j] = kept * aux[j] + g * e[j]
                _pass_down(unit, here, net.curvature, on_a, on_next, on_ra, through)
                continue
            if h != 0.0 or h_next != 0.0:
                for j in range(columns):
                    row[j] += h * c[j] + h_next * c_next[j] + rh * e[j]
            if h != 0.0 or keep != 1.0:
                for j in range(columns):
                    aux[j] = kept * aux[j] + g * e[j]


@inlined(FASTMATH)
def collect(theta, w, g_theta, g_w, net, unit):
    """The same pass into other arrays: in `descend` they would be more than LLVM checks for overlap."""
    zero = theta.dtype.type(0.0)
    for layer in range(net.weight.shape[0] - 1, -1, -1):
        rows, columns, low, top = net.width[layer], net.width[layer + 1], net.unit[layer], net.unit[layer + 1]
        c, c_next, e = unit.c[top : top + columns], unit.c_next[top : top + columns], unit.e[top : top + columns]
        for i in range(rows + 1):
            here, at = low + i, net.weight[layer] + i * columns
            if layer > 0 and i < rows:
                row, aux = theta[at : at + columns], w[at : at + columns]
                on_a, on_next, on_ra, through = zero, zero, zero, zero
                for j in range(columns):
                    on_a += row[j] * c[j]
                    on_next += row[j] * c_next[j]
                    on_ra += row[j] * e[j]
                    through += aux[j] * e[j]
                _pass_down(unit, here, net.curvature, on_a, on_next, on_ra, through)
            h, h_next = unit.h[here], unit.h_next[here]
            rh = unit.rh[here] if net.curvature else zero
            if h != 0.0 or h_next != 0.0 or rh != 0.0:
                to, to_w = g_theta[at : at + columns], g_w[at : at + columns]
                for j in range(columns):
                    to[j] += h * c[j] + h_next * c_next[j] + rh * e[j]
                for j in range(columns):
                    to_w[j] += h * e[j]


@compiled(
    Lanes, Moves, Sampling, Samples, Network, Lookup, RuleFunction, Snapshots, Reals2, Reals2, Integer, Integer,
    fastmath=True, bare=True,
)  # fmt: skip
def run(lanes, moves, table, data, net, lookup, rule, snapshots, unit_rows, atom_rows, begin, end):
    """Run lanes begin … end − 1, starting at step `first`. The rows are room to work in: one set a thread."""
    unit, atom = units_of(unit_rows), atoms_of(atom_rows)
    for lane in range(begin, end):
        theta, w = lanes.theta[lane], lanes.w[lane]
        theta_mean, w_mean = lanes.theta_mean[lane], lanes.w_mean[lane]
        stream, here, due = lanes.rng[lane], lanes.state[lane], 0
        length = moves.alpha_factor.shape[0]
        for step in range(length + 1):
            due = write_due(snapshots, due, moves.first + step, lane, theta, w, theta_mean, w_mean)
            if step == length or lanes.died[lane] >= 0:
                continue
            alpha, beta = moves.alpha[lane] * moves.alpha_factor[step], moves.beta[lane] * moves.beta_factor[step]
            left, outcome, here = draw(stream, table, here)
            right = table.next_state[outcome]
            at = Sample(left, right, lookup.pair[outcome], lookup.ratio[outcome], lookup.rho[outcome])
            forward(theta[0], w[0], data.x[left], data.x[right], net, unit)
            if not at_the_head(unit, atom, net, data, at, 0, 0, rule)[0]:
                lanes.died[lane] = moves.first + step
                theta[:, :] = np.nan
                w[:, :] = np.nan
                continue
            if moves.averaging:
                lanes.mass[lane] += alpha
                average(theta_mean, theta, alpha / lanes.mass[lane])
                average(w_mean, w, alpha / lanes.mass[lane])
            descend(theta[0], w[0], net, unit, alpha, beta, 1.0 - beta * moves.w_decay)
            if moves.radius < np.inf:
                project(theta, moves.radius)
                project(w, moves.radius)
        lanes.state[lane] = here


@compiled(
    Reals3, Reals3, Samples, Network, Integers2, RuleFunction, Floats1, Reals3, Reals3, Reals2, Reals2,
    fastmath=True, bare=True,
)  # fmt: skip
def directions(theta, w, data, net, actions, rule, rho, g_theta, g_w, unit_rows, atom_rows):
    """Add the directions of the samples to g_theta and g_w. Samples are ordered lane by lane.

    actions  [samples, 2]: the action, and the next one or GREEDY
    """
    unit, atom = units_of(unit_rows), atoms_of(atom_rows)
    for i in range(rho.shape[0]):
        lane = i * theta.shape[0] // rho.shape[0]
        at = Sample(i, i, i, i, rho[i])
        forward(theta[lane, 0], w[lane, 0], data.x[i], data.x_next[i], net, unit)
        at_the_head(unit, atom, net, data, at, actions[i, 0], actions[i, 1], rule)
        collect(theta[lane, 0], w[lane, 0], g_theta[lane, 0], g_w[lane, 0], net, unit)
