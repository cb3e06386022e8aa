"""Files of a user's: which of them importing one imports, so that a run is stored under all of them."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dgtd.algorithms.digest import digest


def digest_of(file: Path, module: str = "") -> str:
    """Of a Python file's source, and of each file that it imports from the same root, theirs too.

    module   the file's name as Python imports it, which says where its root is; without it that is the file's folder
    """
    package = file.name == "__init__.py"
    root = file.resolve().parents[module.count(".") + package]
    found: dict[str, str] = {}
    _collect(file.resolve(), module or file.stem, root, found)
    return digest(sorted(found.items()))


def _collect(file: Path, module: str, root: Path, found: dict[str, str]) -> None:
    """Put the file among those found, and go on to what it imports. Installed packages count among themselves only."""
    source = file.read_text(encoding="utf-8")
    found[module] = source
    for name in _names(source, module if file.name == "__init__.py" else module.rpartition(".")[0]):
        inside = root.joinpath(*name.split("."))
        known = name in found or ("site-packages" in root.parts and name.split(".")[0] != module.split(".")[0])
        for each in () if known else (inside / "__init__.py", inside.with_suffix(".py")):
            if each.is_file():
                _collect(each, name, root, found)
                break


def _names(source: str, package: str) -> Iterator[str]:
    """Every module that a source may import, and the packages around it; what is no module has no file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{each.name}" for each in node.names]
        else:
            continue
        for name in names:
            parts = [part for part in name.split(".") if part]
            yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


@contextmanager
def importable(folder: Path, first: bool = False) -> Iterator[None]:
    """Python finds modules in this folder meanwhile, after all others unless it is to be the first."""
    place = os.fspath(folder.resolve())
    sys.path.insert(0 if first else len(sys.path), place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)
