"""Checkpoints of long cohorts: a folder beside the store, a file per cohort that is under way.

A worker writes the file of its own cohort, since only the parent writes the store; the parent removes it when the
cohort is stored. A file that is torn, or of another run, other seeds, other code or other packages is never believed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dgtd.algorithms.replay import State
from dgtd.harness.runs.database import tell

FORMAT = 2
MARK = b"dgtd checkpoint\n"
KINDS = "biuf"  # numbers only
LONGEST = 1_000_000  # bytes of a label
DIGEST = 16
PART = ".part"  # a file that is being written


class BadCheckpointError(ValueError):
    """A file that is no checkpoint of this cohort, in words."""


def write(path: Path, label: dict[str, Any], state: State) -> None:
    """Whole or not at all, by renaming. Without fsync: what a power cut tears is seen by its checksum."""
    handle, part = tempfile.mkstemp(PART, f"{path.name}.", path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            file.write(MARK + json.dumps({"format": FORMAT, **label, "arrays": list(state)}).encode() + b"\n")
            for array in state.values():
                np.save(file, array, allow_pickle=False)
            file.seek(0)
            file.write(hashlib.file_digest(file, _checksum).digest())
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def read(path: Path, expected: dict[str, Any]) -> tuple[dict[str, Any], State]:
    """(label, state), if the file is whole and its label says what is expected."""
    data = path.read_bytes()
    file = io.BytesIO(data[:-DIGEST])
    label = _label(file)
    for name, value in expected.items():
        if label.get(name) != value:
            raise BadCheckpointError(f"it is of another {name}")
    if _checksum(file.getbuffer()).digest() != data[-DIGEST:]:
        raise BadCheckpointError("it is damaged")
    return label, {name: _array(file) for name in label["arrays"]}


def read_label(path: Path) -> dict[str, Any]:
    """What a file says it is of; the rest is not read."""
    with path.open("rb") as file:
        return _label(file)


def _label(file: BinaryIO) -> dict[str, Any]:
    if file.read(len(MARK)) != MARK:
        raise BadCheckpointError("it is no checkpoint")
    try:
        label = json.loads(file.readline(LONGEST))
    except ValueError:
        raise BadCheckpointError("it is damaged") from None
    if not isinstance(label, dict) or label.get("format") != FORMAT:
        raise BadCheckpointError("it has the format of another version")
    return label


def _array(file: BinaryIO) -> Any:
    found = np.load(file, allow_pickle=False)
    if found.dtype.kind not in KINDS:
        raise BadCheckpointError(f"it has an array of {found.dtype.str}")
    return found


def _checksum(data: Any = b"") -> Any:
    return hashlib.blake2b(data, digest_size=DIGEST)


# Seconds: what a kill may cost. A write for thirty lanes takes a tenth of a second or two (docs/reliability.md).
EVERY = 60.0
SHARE = 0.01  # of a run's time that its checkpoints may take: on a slow disk they are written more rarely
KEPT = 14 * 24 * 3600.0  # seconds; a run that nobody went on with for two weeks is not wanted any more
SUFFIX, FOLDER = ".checkpoint", ".checkpoints"
VARIABLE = "DGTD_CHECKPOINT_SECONDS"


def every() -> float:
    """Seconds between two checkpoints, as the environment says."""
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text or EVERY)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise ValueError(f"{VARIABLE} must be a positive number of seconds, got {text!r}")
    return found


def name_of(run: str, seeds: range) -> str:
    return f"{run}-{seeds.start}-{seeds.stop - 1}{SUFFIX}"


@dataclass
class Keeper:
    """What a worker has: the checkpoint of its cohort, read at the start and written now and then.

    label    what the file must say it is of: run, seeds, code, and the machine with its packages
    before   seconds that the cohort took up to the checkpoint it went on from
    """

    path: Path
    label: dict[str, Any]
    interval: float = EVERY
    say: Callable[[str], None] = tell
    before: float = 0.0
    _began: float = field(default_factory=time.monotonic)
    _next: float = 0.0
    _failed: bool = False

    def __post_init__(self) -> None:
        self._next = self._began + self.interval

    def load(self) -> State | None:
        """The state to go on from; None if there is none that can be believed."""
        try:
            label, state = read(self.path, self.label)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, OSError) as error:
            _let_limits_pass(error)
            self.reject(str(error))
            return None
        self.before = float(label.get("seconds", 0.0))
        return state

    def reject(self, reason: str) -> None:
        """One line, and the file is gone."""
        self.before = 0.0
        self.say(f"checkpoint {str(self.path)!r} is removed, {reason}: its cohort starts from its beginning")
        _unlink(self.path)

    def accept(self, step: int) -> None:
        first, stop = self.label["seeds"]
        self.say(f"lanes {first} to {stop - 1} of run {self.label['run']} go on from step {step:,}")

    def due(self) -> bool:
        return time.monotonic() >= self._next

    def write(self, step: int, state: State) -> None:
        """Keep the state after a step. A disk that is full costs the checkpoint, not the run."""
        start = time.monotonic()
        try:
            if Path(str(self.path.parent).removesuffix(FOLDER)).exists():  # a worker elsewhere may not see the store
                self.path.parent.mkdir(exist_ok=True)
                so_far = {"step": step, "seconds": self.before + start - self._began}
                write(self.path, self.label | so_far, state)
        except OSError as error:
            _let_limits_pass(error)
            if not self._failed:
                self.say(f"checkpoint {str(self.path)!r} can't be written: {error.strerror or error}")
            self._failed = True
        now = time.monotonic()
        self._next = now + max(self.interval, (now - start) / SHARE)


@dataclass(frozen=True)
class Checkpoints:
    """What the parent has: the folder beside a store. It is there while it holds something."""

    path: Path

    @staticmethod
    def beside(store: Path) -> Checkpoints:
        """Absolute, since workers may have another working folder."""
        return Checkpoints(Path(f"{store.resolve()}{FOLDER}"))

    def files(self) -> list[Path]:
        """Checkpoints, and what was being written when a process was killed."""
        return sorted(file for end in (SUFFIX, PART) for file in self.path.glob(f"*{end}"))

    def size(self) -> dict[str, int]:
        """How much there is, in words for `dgtd store info`; empty if there is nothing."""
        sizes = [file.stat().st_size for file in self.files() if file.exists()]
        return {"files": len(sizes), "bytes": sum(sizes)} if sizes else {}

    def remove(self, run: str, seeds: range) -> None:
        """The cohort is stored, or has failed."""
        if self.path.is_dir():
            name = name_of(run, seeds)
            self._drop([self.path / name, *self.path.glob(f"{name}.*{PART}")])

    def clear(self) -> None:
        """All of it; a run that is going on writes the next one in a minute."""
        self._drop(self.files())

    def tidy(self, stored: Iterable[str], code: str, say: Callable[[str], None]) -> None:
        """Remove the files of stored cohorts, and in one line those that can't be gone on from or are not wanted."""
        if not self.path.is_dir():
            return
        done, files = set(stored), self.files()
        useless = {file: reason for file in files if (reason := _useless(file, code))}
        self._drop([*(file for file in files if file.name in done), *useless])
        if useless:
            reasons = ", ".join(sorted(set(useless.values())))
            say(f"{len(useless)} checkpoints in {str(self.path)!r} are removed: {reasons}")

    def _drop(self, files: list[Path]) -> None:
        for file in files:
            _unlink(file)
        with contextlib.suppress(OSError):  # it is not empty, or not there
            self.path.rmdir()


def _useless(file: Path, code: str) -> str:
    """Why nobody can go on from a file; empty if somebody can."""
    try:
        old = time.time() - file.stat().st_mtime > KEPT
        if file.suffix == PART:
            return "old" if old else ""  # another process may be writing it
        written = read_label(file).get("code")
    except BadCheckpointError:
        return "damaged"
    except OSError:
        return ""
    if written != code:
        return "of other code"
    return "old" if old else ""


def _let_limits_pass(error: Exception) -> None:
    """The limit of a run may ring while a file is read or written; Python counts that among errors of files."""
    if isinstance(error, TimeoutError) and error.errno is None:
        raise error


def _unlink(file: Path) -> None:
    with contextlib.suppress(OSError):  # then it stays, and is not believed next time either
        file.unlink(missing_ok=True)
