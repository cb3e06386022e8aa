"""A SQLite file of ours: opened without harm to anybody else's, written in transactions, its errors in words."""

import errno
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = 6
OURS = 0x64677464  # SQLite's application_id: "dgtd"
PATIENCE = 60.0  # seconds that another writer may keep the file locked
SOON = 0.5  # seconds until the wait is said

TABLES = """
    CREATE TABLE machines (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
    CREATE TABLE runs (
        hash TEXT PRIMARY KEY, spec TEXT NOT NULL, created TEXT NOT NULL, metrics TEXT NOT NULL, version TEXT NOT NULL
    );
    CREATE TABLE lanes (
        run TEXT NOT NULL REFERENCES runs(hash), seed INTEGER NOT NULL, outcome TEXT NOT NULL, died INTEGER NOT NULL,
        checkpoints INTEGER NOT NULL, curves BLOB NOT NULL, error TEXT NOT NULL, law BLOB NOT NULL,
        seconds REAL NOT NULL, machine INTEGER REFERENCES machines(id), created TEXT NOT NULL, checksum TEXT NOT NULL,
        PRIMARY KEY (run, seed)
    ) WITHOUT ROWID;
    CREATE INDEX lanes_by_outcome ON lanes (run, outcome);
    CREATE TABLE jobs (
        hash TEXT PRIMARY KEY, job TEXT NOT NULL, outcome TEXT NOT NULL, result TEXT NOT NULL, error TEXT NOT NULL,
        seconds REAL NOT NULL, machine INTEGER REFERENCES machines(id), created TEXT NOT NULL, checksum TEXT NOT NULL
    ) WITHOUT ROWID;
"""

ADVICE = {
    "file is not a database": "it is not a dgtd store: name another file",
    "attempt to write a readonly database": "it can't be written: check its permissions",
    "database or disk is full": "the disk is full: free some space and run the same command again",
    "unable to open database file": "it can't be opened: check the folder and its permissions",
}


class StoreError(ValueError):
    """A store that can't be used, in words."""


def tell(words: str) -> None:
    print(f"dgtd: {words}", file=sys.stderr)


class Database:
    """A file, or ':memory:'. Read-only, nothing of it is changed, and the medium need not be writable."""

    def __init__(self, path: Path | str, read_only: bool = False, say: Callable[[str], None] = tell) -> None:
        self.path, self.say = Path(path), say
        self.memory, self.read_only = str(path) == ":memory:", read_only
        with self._words():
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
            self._connection = self._open_to_read() if read_only else self._open()
            self._identity = self._on_disk()

    # ------------------------------------------------------------------ opening

    def _open(self) -> sqlite3.Connection:
        if self.memory:
            made = _connect(":memory:")
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            made = _connect(self.path)
        try:
            if not self._check_ours(made):
                self._retried(lambda: made.execute("PRAGMA journal_mode=WAL"))
                self._create(made)
        except BaseException:
            made.close()
            raise
        return made

    def _open_to_read(self) -> sqlite3.Connection:
        """As it is; an empty file as an empty store in memory."""
        place = self.path.resolve().as_uri()
        made = _connect(f"{place}?mode=ro", uri=True)
        try:
            made.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:  # a write-ahead log wants a writable folder, unless nobody writes
            made.close()
            made = _connect(f"{place}?mode=ro&immutable=1", uri=True)
            if Path(f"{self.path}-wal").exists():
                self.say(f"store {str(self.path)!r} can't be locked here: what was written last may be missing")
        if self._check_ours(made):
            return made
        made.close()
        empty = _connect(":memory:")
        self._create(empty)
        return empty

    def _check_ours(self, made: sqlite3.Connection) -> bool:
        """Whether it is a store; False if the file is empty. Nothing is changed."""
        # Tables come first: another process may be creating the store, all at once, and who sees them sees the marks.
        tables = _tables(made)
        found = int(made.execute("PRAGMA user_version").fetchone()[0])
        mark = made.execute("PRAGMA application_id").fetchone()[0]
        older = mark == 0 and 1 <= found <= 3 and {"runs", "lanes"} <= tables  # before there was a mark
        if tables and mark != OURS and not older:
            raise StoreError(f"store {str(self.path)!r} is a database of something else: name another store")
        if found and not tables:  # or they are there by now
            tables = _tables(made)
        if (tables or found) and found != SCHEMA:
            advice = "update dgtd, or name another store" if found > SCHEMA else "name another store, or delete it"
            raise StoreError(f"store {str(self.path)!r} has schema {found}, and this version knows {SCHEMA}: {advice}")
        if found and not tables:
            raise StoreError(f"store {str(self.path)!r} is damaged: it has no tables. Name another store, or delete it")
        return bool(tables)

    def _create(self, made: sqlite3.Connection) -> None:
        with self._all_or_nothing(made):
            if made.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:  # nobody else has since
                for statement in TABLES.split(";"):
                    if statement.strip():
                        made.execute(statement)
                made.execute(f"PRAGMA application_id={OURS}")
                made.execute(f"PRAGMA user_version={SCHEMA}")

    @contextmanager
    def _all_or_nothing(self, made: sqlite3.Connection) -> Iterator[None]:
        self._retried(lambda: made.execute("BEGIN IMMEDIATE"))
        try:
            yield
            made.execute("COMMIT")
        except BaseException:
            if made.in_transaction:  # a full disk ends the transaction by itself
                made.execute("ROLLBACK")
            raise

    # ------------------------------------------------------------------ using

    def query(self, text: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._words():
            return self._connection.execute(text, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing. Waits, and says so, while another process writes."""
        with self._words():
            if self._on_disk() != self._identity:
                raise StoreError(f"store {str(self.path)!r} was deleted or replaced while it was in use")
            with self._all_or_nothing(self._connection):
                yield self._connection

    def backup(self, path: Path) -> None:
        """A copy that is whole, also while others write."""
        if path.exists():
            raise StoreError(f"file {str(path)!r} exists: name another file for the copy")
        with self._words(), sqlite3.connect(path) as copy:
            self._connection.backup(copy)
        copy.close()

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file's structure."""
        with self._words():
            found = [text for (text,) in self._connection.execute("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        self._connection.close()

    def _on_disk(self) -> tuple[int, int] | None:
        if self.memory or not self.path.exists():
            return None
        found = self.path.stat()
        return found.st_dev, found.st_ino

    def _retried(self, attempt: Callable[[], object]) -> None:
        """Again and again while the file is locked."""
        start, said = time.monotonic(), False
        while True:
            try:
                attempt()
                return
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - start
                if "locked" not in str(error):
                    raise
                if waited > PATIENCE:
                    raise StoreError(
                        f"store {str(self.path)!r} has been locked by another process for {PATIENCE:g} s: "
                        "end that process, or name another store"
                    ) from error
                if not said:
                    self.say(f"store {str(self.path)!r} is locked by another process: waiting")
                    said = True

    @contextmanager
    def _words(self) -> Iterator[None]:
        """sqlite's errors, and the file system's, as one line that says what to do."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            damaged = text.startswith("no such") or "malformed" in text
            words = f"it is damaged ({text}): `dgtd store check` says what" if damaged else ADVICE.get(text, text)
            raise StoreError(f"store {str(self.path)!r}: {words}") from error
        except OSError as error:
            raise StoreError(f"store {str(self.path)!r} can't be opened: {error.strerror or error}") from error


def _tables(made: sqlite3.Connection) -> set[str]:
    return {name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _connect(place: Path | str, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(place, timeout=SOON, isolation_level=None, uri=uri)


def size_of(path: Path) -> int:
    """Bytes of the file and of its log."""
    return sum(os.path.getsize(part) for part in (path, Path(f"{path}-wal")) if part.exists())
