"""Random streams from named axes, where adding a rule, seed or problem changes no other stream; compiled draws."""

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.fast.compiling import Flag, Flags1, Floats1, Integers1, Integers2, Streams, compiled, inlined

# Constants of numpy's SeedSequence (O'Neill's seed_seq_fe), whose states these streams have had from the first run on.
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_WORD, _POOL = 0xFFFFFFFF, 4


def seed_sequence(root: int, **axes: str | int) -> np.random.SeedSequence:
    """The stream of `root` at the point that the named axes describe; their order does not matter."""
    if root < 0:
        raise ValueError(f"seed must be 0 or more, got {root}")
    key = np.frombuffer(hashlib.sha256(repr(_rows(axes)).encode()).digest(), dtype="<u4")
    return np.random.SeedSequence(root, spawn_key=tuple(int(part) for part in key))


def _rows(axes: dict[str, str | int]) -> list[tuple[str, str, str]]:
    return sorted((name, type(value).__name__, str(value)) for name, value in axes.items())


def generator(root: int, **axes: str | int) -> np.random.Generator:
    """A numpy generator on that stream."""
    return np.random.Generator(np.random.PCG64(seed_sequence(root, **axes)))


def generators(root: int, seeds: list[int] | range, **axes: str | int) -> list[np.random.Generator]:
    """One numpy generator per seed: what a lane draws does not depend on its neighbours."""
    return [generator(root, lane_seed=seed, **axes) for seed in seeds]


def lane_streams(root: int, seeds: list[int] | range, **axes: str | int) -> NDArray[np.uint64]:
    """xoshiro256++ states [lanes, 4] for the compiled sampler, one stream per seed.

    What `seed_sequence(root, lane_seed=seed, **axes).generate_state(4, np.uint64)` says, of all lanes at once: one by
    one that is 50 µs a lane, and a check on 16 384 lanes spent three quarters of its time there.
    """
    seed_sequence(root)  # says what is wrong with it
    if not len(seeds):
        return np.zeros((0, 4), dtype=np.uint64)
    rows = _rows({**axes, "lane_seed": 0})
    place = [name for name, _, _ in rows].index("lane_seed")
    before = "[" + "".join(f"{row!r}, " for row in rows[:place]) + "('lane_seed', 'int', '"
    after = "')" + "".join(f", {row!r}" for row in rows[place + 1 :]) + "]"
    texts = (f"{before}{int(seed)}{after}" for seed in seeds)
    digests = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    keys = np.frombuffer(digests, dtype="<u4").reshape(len(seeds), 8).astype(np.uint32)
    words = [root >> shift & _WORD for shift in range(0, max(root.bit_length(), 1), 32)]
    words += [0] * (_POOL - len(words))
    return _states([*(np.full(len(seeds), word, dtype=np.uint32) for word in words), *keys.T])


def _states(entropy: list[NDArray[np.uint32]]) -> NDArray[np.uint64]:
    """[lanes, 4] from words of entropy [lanes] each: SeedSequence's pool and what it generates."""
    constant = _INIT_A

    def hashed(value: NDArray[np.uint32]) -> NDArray[np.uint32]:
        nonlocal constant
        value = value ^ np.uint32(constant)
        constant = constant * _MULT_A & _WORD
        value = value * np.uint32(constant)
        return value ^ value >> np.uint32(16)

    def mixed(x: NDArray[np.uint32], y: NDArray[np.uint32]) -> NDArray[np.uint32]:
        found = _MIX_LEFT * x - _MIX_RIGHT * y
        return found ^ found >> np.uint32(16)

    pool = [hashed(word) for word in entropy[:_POOL]]
    for source in range(_POOL):
        for to in range(_POOL):
            if to != source:
                pool[to] = mixed(pool[to], hashed(pool[source]))
    for word in entropy[_POOL:]:
        for to in range(_POOL):
            pool[to] = mixed(pool[to], hashed(word))
    out = np.empty((len(entropy[0]), 8), dtype="<u4")
    constant = _INIT_B
    for i in range(8):
        value = pool[i % _POOL] ^ np.uint32(constant)
        constant = constant * _MULT_B & _WORD
        value = value * np.uint32(constant)
        out[:, i] = value ^ value >> np.uint32(16)
    return out.view("<u8").astype(np.uint64)


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
