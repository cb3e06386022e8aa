"""Where cosmic-ray can change the sources, and what it makes of them.

A site is a place in a file; most have several mutations, a plus sign eleven. A draw takes a site first and one of its
mutations then, so that arithmetic does not outweigh everything else. cosmic-ray changes operators, comparisons,
numbers, truth values, conditions, loops, handlers and decorators; it never changes strings, docstrings among them. Left
out beyond that: annotations, what only a type checker reads, and what would not be Python any more.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

Position = tuple[int, int]
ROOMS = ("algorithms", "harness")
MUTE = ("name", "string", "newline", "endmarker", "fstring_string")  # leaves that no operator changes


@dataclass(frozen=True)
class Site:
    """A place in a file, and the mutations that can be made there: an operator, and which of its places it is."""

    file: str
    start: Position
    mutations: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Change:
    """One mutation of a file. `line` is where, `what` the line before and after."""

    file: str
    operator: str
    occurrence: int
    line: int
    what: str

    @property
    def kind(self) -> str:
        """What is changed: `NumberReplacer`, `ReplaceBinaryOperator` …, without from and to."""
        return self.operator.partition("/")[2].partition("_")[0]

    @property
    def name(self) -> str:
        """One line."""
        return f"{self.file}:{self.line}  {self.what}"

    def apply(self, folder: Path) -> None:
        """Make it, in a copy of the sources."""
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(_changed(text, self.operator, self.occurrence), encoding="utf-8")


def _changed(text: str, operator: str, occurrence: int) -> str:
    found: str | None = mutate_code(text, plugins.get_operator(operator)(), occurrence)
    if found is None:
        raise ValueError(f"{operator} has no place number {occurrence}")
    return found


@cache
def _operators() -> dict[str, Any]:
    """All but the two that want the names of variables."""
    made = {name: plugins.get_operator(name) for name in plugins.operator_names()}
    return {name: operator() for name, operator in made.items() if not operator.arguments()}


def _unread(tree: Any) -> Iterator[tuple[Position, Position]]:
    """Spans that only a type checker reads."""
    for node in ast_nodes(tree):
        if node.type == "annassign":
            yield node.children[1].start_pos, node.children[1].end_pos
        elif node.type == "tfpdef":
            yield node.children[2].start_pos, node.children[2].end_pos
        elif node.type == "funcdef" and node.annotation:
            yield node.annotation.start_pos, node.annotation.end_pos
        elif node.type == "if_stmt" and node.children[1].get_code().strip() == "TYPE_CHECKING":
            yield node.start_pos, node.end_pos


def sites_in(file: str, text: str) -> list[Site]:
    """The sites of a file, in the order in which they stand there."""
    tree = get_ast(text)
    unread = list(_unread(tree))
    counts = dict.fromkeys(_operators(), 0)
    found: dict[tuple[Position, Position], list[tuple[str, int]]] = {}
    for node in ast_nodes(tree):
        if node.type in MUTE:
            continue
        for name, operator in _operators().items():
            for start, end in operator.mutation_positions(node):
                if not any(first <= start and end <= last for first, last in unread):
                    found.setdefault((start, end), []).append((name, counts[name]))
                counts[name] += 1
    return [Site(file, start, tuple(mutations)) for (start, _), mutations in sorted(found.items())]


def all_sites(root: Path) -> list[Site]:
    """Of every file of `algorithms` and `harness`."""
    files = [file for room in ROOMS for file in sorted((root / room).rglob("*.py"))]
    return [
        site for file in files for site in sites_in(file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))
    ]


def draw(root: Path, sites: list[Site], count: int, seed: int) -> list[Change]:
    """This many changes at different sites, each site with the same chance. What is not Python is drawn again."""
    generator = random.Random(seed)
    drawn: list[Change] = []
    for site in generator.sample(sites, len(sites)):
        if len(drawn) == count:
            break
        text = (root / site.file).read_text(encoding="utf-8")
        for operator, occurrence in generator.sample(site.mutations, len(site.mutations)):
            changed = _changed(text, operator, occurrence)
            if _is_python(changed) and ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)):
                line = site.start[0]
                drawn.append(Change(site.file, operator, occurrence, line, _words(text, changed, line)))
                break
    return drawn


def _is_python(text: str) -> bool:
    try:
        compile(text, "<changed>", "exec")
    except (SyntaxError, SyntaxWarning):
        return False
    return True


def _words(before: str, after: str, line: int) -> str:
    old, new = before.splitlines(), after.splitlines()
    return f"{old[line - 1].strip()}  →  " + (new[line - 1].strip() if len(new) == len(old) else "(gone)")
