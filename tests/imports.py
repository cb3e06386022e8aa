"""Imports of our own modules inside functions: `python -m tests.imports` counts them, file by file."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("algorithms", "harness", "suites")


def inside_functions(source: str) -> int:
    """How many statements import a module of ours inside a function."""
    found = set()
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                if any(name.split(".")[0] == "dgtd" for name in names):
                    found.add(node.lineno)
    return len(found)


def counts() -> Counter[str]:
    files = [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    found = {file.relative_to(ROOT).as_posix(): inside_functions(file.read_text(encoding="utf-8")) for file in files}
    return Counter({name: count for name, count in found.items() if count})


if __name__ == "__main__":
    for name, count in counts().most_common():
        print(f"{count:4} {name}")
    print(f"{counts().total():4} in all")
