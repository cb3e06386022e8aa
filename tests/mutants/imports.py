"""Which module imports which, read from the sources: how far a fault is from a module."""

from __future__ import annotations

import ast
from collections import deque
from pathlib import Path


def imported_by(root: Path, file: str) -> set[str]:
    """Files of this checkout that a file imports anywhere, its own functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((root / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            place = name.removeprefix("dgtd.").replace(".", "/")  # the rooms stand at the top
            found |= {each for each in (f"{place}.py", f"{place}/__init__.py") if (root / each).is_file()}
    return found - {file}


class Graph:
    """Who imports whom, in these folders of a checkout."""

    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        files = [path.relative_to(root).as_posix() for folder in folders for path in (root / folder).rglob("*.py")]
        self.importers: dict[str, set[str]] = {}
        for file in sorted(files):
            for each in imported_by(root, file):
                self.importers.setdefault(each, set()).add(file)

    def distances(self, file: str) -> dict[str, int]:
        """File → how many imports lie between it and this one, of all that import it, however far."""
        found, todo = {file: 0}, deque([file])
        while todo:
            here = todo.popleft()
            for each in sorted(self.importers.get(here, ())):
                if each not in found:
                    found[each] = found[here] + 1
                    todo.append(each)
        return found
