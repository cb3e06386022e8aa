"""Commands as processes: started, watched and counted."""

import sqlite3
import sys
import time
from pathlib import Path


def dgtd_command(*words: str) -> list[str]:
    """`dgtd` as this interpreter runs it; it hears SIGHUP also where the tests themselves run under `nohup`."""
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); from dgtd.harness.cli import main; main()"
    return [sys.executable, "-c", code, *words]


def living(session: int) -> list[int]:
    """Processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def settled_rows(store: Path) -> int:
    """Lanes that are finished; 0 while there is no table yet."""
    try:
        with sqlite3.connect(store) as database:
            query = "SELECT count(*) FROM lanes WHERE outcome IN ('budget spent', 'converged', 'diverged')"
            return database.execute(query).fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def wait_for_rows(store: Path, count: int = 1, seconds: float = 90) -> None:
    """Until that many lanes are finished."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if store.exists() and settled_rows(store) >= count:
            return
        time.sleep(0.1)
    raise AssertionError(f"no {count} rows in {store} after {seconds:g} s")


def children(parent: int) -> dict[int, str]:
    """Living children of a process, and their command lines."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            words = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found[int(stat.parent.name)] = words
    return found
