"""The linear engine's compiled loop: sample, step, project, average, snapshot.

One kernel serves every rule. A linear rule (in δ and u) is passed as coefficients. Any other rule is passed as the
address of its compiled code (a first-class function, about 10 ns per atom). In both cases the rule is data to the
kernel. So the kernel is cached on disk once, and a changed rule can never run as stale code.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from dgtd.algorithms.fast.compiling import (
    FASTMATH,
    Flag,
    Floats1,
    Floats2,
    Floats3,
    Integer,
    Integers1,
    Integers2,
    Number,
    Reals2,
    Reals3,
    Reals4,
    Streams,
    compiled,
    helper,
    inlined,
)  # fmt: skip
from dgtd.algorithms.streams import Sampling, draw

THREE = types.UniTuple(types.float64, 3)
RULE_SIGNATURE = THREE(types.float64, types.float64, types.float64)
RuleFunction = types.FunctionType(RULE_SIGNATURE)


class Lanes(NamedTuple):
    """State of the lanes:  theta, w, theta_mean, w_mean  [lanes, n, k]   mass, state, died  [lanes]."""

    theta: Reals3
    w: Reals3
    theta_mean: Reals3
    w_mean: Reals3
    mass: Floats1
    rng: Streams
    state: Integers1
    died: Integers1


class Moves(NamedTuple):
    """Step sizes and options:  alpha, beta  [lanes]   their factors  [steps], starting at step `first`."""

    first: Integer
    alpha: Floats1
    beta: Floats1
    alpha_factor: Floats1
    beta_factor: Floats1
    radius: Number
    w_decay: Number
    averaging: Flag
    extragradient: Flag


class Samples(NamedTuple):
    """What a step reads:  x, x_next  [rows, k]   T and t  [pairs, …]   a linear rule's coefficients  [ratios, 3, 2]."""

    x: Reals2
    x_next: Reals2
    row: Integers2
    weight: Reals3
    constant: Reals2
    linear: Flag
    coefficients: Reals3

    def of(self, dtype):
        """The same for weights of this type."""
        parts = self._asdict()
        real = ("x", "x_next", "weight", "constant", "coefficients")
        return Samples(**(parts | {name: parts[name].astype(dtype, copy=False) for name in real}))


class Lookup(NamedTuple):
    """[outcomes]: which shift, which ratio among the coefficients, and the ratio itself."""

    pair: Integers1
    ratio: Integers1
    rho: Floats1


class Snapshots(NamedTuple):
    """at[i] is the number of steps taken when the i-th is written; an array that is not requested has no rows."""

    at: Integers1
    theta: Reals4
    w: Reals4
    theta_mean: Reals4
    w_mean: Reals4


class Sample(NamedTuple):
    """One transition: rows of x and x_next, its shift, its ratio."""

    left: int
    right: int
    pair: int
    ratio: int
    rho: float


@compiled(Number, Number, Number, returns=THREE)
def no_rule(delta, u, rho):
    """Placeholder: a linear rule needs no function."""
    return (0.0, 0.0, 0.0)


@inlined(FASTMATH)
def _cotangents(theta, w, x, x_next, shifts, linear, c, at, rule, work):
    """work[0], work[1], work[2] ← p, Tᵀt, q at this point. False if a number was not finite.

    Rows are addressed by index, never sliced: a view costs a reference count, half the time of a step on Baird's star.
    """
    n, k = theta.shape
    row, weight, constant = shifts
    left, right, pair, ratio = at.left, at.right, at.pair, at.ratio
    if n == 1 and linear:  # in registers: stores and loads through `work` take a seventh of a step on Baird's star
        f, f_next, u = 0.0, 0.0, 0.0
        for i in range(k):
            f += theta[0, i] * x[left, i]
            f_next += theta[0, i] * x_next[right, i]
            u += w[0, i] * x[left, i]
        shrink = weight[pair, 0, 0] if row[pair, 0] == 0 else 0.0
        delta = shrink * f_next + constant[pair, 0] - f
        p = c[ratio, 0, 0] * delta + c[ratio, 0, 1] * u
        t = c[ratio, 1, 0] * delta + c[ratio, 1, 1] * u
        q = c[ratio, 2, 0] * delta + c[ratio, 2, 1] * u
        work[0, 0], work[1, 0], work[2, 0] = p, shrink * t, q
        return 0.0 * (p + t + q) + 0.0 * (delta + u) == 0.0
    for j in range(n + 1):
        work[3, j] = 0.0
    for j in range(n):
        f, f_next, u = 0.0, 0.0, 0.0
        for i in range(k):
            f += theta[j, i] * x[left, i]
            f_next += theta[j, i] * x_next[right, i]
            u += w[j, i] * x[left, i]
        work[0, j] = f
        work[2, j] = u
        work[3, row[pair, j]] += weight[pair, 0, j] * f_next
        work[3, row[pair, j] + 1] += weight[pair, 1, j] * f_next
    health = 0.0
    for j in range(n):
        delta, u = work[3, j] + constant[pair, j] - work[0, j], work[2, j]
        if linear:
            work[0, j] = c[ratio, 0, 0] * delta + c[ratio, 0, 1] * u
            work[3, j] = c[ratio, 1, 0] * delta + c[ratio, 1, 1] * u
            work[2, j] = c[ratio, 2, 0] * delta + c[ratio, 2, 1] * u
        else:
            work[0, j], work[3, j], work[2, j] = rule(delta, u, at.rho)
        health += 0.0 * (work[0, j] + work[3, j] + work[2, j]) + 0.0 * (delta + u)
    work[3, n] = 0.0
    for j in range(n):
        low = row[pair, j]
        work[1, j] = weight[pair, 0, j] * work[3, low] + weight[pair, 1, j] * work[3, low + 1]
    return health == 0.0


@inlined(FASTMATH)
def _apply(theta, w, x, x_next, at, work, alpha, beta, keep):
    """θ ← θ − α G_θ and w ← keep·w + β G_w, without ever storing a gradient."""
    n, k = theta.shape
    left, right = at.left, at.right
    for j in range(n):
        p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j]
        for i in range(k):
            theta[j, i] += p * x[left, i] + pulled * x_next[right, i]
        for i in range(k):
            w[j, i] = keep * w[j, i] + q * x[left, i]


@inlined(FASTMATH)
def project(point, radius):
    """Γ: onto the ball of this radius."""
    total = 0.0
    for j in range(point.shape[0]):
        for i in range(point.shape[1]):
            total += point[j, i] * point[j, i]
    if total > radius * radius:
        factor = radius / np.sqrt(total)
        for j in range(point.shape[0]):
            for i in range(point.shape[1]):
                point[j, i] *= factor


@inlined(FASTMATH)
def average(mean, point, share):
    for j in range(point.shape[0]):
        for i in range(point.shape[1]):
            mean[j, i] += share * (point[j, i] - mean[j, i])


@inlined()
def write_snapshot(out, i, lane, point):
    if out.shape[0] > 0:
        for j in range(point.shape[0]):
            for k in range(point.shape[1]):
                out[i, lane, j, k] = point[j, k]


@inlined()
def write_due(snapshots, due, now, lane, theta, w, theta_mean, w_mean):
    """Write the snapshots of step `now`; the next one that is due."""
    while due < snapshots.at.shape[0] and snapshots.at[due] == now:
        write_snapshot(snapshots.theta, due, lane, theta)
        write_snapshot(snapshots.w, due, lane, w)
        write_snapshot(snapshots.theta_mean, due, lane, theta_mean)
        write_snapshot(snapshots.w_mean, due, lane, w_mean)
        due += 1
    return due


def room(n, k):
    """Arrays for one thread to work in."""
    return np.zeros((4, n + 1)), np.zeros((n, k)), np.zeros((n, k))


@helper(FASTMATH)
def _run_lane(lane, lanes, moves, table, data, lookup, rule, snapshots, work, before_theta, before_w):
    theta, w = lanes.theta[lane], lanes.w[lane]
    theta_mean, w_mean = lanes.theta_mean[lane], lanes.w_mean[lane]
    stream, here, due = lanes.rng[lane], lanes.state[lane], 0
    n, k = theta.shape
    features, shifts = data.x, (data.row, data.weight, data.constant)
    length = moves.alpha_factor.shape[0]
    halves = 2 if moves.extragradient else 1
    for step in range(length + 1):
        due = write_due(snapshots, due, moves.first + step, lane, theta, w, theta_mean, w_mean)
        if step == length or lanes.died[lane] >= 0:
            continue
        alpha, beta = moves.alpha[lane] * moves.alpha_factor[step], moves.beta[lane] * moves.beta_factor[step]
        for half in range(halves):
            left, outcome, here = draw(stream, table, here)
            right = table.next_state[outcome]
            at = Sample(left, right, lookup.pair[outcome], lookup.ratio[outcome], lookup.rho[outcome])
            if not _cotangents(theta, w, features, features, shifts, data.linear, data.coefficients, at, rule, work):
                lanes.died[lane] = moves.first + step
                theta[:, :] = np.nan
                w[:, :] = np.nan
                break
            if moves.averaging and half == halves - 1:  # average the point whose field moves the iterate
                lanes.mass[lane] += alpha
                average(theta_mean, theta, alpha / lanes.mass[lane])
                average(w_mean, w, alpha / lanes.mass[lane])
            keep = 1.0 - beta * moves.w_decay
            if half < halves - 1:
                for j in range(n):  # element by element: to copy a slice, numba would allocate
                    for i in range(k):
                        before_theta[j, i] = theta[j, i]
                        before_w[j, i] = w[j, i]
            elif moves.extragradient:  # step from the starting point, with the midpoint's field (including κ's part)
                keep = 1.0
                for j in range(n):
                    for i in range(k):
                        theta[j, i] = before_theta[j, i]
                        w[j, i] = before_w[j, i] - beta * moves.w_decay * w[j, i]
            _apply(theta, w, features, features, at, work, alpha, beta, keep)
            if moves.radius < np.inf:
                project(theta, moves.radius)
                project(w, moves.radius)
    lanes.state[lane] = here


@compiled(
    Lanes, Moves, Sampling, Samples, Lookup, RuleFunction, Snapshots, Floats2, Floats2, Floats2, Integer, Integer,
    fastmath=True, bare=True,
)  # fmt: skip
def run(lanes, moves, table, data, lookup, rule, snapshots, work, before_theta, before_w, begin, end):
    """Run lanes begin … end − 1, starting at step `first`. The last three arrays are room to work in (see `room`)."""
    for lane in range(begin, end):
        _run_lane(lane, lanes, moves, table, data, lookup, rule, snapshots, work, before_theta, before_w)


@compiled(Floats3, Floats3, Samples, RuleFunction, Floats1, Floats3, Floats3, fastmath=True)
def directions(theta, w, data, rule, rho, g_theta, g_w):
    """Add the directions of the samples to g_theta and g_w. Samples are ordered lane by lane.

    Uses the same code as `run`: a step of size (−1, 1) from zero.
    """
    lanes, n, _ = theta.shape
    work = np.zeros((4, n + 1))
    x, x_next, row, weight, constant, linear, c = data
    shifts = (row, weight, constant)
    for i in range(rho.shape[0]):
        lane = i * lanes // rho.shape[0]
        at = Sample(i, i, i, i, rho[i])
        _cotangents(theta[lane], w[lane], x, x_next, shifts, linear, c, at, rule, work)
        _apply(g_theta[lane], g_w[lane], x, x_next, at, work, -1.0, 1.0, 1.0)
