"""Problems, worlds, rules and suites by name: entry points, ours like anyone's, or `path/to/file.py:function`."""

from __future__ import annotations

import ast
import inspect
import os
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from dgtd.algorithms.checks import InterruptedByUser
from dgtd.algorithms.digest import digest
from dgtd.algorithms.names import look_up, unknown
from dgtd.harness.oracle.problem import Problem

MOST_DIGITS = 18  # a parameter is a size, a probability or a seed: each fits into 64 bits
_CALL = re.compile(r"((?P<path>[^()]+\.py):)?(?P<name>[\w-]+)\s*(\((?P<inside>.*)\))?")


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name, loaded by nobody yet."""
    return {point.name: point for point in entry_points(group=f"dgtd.{group}")}


_KEYWORD = re.compile(r"(?P<owner>\w+)(\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'")


@contextmanager
def answering(who: str) -> Iterator[None]:
    """Code of a user's may end a command only with an error that names it."""
    try:
        yield
    except (ValueError, OSError, TimeoutError, InterruptedByUser):
        raise
    except TypeError as error:
        match = _KEYWORD.search(str(error))
        known = _keywords(match["owner"]) if match else ()
        if match and known:
            wrong = unknown(f"keyword of {match['owner']}", match["name"], known)
            raise ValueError(f"{who}: {wrong}") from error
        raise ValueError(f"{who} raised TypeError: {error}") from error
    except BaseException as error:
        raise ValueError(f"{who} raised {type(error).__name__}: {error}") from error


def _keywords(owner: str) -> tuple[str, ...]:
    """What one of our classes or functions takes; a plug-in that called it has imported it."""
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "dgtd"]
    found = next((vars(module)[owner] for module in ours if callable(vars(module).get(owner))), None)
    return () if found is None else tuple(inspect.signature(found).parameters)


_here: dict[str, Problem] = {}  # problems that were made in this process


def remember(problem: Problem) -> bool:
    """Find a problem by its name from now on, in this process; whether another one of this name was known."""
    name = problem.name
    taken = name.replace("-", "_") in installed("problems") or name in installed("worlds") or name.startswith("gym:")
    if taken:
        raise ValueError(f"problem {name!r} is the name of an installed one: give yours another, mdp.with_(name=...)")
    if not _CALL.fullmatch(name) or "(" in name or ".py:" in name:
        raise ValueError(f"a problem's name must be letters, digits, '_' and '-', got {name!r}")
    known = _here.get(name)
    _here[name] = problem
    return known is not None and known.identity != problem.identity


def is_here(text: str) -> bool:
    """Whether a name is that of a problem which this process alone knows."""
    return text in _here


def find_problem(text: str) -> Problem:
    """A problem by name, `baird`, or with parameters, `random_mdp(states=20, seed=3)`."""
    if text in _here:
        return _here[text]
    make, parameters = _parsed(text)
    with answering(f"problem {text!r}"):
        problem: Problem = make(**parameters)
    if not isinstance(problem, Problem):
        raise ValueError(f"problem {text!r} must be a Problem, got {type(problem).__name__}")
    return problem


def canonical_problem(text: str) -> str:
    """One text for one problem: parameters in order, as the function takes them, and without those at their default."""
    if text in _here:
        return text
    make, parameters = _parsed(text)
    defaults = {key: parameter.default for key, parameter in inspect.signature(make).parameters.items()}
    given = {key: value for key, value in parameters.items() if value != defaults[key]}
    inside = ", ".join(f"{key}={given[key]!r}" for key in sorted(given))
    name = text.split("(")[0].strip()
    name = name if ".py:" in name else name.replace("-", "_")
    return f"{name}({inside})" if inside else name


def _parsed(text: str) -> tuple[Any, dict[str, Any]]:
    """The function behind a name, and its keyword arguments."""
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no problem {text!r}; write a name, or name(key=value) as in 'random_mdp(states=20)'")
    if match["path"]:
        make = from_file("problem", f"{match['path']}:{match['name']}")
        return make, _parameters(text, match["inside"], make)
    point = look_up("problem", match["name"].replace("-", "_"), installed("problems"))
    with answering(f"problem {match['name']!r}"):
        make = point.load()
    return make, _parameters(text, match["inside"], make)


def is_file(text: str) -> bool:
    """Whether a text names a file of the user's."""
    return ".py:" in text or text.endswith(".py")


def file_and_function(kind: str, text: str) -> tuple[Path, str]:
    """What `path/to/file.py:function` names; ValueError if that is no file."""
    path_text, _, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    if not name:
        raise ValueError(f"{kind} {text!r} must name a function, as in '{path_text}:my_{kind}'")
    if not Path(path_text).is_file():
        raise ValueError(f"no file {path_text!r} for {kind} {text!r}")
    return Path(path_text), name


def from_file(kind: str, text: str) -> Any:
    """A function of a user's file, `path/to/file.py:function`, as the file is now."""
    path, name = file_and_function(kind, text)
    with answering(f"{kind} {text!r}"):
        scope = _scope(path.resolve(), path.read_bytes())
    return look_up(f"function in {path}", name, {key: value for key, value in scope.items() if callable(value)})


def made_by_file(text: str) -> Any:
    """What a user's `path/to/file.py:function(key=value)` returns, made once per content of the file."""
    make, _ = _parsed(text)
    with answering(f"problem {text!r}"):
        return _made(make, text)


@lru_cache(maxsize=32)
def _made(make: Any, text: str) -> Any:
    return make(**_parsed(text)[1])


def source_of(text: str) -> str:
    """The digest of a user's `path/to/file.py:…` and of the files beside it that it imports."""
    return digest_of(Path(text.partition(".py:")[0] + ".py"))


@lru_cache(maxsize=32)
def _scope(path: Path, source: bytes) -> dict[str, Any]:
    """What a file defines, run once per content; it may import files that lie beside it."""
    with importable(path.parent, first=True):
        return runpy.run_path(str(path))


def _parameters(name: str, inside: str | None, make: Any) -> dict[str, Any]:
    """Keyword arguments written as in Python, numbers and strings only, checked against the function's own."""
    if not inside or not inside.strip():
        return {}
    allowed = inspect.signature(make).parameters
    found: dict[str, Any] = {}
    for part in inside.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign:
            raise ValueError(f"problem {name!r}: write key=value, got {part.strip()!r}")
        look_up("parameter", key, allowed)
        if key in found:
            raise ValueError(f"problem {name!r}: {key} is given twice")
        found[key] = _value(f"problem {name!r}: {key}", value, allowed[key].default)
    return found


def _value(name: str, text: str, default: Any) -> Any:
    """A parameter of the type that its default has: 1 and 1.0 are one number, and a text needs no quotes."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: thousands of brackets
        value = text
    if isinstance(default, str):
        return value if isinstance(value, str) else text
    if not isinstance(default, int | float) or isinstance(default, bool):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, got {text!r}")
    if not abs(value) < 10.0**MOST_DIGITS:
        raise ValueError(f"{name} must be a number of at most {MOST_DIGITS} digits, got {text:.40}")
    if isinstance(default, float):
        return float(value)
    if value != int(value):
        raise ValueError(f"{name} must be a whole number, got {text!r}")
    return int(value)


# ---------------------------------------------------------------------- files of a user's
#
# Which of them importing one imports, so that a run is stored under all of them.


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
