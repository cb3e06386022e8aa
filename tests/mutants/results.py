"""A file of JSON lines, each with a key: what a second run does not repeat."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any


class Results:
    """What is known by now. Threads may add to it."""

    def __init__(self, path: Path) -> None:
        self.path, self._lock = path, threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self._known = {entry["key"]: entry for entry in map(_parsed, lines) if entry}

    def get(self, key: str) -> dict[str, Any] | None:
        """What is stored under a key."""
        return self._known.get(key)

    def add(self, key: str, **values: Any) -> None:
        """One more line."""
        with self._lock, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key} | values, ensure_ascii=False) + "\n")
            self._known[key] = {"key": key} | values


def key_of(*parts: Any) -> str:
    """Of what decides a result."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _parsed(line: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:  # the last line of a run that was killed
        return {}
    return found
