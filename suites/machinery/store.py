"""The store and its checkpoints: what is settled stays, what is not is run again, what is damaged is not believed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from harness.runs.checkpoint_file import read, write
from harness.runs.database import StoreError
from harness.runs.fingerprint import run_hash
from harness.runs.spec import Outcome
from harness.runs.store import Store
from suites.machinery.cases import all_hold, exact
from suites.machinery.planted import FAILED, FINE, SIZE, lanes_of, rows_of, run_of, save

SETTLED = (Outcome.CONVERGED, Outcome.BUDGET_SPENT, Outcome.DIVERGED)


def claims() -> list[Claim]:
    """Rows, files, checkpoints."""
    return [
        exact(
            "store/settled",
            "a cohort is settled if each of its lanes converged, spent its budget or diverged, and not before",
            "definitions",
            whole_cohorts_are_settled,
        ),
        exact(
            "store/overwritten",
            "a settled row is never overwritten, and any other is",
            "definitions",
            settled_rows_stay,
        ),
        exact(
            "store/flipped-bit",
            "a bit that flips in a stored curve is found, and the lane is no result any more",
            "definitions",
            flipped_bits_are_found,
        ),
        exact(
            "store/other-database",
            "the database of another program is refused and stays as it was, byte by byte",
            "definitions",
            other_databases_stay,
        ),
        exact(
            "store/checkpoint-label",
            "a checkpoint of another run, other seeds or other code is not believed",
            "definitions",
            other_labels_are_refused,
        ),
        exact(
            "store/checkpoint-damage",
            "a checkpoint with any one of its bytes changed is not believed",
            "definitions",
            changed_bytes_are_refused,
        ),
    ]


# ---------------------------------------------------------------------- rows


def whole_cohorts_are_settled(setting: Setting) -> Finding:
    """Every pair of outcomes in a cohort of two lanes, one lane alone, and a second cohort beside it."""
    cases, run = [], run_of()
    for first in Outcome:
        cases.append((f"{first} is settled", first.settled is (first in SETTLED)))
        for second in (None, *Outcome):
            with Store(":memory:") as store:
                save(store, run, lanes_of([0], first) + ([] if second is None else lanes_of([1], second)))
                save(store, run, lanes_of([2, 3]))
                whole = first in SETTLED and second in SETTLED
                found = store.settled(run_hash(run), SIZE)
                cases.append((f"lanes {first} and {second}", found == ({0, 1} if whole else {1})))
    return all_hold(cases)


def settled_rows_stay(setting: Setting) -> Finding:
    """A row of each outcome, and then another result for the same seed."""
    cases, run = [], run_of()
    for before in Outcome:
        for after in (FINE, FAILED):
            with Store(":memory:") as store:
                save(store, run, lanes_of([0], before, height=1.0))
                first = rows_of(store, run)
                save(store, run, lanes_of([0], after, height=2.0))
                kept = rows_of(store, run) == first
                cases.append((f"{before}, and then {after}", kept is (before in SETTLED)))
    return all_hold(cases)


def flipped_bits_are_found(setting: Setting) -> Finding:
    """One bit in the curve of lane 1 of 4: that lane is named, left out, and its cohort is not settled."""
    said: list[str] = []
    run = run_of()
    with folder() as here:
        with Store(here / "store.sqlite", say=said.append) as store:
            save(store, run, lanes_of(range(4)))
            whole = store.damaged() == ([], []) and store.settled(run_hash(run), SIZE) == {0, 1}
        flip_a_bit(here / "store.sqlite", seed=1)
        with Store(here / "store.sqlite", say=said.append) as store:
            return all_hold([
                ("nothing is damaged before", whole and not said),
                ("the lane is named", store.damaged() == ([(run_hash(run), 1)], [])),
                ("the lane is left out", [seed for seed, _, _ in rows_of(store, run)] == [0, 2, 3]),
                ("its cohort is not settled", store.settled(run_hash(run), SIZE) == {1}),
                ("it is said", any("damaged" in words for words in said)),
            ])  # fmt: skip


def flip_a_bit(path: Path, seed: int) -> None:
    """The lowest bit of the curve's first byte."""
    with closing(sqlite3.connect(path)) as db, db:
        ((curves,),) = db.execute("SELECT curves FROM lanes WHERE seed = ?", (seed,)).fetchall()
        db.execute("UPDATE lanes SET curves = ? WHERE seed = ?", (bytes([curves[0] ^ 1]) + curves[1:], seed))


# ---------------------------------------------------------------------- files


@contextmanager
def folder() -> Iterator[Path]:
    """That is removed afterwards."""
    with TemporaryDirectory(prefix="dgtd-machinery-") as name:
        yield Path(name)


def other_databases_stay(setting: Setting) -> Finding:
    """A table of somebody else's, with each version number that an old store of ours may have."""
    cases = []
    with folder() as here:
        for version in range(5):
            path = here / f"{version}.sqlite"
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("CREATE TABLE recipes (name)")
                db.execute(f"PRAGMA user_version={version}")
            before, words = path.read_bytes(), ""
            try:
                Store(path).close()
            except StoreError as error:
                words = str(error)
            refused = "is a database of something else" in words
            cases.append((f"user version {version}", refused and path.read_bytes() == before))
    return all_hold(cases)


LABEL = {"run": "0123456789abcdef", "seeds": [0, 30], "code": "fedcba9876543210"}
STATE = {"theta": np.linspace(-1.0, 1.0, 7), "steps": np.arange(3), "ended": np.array([True, False])}


def other_labels_are_refused(setting: Setting) -> Finding:
    """What was written is read, to the last bit, and nothing else is."""
    others = [("run", "0123456789abcdee"), ("seeds", [0, 31]), ("code", "fedcba9876543211"), ("machine", "another")]
    with folder() as here:
        path = here / "a.checkpoint"
        write(path, LABEL, STATE)
        _, found = read(path, LABEL)
        same = all(found[name].tobytes() == array.tobytes() for name, array in STATE.items())
        refused = [(f"another {name}", refuses(path, {**LABEL, name: value})) for name, value in others]
    return all_hold([("what was written is read", same and set(found) == set(STATE)), *refused])


def changed_bytes_are_refused(setting: Setting) -> Finding:
    """Every byte of a file, one at a time; and files that end too early."""
    with folder() as here:
        path = here / "a.checkpoint"
        write(path, LABEL, STATE)
        whole, cases = path.read_bytes(), []
        for at in range(len(whole)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            cases.append((f"byte {at}", refuses(path, LABEL)))
        for length in (0, 1, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            cases.append((f"the first {length} bytes", refuses(path, LABEL)))
    return all_hold(cases)


def refuses(path: Path, label: dict[str, Any]) -> bool:
    """Whether a file is not believed to be of this label: whoever reads checkpoints takes these errors so."""
    try:
        read(path, label)
    except (ValueError, TypeError, KeyError):
        return True
    return False
