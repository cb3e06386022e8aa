"""A checkpoint is read to the last bit under its own label, and under no other, nor with a byte changed."""

import numpy as np
import pytest

from dgtd.harness.runs.checkpoints import read, write

LABEL = {"run": "0123456789abcdef", "seeds": [0, 30], "code": "fedcba9876543210"}
STATE = {"theta": np.linspace(-1.0, 1.0, 7), "steps": np.arange(3), "ended": np.array([True, False])}
REFUSED = (ValueError, TypeError, KeyError)  # whoever reads checkpoints takes these so


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "a.checkpoint", LABEL, STATE)
    return tmp_path / "a.checkpoint"


def test_what_was_written_is_read(path):
    _, found = read(path, LABEL)
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in STATE.items()}


@pytest.mark.parametrize(
    "other", [{"run": "0123456789abcdee"}, {"seeds": [0, 31]}, {"code": "fedcba9876543211"}, {"machine": "another"}]
)
def test_another_label_is_refused(path, other):
    with pytest.raises(REFUSED):
        read(path, LABEL | other)


def test_a_file_with_any_one_of_its_bytes_changed_or_that_ends_too_early_is_refused(path):
    whole = path.read_bytes()
    changed = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(len(whole))]
    for data in (*changed, *(whole[:length] for length in (0, 1, len(whole) // 2, len(whole) - 1))):
        path.write_bytes(data)
        with pytest.raises(REFUSED):
            read(path, LABEL)
