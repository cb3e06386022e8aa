"""The compiled recursion behind exact learning curves: first and second moments of the iterate, state by state.

One transition is z ← Kz + P(B Pᵀz + b). Pᵀz are the outputs it touches, g = (f, f', u): rows θ_j·x, θ_j·x' and w_j·x.
B and b are the rule and the target (a few numbers per output); K is w's decay. For each state s the arrays hold

    chance  P(s)      mean  E[y; s]      second  E[y yᵀ; s]

with y = (z, Σaθ), or (z at the midpoint, z, Σaθ) for the extragradient. A transition touches two rows of features, and
atoms meet only in B, so that it costs O(D·n·k), not O(D³), with D the length of y. Compiled without reference counts,
which the records would cost at every call.
"""

from typing import NamedTuple

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
    compiled,
    inlined,
)  # fmt: skip


class Moments(NamedTuple):
    """chance [slots]   mean [slots, D]   second [slots, D, D]; the last slot gathers what ends, to be restarted."""

    chance: Floats1
    mean: Floats2
    second: Floats3


class Maps(NamedTuple):
    """The transitions, at unit step sizes.

    features [rows, k]   state, to, left, right [transitions]: slots, and rows of x and x'   chance [transitions]
    B of transition o is sparse: row i has entries first[o, i] … first[o, i + 1] − 1 of column and value; b is constant
    """

    features: Floats2
    state: Integers1
    to: Integers1
    left: Integers1
    right: Integers1
    chance: Floats1
    first: Integers2
    column: Integers1
    value: Floats1
    constant: Floats2
    start: Floats1


class Shape(NamedTuple):
    """n outputs; where in y the iterate starts (behind the midpoint, if there is one), and where the sum of θ does."""

    outputs: Integer
    old: Integer
    total: Integer


class Forms(NamedTuple):
    """Metrics as quadratic forms of θ: square [metrics, d, d]   line [metrics, d]   constant [metrics]."""

    square: Floats3
    line: Floats2
    constant: Floats1


class Room(NamedTuple):
    """To work in:  inside, pushed [D, 3n]   small, half [3n, 3n]   drift [3n]   outputs [1, 3n]   spread [D, 2nk]."""

    inside: Floats2
    pushed: Floats2
    small: Floats2
    half: Floats2
    drift: Floats1
    outputs: Floats2
    spread: Floats2


@inlined(FASTMATH)
def _read(rows, count, x, x_next, n, k, at, out):
    """out[a] ← Pᵀ applied to the block of row a that starts at `at`: f, f', u of each output."""
    for a in range(count):
        for j in range(n):
            f, f_next, u = 0.0, 0.0, 0.0
            theta, w = at + j * k, at + (n + j) * k
            for i in range(k):
                f += rows[a, theta + i] * x[i]
                f_next += rows[a, theta + i] * x_next[i]
                u += rows[a, w + i] * x[i]
            out[a, j], out[a, n + j], out[a, 2 * n + j] = f, f_next, u


@inlined(FASTMATH)
def _times_b(rows, count, maps, o, n, alpha, beta, out):
    """out[a] ← B rows[a], with the step sizes: α in the rows of θ, β in those of w."""
    for a in range(count):
        for i in range(3 * n):
            total = 0.0
            for entry in range(maps.first[o, i], maps.first[o, i + 1]):
                total += maps.value[entry] * rows[a, maps.column[entry]]
            out[a, i] = (alpha if i < 2 * n else beta) * total


@inlined(FASTMATH)
def _transition(now, after, maps, shape, room, o, alpha, beta, keep, write):
    """Add what transition o makes of its state's moments to its next slot; below the diagonal only."""
    n, k = shape.outputs, maps.features.shape[1]
    side, block = now.mean.shape[1], 2 * n * k
    s, to, p = maps.state[o], maps.to[o], maps.chance[o]
    x, x_next = maps.features[maps.left[o]], maps.features[maps.right[o]]
    mean, second, chance = now.mean[s], now.second[s], now.chance[s]
    b = maps.constant[o]
    _read(second, side, x, x_next, n, k, 0, room.inside)
    _times_b(room.inside, side, maps, o, n, alpha, beta, room.pushed)
    for a in range(side):  # E[y (Bg + b)ᵀ]
        for i in range(3 * n):
            room.pushed[a, i] += mean[a] * ((alpha if i < 2 * n else beta) * b[i])
    # E[g (Bg + b)ᵀ] = Pᵀ of that, then E[(Bg + b)(Bg + b)ᵀ], half of it.
    _read(room.pushed.T, 3 * n, x, x_next, n, k, 0, room.small)
    _read(now.mean[s : s + 1], 1, x, x_next, n, k, 0, room.outputs)
    for i in range(3 * n):  # E[Bg + b]
        total = chance * b[i]
        for entry in range(maps.first[o, i], maps.first[o, i + 1]):
            total += maps.value[entry] * room.outputs[0, maps.column[entry]]
        room.drift[i] = (alpha if i < 2 * n else beta) * total
    _times_b(room.small, 3 * n, maps, o, n, alpha, beta, room.half)  # half[c, i] = (B small[c])_i
    for c in range(3 * n):
        for i in range(3 * n):
            step = alpha if i < 2 * n else beta
            room.half[c, i] = 0.5 * (room.half[c, i] + step * b[i] * room.drift[c])
    for i in range(side):
        decay = keep if write + n * k <= i < write + block else 1.0
        for c in range(3 * n):
            room.pushed[i, c] *= decay
    for j in range(n):  # pushed += P half, on the block that is written
        theta, w = write + j * k, write + (n + j) * k
        for i in range(k):
            for c in range(3 * n):
                room.pushed[theta + i, c] += x[i] * room.half[j, c] + x_next[i] * room.half[n + j, c]
                room.pushed[w + i, c] += x[i] * room.half[2 * n + j, c]
    for a in range(side):  # spread = pushed Pᵀ
        for j in range(n):
            on_f, on_next, on_u = room.pushed[a, j], room.pushed[a, n + j], room.pushed[a, 2 * n + j]
            for i in range(k):
                room.spread[a, j * k + i] = on_f * x[i] + on_next * x_next[i]
                room.spread[a, (n + j) * k + i] = on_u * x[i]
    target = after.second[to]
    for a in range(side):
        decay = p * keep if write + n * k <= a < write + block else p
        for c in range(a + 1):
            kept = keep if write + n * k <= c < write + block else 1.0
            target[a, c] += decay * kept * second[a, c]
    for a in range(side):
        for c in range(write, min(write + block, a + 1)):
            target[a, c] += p * room.spread[a, c - write]
    for a in range(write, write + block):
        for c in range(a + 1):
            target[a, c] += p * room.spread[c, a - write]
    for a in range(side):
        decay = keep if write + n * k <= a < write + block else 1.0
        after.mean[to, a] += p * decay * mean[a]
    for j in range(n):
        for i in range(k):
            moved = room.drift[j] * x[i] + room.drift[n + j] * x_next[i]
            after.mean[to, write + j * k + i] += p * moved
            after.mean[to, write + (n + j) * k + i] += p * room.drift[2 * n + j] * x[i]
    after.chance[to] += p * chance


@inlined(FASTMATH)
def _advance(now, after, maps, shape, room, alpha, beta, keep, write):
    """after ← the moments one transition later; what ended begins anew at the start distribution."""
    slots, side = now.mean.shape
    last = slots - 1
    after.chance[:] = 0.0
    after.mean[:, :] = 0.0
    after.second[:, :, :] = 0.0
    for o in range(maps.state.shape[0]):
        if now.chance[maps.state[o]] > 0.0:
            _transition(now, after, maps, shape, room, o, alpha, beta, keep, write)
    if after.chance[last] > 0.0:
        for s in range(last):
            share = maps.start[s]
            if share > 0.0:
                after.chance[s] += share * after.chance[last]
                for a in range(side):
                    after.mean[s, a] += share * after.mean[last, a]
                    for c in range(a + 1):
                        after.second[s, a, c] += share * after.second[last, a, c]
    for s in range(last):
        for a in range(side):
            for c in range(a):
                after.second[s, c, a] = after.second[s, a, c]


@inlined(FASTMATH)
def _add_rows(now, source, to, count, weight, replace):
    """y[to …] ← weight·y[source …], added to what was there unless `replace`: rows, columns and means."""
    slots, side = now.mean.shape
    old = 0.0 if replace else 1.0
    for s in range(slots - 1):
        second, mean = now.second[s], now.mean[s]
        for i in range(count):
            mean[to + i] = old * mean[to + i] + weight * mean[source + i]
            for c in range(side):
                second[to + i, c] = old * second[to + i, c] + weight * second[source + i, c]
        for a in range(side):
            for i in range(count):
                second[a, to + i] = old * second[a, to + i] + weight * second[a, source + i]


@inlined(FASTMATH)
def _measure(now, forms, at, scale, mean, out):
    """E of the d numbers that start at `at`, times `scale`, and of each form. False if one is not finite, or huge."""
    slots = now.mean.shape[0]
    metrics, d, _ = forms.square.shape
    health = True
    for a in range(d):
        mean[a] = 0.0
        for s in range(slots - 1):
            mean[a] += now.mean[s, at + a] * scale
    for metric in range(metrics):
        total = forms.constant[metric]
        for a in range(d):
            total += forms.line[metric, a] * mean[a]
        for s in range(slots - 1):
            for a in range(d):
                for c in range(d):
                    total += forms.square[metric, a, c] * now.second[s, at + a, at + c] * scale * scale
        out[metric] = total
        health = health and abs(total) < 1e200
    return health


@compiled(
    Moments, Moments, Maps, Shape, Forms, Room, Floats1, Floats1, Number, Flag, Integers1, Floats2, Floats2,
    Integers1, fastmath=True, bare=True,
)  # fmt: skip
def run(now, spare, maps, shape, forms, room, alphas, betas, w_decay, averaging, times, means, out, grown):
    """means[i], out[i] ← E[θ] and the expected metrics after times[i] steps; grown[0] ← when one passed all bounds."""
    d = forms.line.shape[1]
    extragradient = shape.old > 0
    block = 2 * d
    mass, written = 0.0, 0
    for step in range(alphas.shape[0] + 1):
        while written < times.shape[0] and times[written] == step:
            at, scale = shape.old, 1.0
            if averaging and step > 0:
                at, scale = shape.total, 1.0 / mass
            if not _measure(now, forms, at, scale, means[written], out[written]):
                grown[0] = step
                return
            written += 1
        if step == alphas.shape[0]:
            break
        alpha, beta = alphas[step], betas[step]
        keep = 1.0 - beta * w_decay
        if extragradient:
            _add_rows(now, shape.old, 0, block, 1.0, True)
            _advance(now, spare, maps, shape, room, alpha, beta, keep, 0)
            now, spare = spare, now
        if averaging:
            mass += alpha
            _add_rows(now, 0, shape.total, d, alpha, False)
        _advance(now, spare, maps, shape, room, alpha, beta, keep, shape.old)
        now, spare = spare, now
