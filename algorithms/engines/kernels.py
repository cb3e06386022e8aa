"""Compiled loops: the sampler of every engine, and the linear engine's whole run.

One kernel serves every rule. A rule that is linear in (δ, u) arrives as coefficients, another as the address of its
own compiled code (a first-class function, about 10 ns an atom); in both cases the rule is data to the kernel. So the
kernel is cached on disk once, and a rule that changes can never run as stale code.

`reassoc` lets LLVM vectorise the dot products. NaN and infinity keep their meaning: divergence is data.
"""

from functools import cache

import numba as nb
import numpy as np
from numba import types

FASTMATH = {"reassoc", "contract", "nsz"}
RULE_SIGNATURE = types.UniTuple(types.float64, 3)(types.float64, types.float64, types.float64)


@nb.njit(RULE_SIGNATURE, cache=True)
def no_rule(delta, u, rho):
    """Stands where a linear rule needs no function."""
    return (0.0, 0.0, 0.0)


@nb.njit(inline="always")
def _uniform(rng):
    """xoshiro256++ (Blackman & Vigna 2019), the top 53 bits as a number in [0, 1)."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return np.float64(result >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(inline="always")
def _pick(rng, threshold, alias, low, high):
    """One draw from the alias table of rows low … high − 1."""
    scaled = _uniform(rng) * (high - low)
    slot = np.int64(scaled)
    return low + slot if scaled - slot < threshold[low + slot] else low + alias[low + slot]


@nb.njit(inline="always")
def _draw(rng, state, iid, sampling):
    """The next transition of a lane in `state`: (state it left, outcome, state it is in now)."""
    offsets, threshold, alias, next_state, ends, start_threshold, start_alias = sampling
    if iid:
        state = _pick(rng, start_threshold, start_alias, 0, start_threshold.shape[0])
    outcome = _pick(rng, threshold, alias, offsets[state], offsets[state + 1])
    arrived = next_state[outcome]
    if ends[outcome] and not iid:
        arrived = _pick(rng, start_threshold, start_alias, 0, start_threshold.shape[0])
    return state, outcome, arrived


@nb.njit(cache=True)
def start_states(rng, start_threshold, start_alias, state):
    """Put every lane where an episode may start."""
    for lane in range(state.shape[0]):
        state[lane] = _pick(rng[lane], start_threshold, start_alias, 0, start_threshold.shape[0])


@nb.njit(cache=True)
def draw_outcomes(rng, state, iid, sampling, out):
    """out [steps, lanes] ← outcome numbers; the linear run draws exactly these."""
    for lane in range(state.shape[0]):
        here = state[lane]
        for step in range(out.shape[0]):
            _, out[step, lane], here = _draw(rng[lane], here, iid, sampling)
        state[lane] = here


@nb.njit(fastmath=FASTMATH, inline="always")
def _cotangents(theta, w, x, at, x_next, at_next, shifts, pair, linear, c, ratio, rule, rho, work):
    """work[0], work[1], work[2] ← p, Tᵀt, q at this point. False if a number was not finite.

    Rows are named by index, never sliced: a view costs a reference count, half the time of a step on Baird's star.
    """
    n, k = theta.shape
    row, weight, constant = shifts
    if n == 1 and linear:  # in registers: through `work`, stores and loads are a seventh of a step on Baird's star
        f, f_next, u = 0.0, 0.0, 0.0
        for i in range(k):
            f += theta[0, i] * x[at, i]
            f_next += theta[0, i] * x_next[at_next, i]
            u += w[0, i] * x[at, i]
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
            f += theta[j, i] * x[at, i]
            f_next += theta[j, i] * x_next[at_next, i]
            u += w[j, i] * x[at, i]
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
            work[0, j], work[3, j], work[2, j] = rule(delta, u, rho)
        health += 0.0 * (work[0, j] + work[3, j] + work[2, j]) + 0.0 * (delta + u)
    work[3, n] = 0.0
    for j in range(n):
        low = row[pair, j]
        work[1, j] = weight[pair, 0, j] * work[3, low] + weight[pair, 1, j] * work[3, low + 1]
    return health == 0.0


@nb.njit(fastmath=FASTMATH, inline="always")
def _apply(theta, w, x, at, x_next, at_next, work, alpha, beta, keep):
    """θ ← θ − α G_θ and w ← keep·w + β G_w, without ever storing a gradient."""
    n, k = theta.shape
    for j in range(n):
        p, pulled, q = -alpha * work[0, j], -alpha * work[1, j], beta * work[2, j]
        for i in range(k):
            theta[j, i] += p * x[at, i] + pulled * x_next[at_next, i]
        for i in range(k):
            w[j, i] = keep * w[j, i] + q * x[at, i]


@nb.njit(fastmath=FASTMATH, inline="always")
def _project(point, radius):
    total = 0.0
    for j in range(point.shape[0]):
        for i in range(point.shape[1]):
            total += point[j, i] * point[j, i]
    if total > radius * radius:
        factor = radius / np.sqrt(total)
        for j in range(point.shape[0]):
            for i in range(point.shape[1]):
                point[j, i] *= factor


@nb.njit(fastmath=FASTMATH, inline="always")
def _average(mean, point, share):
    for j in range(point.shape[0]):
        for i in range(point.shape[1]):
            mean[j, i] += share * (point[j, i] - mean[j, i])


def _run(
    theta, w, theta_mean, w_mean, mass, rng, state, died, first,
    alpha, beta, alpha_factor, beta_factor, radius, w_decay, averaging, extragradient,
    iid, sampling, features, pair_of, ratio_of, shifts, linear, coefficients, rule, rho,
    snapshots, theta_out, w_out, theta_mean_out, w_mean_out,
):  # fmt: skip
    """Every lane from step `first` on; snapshots[i] is the number of steps taken when the i-th is written."""
    lanes, n, k = theta.shape
    project = radius < np.inf
    next_state = sampling[3]
    for lane in nb.prange(lanes):
        here = state[lane]
        work = np.zeros((4, n + 1))
        before_theta, before_w = np.empty((n, k)), np.empty((n, k))
        th, ww, stream = theta[lane], w[lane], rng[lane]
        next_snapshot = 0
        for step in range(alpha_factor.shape[0] + 1):
            while next_snapshot < snapshots.shape[0] and snapshots[next_snapshot] == first + step:
                for j in range(n):
                    for i in range(k):
                        theta_out[next_snapshot, lane, j, i] = th[j, i]
                        if w_out.shape[0] > 0:
                            w_out[next_snapshot, lane, j, i] = ww[j, i]
                        if averaging:
                            theta_mean_out[next_snapshot, lane, j, i] = theta_mean[lane, j, i]
                            w_mean_out[next_snapshot, lane, j, i] = w_mean[lane, j, i]
                next_snapshot += 1
            if step == alpha_factor.shape[0] or died[lane] >= 0:
                continue
            a, b = alpha[lane] * alpha_factor[step], beta[lane] * beta_factor[step]
            halves = 2 if extragradient else 1
            for half in range(halves):
                left, outcome, here = _draw(stream, here, iid, sampling)
                right = next_state[outcome]
                healthy = _cotangents(
                    th, ww, features, left, features, right, shifts, pair_of[outcome],
                    linear, coefficients, ratio_of[outcome], rule, rho[outcome], work,
                )  # fmt: skip
                if not healthy:
                    died[lane] = first + step
                    break
                if averaging and half == halves - 1:  # the point whose field moves the iterate is what counts
                    mass[lane] += a
                    _average(theta_mean[lane], th, a / mass[lane])
                    _average(w_mean[lane], ww, a / mass[lane])
                keep = 1.0 - b * w_decay
                if half < halves - 1:
                    before_theta[:, :] = th
                    before_w[:, :] = ww
                elif extragradient:  # step from where the lane was, with the field (κ's part too) of the midpoint
                    keep = 1.0
                    for j in range(n):
                        for i in range(k):
                            th[j, i] = before_theta[j, i]
                            ww[j, i] = before_w[j, i] - b * w_decay * ww[j, i]
                _apply(th, ww, features, left, features, right, work, a, b, keep)
                if project:
                    _project(th, radius)
                    _project(ww, radius)
            if died[lane] >= 0:
                th[:, :] = np.nan
                ww[:, :] = np.nan
        state[lane] = here


_F1, _F2, _F3, _F4 = (types.Array(types.float64, d, "C") for d in (1, 2, 3, 4))
_I1, _I2 = (types.Array(types.int64, d, "C") for d in (1, 2))
_SAMPLING = types.Tuple((_I1, _F1, _I1, _I1, types.Array(types.boolean, 1, "C"), _F1, _I1))
_SHIFTS = types.Tuple((_I2, _F3, _F2))
_FUNCTION = types.FunctionType(RULE_SIGNATURE)
_RUN_SIGNATURE = types.void(
    _F3, _F3, _F3, _F3, _F1, types.Array(types.uint64, 2, "C"), _I1, _I1, types.int64,
    _F1, _F1, _F1, _F1, types.float64, types.float64, types.boolean, types.boolean,
    types.boolean, _SAMPLING, _F2, _I1, _I1, _SHIFTS, types.boolean, _F3, _FUNCTION, _F1,
    _I1, _F4, _F4, _F4, _F4,
)  # fmt: skip


@cache
def run_kernel():
    """The compiled run: from the disk cache if this source was ever compiled here."""
    return nb.njit(_RUN_SIGNATURE, parallel=True, fastmath=FASTMATH, cache=True)(_run)


@cache
def directions_kernel():
    """The compiled directions, by the code of the run: a step of size (−1, 1) from zero."""
    signature = types.void(_F3, _F3, _F2, _F2, _SHIFTS, types.boolean, _F3, _FUNCTION, _F1, _F3, _F3)
    return nb.njit(signature, fastmath=FASTMATH, cache=True)(_directions)


def _directions(theta, w, x, x_next, shifts, linear, coefficients, rule, rho, g_theta, g_w):
    """Add the directions of the samples, lanes' batches one after the other, to g_theta and g_w."""
    lanes, n, _ = theta.shape
    work = np.zeros((4, n + 1))
    for at in range(x.shape[0]):
        lane = at * lanes // x.shape[0]
        _cotangents(theta[lane], w[lane], x, at, x_next, at, shifts, at, linear, coefficients, at, rule, rho[at], work)
        _apply(g_theta[lane], g_w[lane], x, at, x_next, at, work, -1.0, 1.0, 1.0)
