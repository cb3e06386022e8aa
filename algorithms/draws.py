"""Compiled draws from a table of transitions: one sampler feeds every engine."""

from typing import NamedTuple

import numpy as np

from algorithms.fast.compiling import Flag, Flags1, Floats1, Integers1, Integers2, Streams, compiled, inlined


class Sampling(NamedTuple):
    """A TransitionTable as the kernels read it."""

    iid: Flag
    offsets: Integers1
    threshold: Floats1
    alias: Integers1
    next_state: Integers1
    ends: Flags1
    start_threshold: Floats1
    start_alias: Integers1


@inlined()
def uniform(rng):
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


@inlined()
def pick(rng, threshold, alias, low, high):
    """One draw from the alias table of rows low … high − 1."""
    scaled = uniform(rng) * (high - low)
    slot = np.int64(scaled)
    return low + slot if scaled - slot < threshold[low + slot] else low + alias[low + slot]


@inlined()
def start(rng, table):
    """A state where an episode may start."""
    return pick(rng, table.start_threshold, table.start_alias, 0, table.start_threshold.shape[0])


@inlined()
def draw(rng, table, state):
    """The next transition of a lane in `state`: (state it left, outcome, state it is in now)."""
    if table.iid:
        state = start(rng, table)
    outcome = pick(rng, table.threshold, table.alias, table.offsets[state], table.offsets[state + 1])
    arrived = table.next_state[outcome]
    if table.ends[outcome] and not table.iid:
        arrived = start(rng, table)
    return state, outcome, arrived


@compiled(Streams, Sampling, Integers1)
def start_states(rng, table, state):
    """Set every lane to a state where an episode may start."""
    for lane in range(state.shape[0]):
        state[lane] = start(rng[lane], table)


@compiled(Streams, Sampling, Integers1, Integers2)
def draw_outcomes(rng, table, state, out):
    """out [steps, lanes] ← outcome numbers; the linear run draws exactly these."""
    for lane in range(state.shape[0]):
        here = state[lane]
        for step in range(out.shape[0]):
            _, out[step, lane], here = draw(rng[lane], table, here)
        state[lane] = here
