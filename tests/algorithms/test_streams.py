"""Streams of lanes: all at once they are what numpy's SeedSequence says of each."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgtd.algorithms.streams import generators, lane_streams, seed_sequence
from dgtd.harness.runs.trainers.world import uniforms
from tests.xoshiro import Xoshiro

NAMES = st.sampled_from(["a", "problem", "lane", "lane_seeds", "zz"])
VALUES = st.one_of(st.integers(-3, 10**12), st.text(max_size=5), st.just("('lane_seed', 'int', '0')"))


@settings(deadline=None)  # a busy machine is no failure
@given(
    root=st.one_of(st.integers(0, 5), st.integers(0, 2**200)),
    seeds=st.lists(st.integers(0, 2**40), max_size=4),
    axes=st.dictionaries(NAMES, VALUES),
)
def test_all_lanes_at_once_are_numpys_one_by_one(root, seeds, axes):
    found = lane_streams(root, seeds, **axes)
    assert (found.shape, found.dtype) == ((len(seeds), 4), np.uint64)
    for row, seed in zip(found, seeds, strict=True):
        expected = seed_sequence(root, lane_seed=seed, **axes).generate_state(4, np.uint64)
        np.testing.assert_array_equal(row, expected)


def test_a_negative_root_is_refused():
    with pytest.raises(ValueError, match="seed must be 0 or more, got -1"):
        lane_streams(-1, range(2))


def test_streams_differ_by_every_name():
    one = {tuple(row) for row in lane_streams(0, range(50), problem="baird")}
    for other in (lane_streams(1, range(50), problem="baird"), lane_streams(0, range(50), problem="boyan")):
        assert not one & {tuple(row) for row in other}
    assert len(one) == 50


@pytest.mark.parametrize("axes", [{}, {"problem": "baird", "zone": 3}], ids=str)
@pytest.mark.parametrize("root", [0, 7, 2**70 + 5])  # the last one takes three words of entropy
def test_a_stream_is_numpys_of_the_root_and_the_sha_256_of_its_named_axes(root, axes):
    """Name, type and value of every axis, sorted by name; the SHA-256 of that list is the spawn key."""
    seeds = [0, 3, 2**40]
    states, drawn = lane_streams(root, seeds, **axes), generators(root, seeds, **axes)
    for lane, seed in enumerate(seeds):
        every = {**axes, "lane_seed": seed}
        named = [(name, type(every[name]).__name__, str(every[name])) for name in sorted(every)]
        key = hashlib.sha256(repr(named).encode()).digest()
        words = [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
        sequence = np.random.SeedSequence(root, spawn_key=words)
        np.testing.assert_array_equal(states[lane], sequence.generate_state(4, np.uint64))
        assert drawn[lane].random() == np.random.Generator(np.random.PCG64(sequence)).random()


# The first outputs from the state 1, 2, 3, 4, of the authors' own code in C: what rand_xoshiro is tested with.
PUBLISHED = (
    41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205, 9973669472204895162,
    14011001112246962877, 12406186145184390807, 15849039046786891736, 10450023813501588000,
)  # fmt: skip


def test_draws_are_the_published_numbers_of_xoshiro256():
    """The generator in whole numbers gives them, and the compiled one their top 53 bits."""
    plain, stream, out = Xoshiro([1, 2, 3, 4]), np.array([[1, 2, 3, 4]], dtype=np.uint64), np.empty((1, 10))
    assert tuple(plain.word() for _ in PUBLISHED) == PUBLISHED
    uniforms(stream, out)
    assert out[0].tolist() == [(word >> 11) / 2**53 for word in PUBLISHED]
    assert stream[0].tolist() == plain.s


def test_draws_of_any_state_are_those_of_the_generator_in_whole_numbers():
    streams = lane_streams(5, range(20), purpose="draws")
    plain, out = [Xoshiro(state) for state in streams], np.empty((20, 50))
    uniforms(streams, out)
    assert out.tolist() == [[each.number() for _ in range(50)] for each in plain]
