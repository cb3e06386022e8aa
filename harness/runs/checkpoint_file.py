"""A checkpoint as a file: a label that says what it is of, named arrays, a checksum. Nothing in it is code.

In this order: mark, length of the label, label (JSON), the arrays row by row, checksum of all that.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from algorithms.state import State

FORMAT = 1
MARK = b"dgtd checkpoint\n"
KINDS = "biuf"  # numbers only
LONGEST = 1_000_000  # bytes of a label
DIGEST = 16
PART = ".part"  # a file that is being written


class BadCheckpointError(ValueError):
    """A file that is no checkpoint of this cohort, in words."""


def write(path: Path, label: dict[str, Any], state: State) -> None:
    """Whole or not at all, by renaming. Without fsync: what a power cut tears is seen by its checksum."""
    arrays = {name: np.asarray(array) for name, array in state.items()}
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays.items()]
    head = json.dumps({"format": FORMAT, **label, "arrays": listed}).encode()
    handle, part = tempfile.mkstemp(PART, f"{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _fill(file, [MARK, len(head).to_bytes(8, "little"), head, *map(_bytes, arrays.values())])
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _fill(file: BinaryIO, pieces: list[Any]) -> None:
    made = hashlib.blake2b(digest_size=DIGEST)
    for piece in pieces:
        made.update(piece)
        file.write(piece)
    file.write(made.digest())


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def read(path: Path, expected: dict[str, Any]) -> tuple[dict[str, Any], State]:
    """(label, state), if the file is whole and its label says what is expected."""
    data = path.read_bytes()
    label, start = _label(data)
    for name, value in expected.items():
        if label.get(name) != value:
            raise BadCheckpointError(f"it is of another {name}")
    if hashlib.blake2b(data[:-DIGEST], digest_size=DIGEST).digest() != data[-DIGEST:]:
        raise BadCheckpointError("it is damaged")
    return label, dict(_arrays(data[:-DIGEST], start, label["arrays"]))


def read_label(path: Path) -> dict[str, Any]:
    """What a file says it is of; the rest is not read."""
    with path.open("rb") as file:
        return _label(file.read(LONGEST))[0]


def _label(data: bytes) -> tuple[dict[str, Any], int]:
    """The label, and where the arrays begin."""
    start = len(MARK) + 8
    if data[: len(MARK)] != MARK:
        raise BadCheckpointError("it is no checkpoint")
    length = int.from_bytes(data[len(MARK) : start], "little")
    try:
        label = json.loads(data[start : start + min(length, LONGEST)])
    except ValueError:
        raise BadCheckpointError("it is damaged") from None
    if not isinstance(label, dict) or label.get("format") != FORMAT:
        raise BadCheckpointError("it has the format of another version")
    return label, start + length


def _arrays(data: bytes, start: int, listed: list[Any]) -> Iterator[tuple[str, Any]]:
    for name, kind, shape in listed:
        dtype = np.dtype(kind)
        if dtype.kind not in KINDS:
            raise BadCheckpointError(f"it has an array of {kind}")
        count = math.prod(shape)
        yield name, np.frombuffer(data, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
