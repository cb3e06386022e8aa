"""Rules by reference: a built-in name, an installed entry point, or `path/to/file.py:function`.

A rule file may import files that lie beside it. Their sources travel with the reference: a worker runs what the
reference carries, wherever it is, and never an older version from a cache of Python's.
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from dgtd.algorithms.checks import InterruptedByUser
from dgtd.algorithms.digest import digest
from dgtd.algorithms.formulas import FormulaError
from dgtd.algorithms.names import unknown
from dgtd.algorithms.rule import Rule, rule
from dgtd.algorithms.rules import FAMILIES, RULES, find_rule
from dgtd.harness.plugins import answering, file_and_function, installed, is_file
from dgtd.harness.runs.spec import FileRef
from dgtd.harness.runs.timeouts import time_limit

PATIENCE = 10.0  # seconds for a rule to be loaded and probed: arithmetic takes none


def reference(text: str, also: Iterable[str] = ()) -> FileRef:
    """What the command line's RULE stands for, loaded and probed once, as data that any worker can load again.

    also   names that the caller knows beside rules: one of them may have been meant
    """
    if is_file(text):
        ref = file_reference(text, "rule")
        resolve(ref)
        return ref
    points = installed("rules")
    if text in points:
        _of_entry_point(text)
        return FileRef(name=text)
    name = text.split("(")[0].strip()
    if name.isidentifier() and name not in RULES and name not in FAMILIES:
        raise unknown("rule", name, [*RULES, *FAMILIES, *points, *also])
    return FileRef(name=find_rule(text).name)


def is_built_in(ref: FileRef) -> bool:
    """Whether a reference is a rule of ours."""
    name = ref.name.split("(")[0]
    return not ref.path and not ref.files and (name in RULES or name in FAMILIES)


def file_reference(text: str, kind: str) -> FileRef:
    """`path/to/file.py:function` as data, with every file of the user's that it imports."""
    path, function = file_and_function(kind, text)
    path_text = text.rpartition(":")[0]  # as it was written
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"file {path_text!r} for {kind} {text!r} is not text") from None
    alone = FileRef(function, path_text, function, ((path.stem, path_text, source),))
    with _limited(alone):
        files = _imported(alone, path.parent)
    return FileRef(function, path_text, function, files)


_in_memory: dict[FileRef, Rule] = {}
_known: dict[Rule, FileRef] = {}


def reference_of(rule: Rule) -> FileRef:
    """The reference behind a rule. One that was made in this process, from no file, is known in this process only."""
    if rule in _known:
        return _known[rule]
    try:
        built_in = find_rule(rule.name)
    except ValueError:
        built_in = None
    if built_in is not None and built_in.source_hash == rule.source_hash:
        ref = FileRef(name=rule.name)
    else:
        code = getattr(rule.function, "__code__", None)  # two lambdas on one line have one source
        mark = "" if code is None else f"{code.co_code.hex()} {code.co_names} {code.co_consts}"
        ref = FileRef(rule.name, "in memory", digest(rule.source_hash, sorted(rule.promises), mark))
        _in_memory[ref] = rule
    _known[rule] = ref
    return ref


def resolve(ref: FileRef) -> Rule:
    """The rule of a reference; a user's file is run from the sources that the reference carries."""
    if ref in _in_memory:
        return _in_memory[ref]
    if ref.path == "in memory":
        raise ValueError(f"rule {ref.name!r} was made in another process and has no file: run it with in-process")
    found = _resolve(ref)
    _known.setdefault(found, ref)
    return found


@lru_cache(maxsize=64)
def _resolve(ref: FileRef) -> Rule:
    if not ref.files:
        return _of_entry_point(ref.name) if ref.name in installed("rules") else find_rule(ref.name)
    with _limited(ref):
        found = load(ref)
        if not callable(found):
            raise ValueError(f"rule {ref.path}:{ref.function} must be a function, got {type(found).__name__}")
        return _as_rule(found)


@lru_cache(maxsize=64)
def load(ref: FileRef) -> Any:
    """What a user's file calls by the reference's name."""
    carried = {module: (path, source) for module, path, source in ref.files[1:]}
    with _limited(ref), _importing(_Sources(carried)):
        scope = _run_source(ref)
    if ref.function not in scope:
        own = [key for key, value in scope.items() if isinstance(value, Rule) or _is_of(value, scope)]
        public = [key for key in own if not key.startswith("_")]
        raise unknown(f"function in {ref.path}", ref.function, public)
    return scope[ref.function]


def _is_of(value: Any, scope: dict[str, Any]) -> bool:
    """A function or class that the file itself defines, not one that it imports."""
    return callable(value) and getattr(value, "__module__", None) == scope["__name__"]


@contextmanager
def _limited(ref: FileRef) -> Iterator[None]:
    try:
        with time_limit(PATIENCE, f"rule {ref.path}:{ref.function}"):
            yield
    except TimeoutError as error:
        raise ValueError(f"{error}: a rule is arithmetic, and must answer at once") from None


def _run_source(ref: FileRef) -> dict[str, Any]:
    _, path, source = ref.files[0]
    mark = digest(ref.files)
    scope: dict[str, Any] = {"__name__": f"dgtd_rule_{mark}", "__file__": path}
    try:
        if "\0" in source:  # Pythons before 3.11.4 call it no SyntaxError
            raise SyntaxError("source code cannot contain null bytes")
        _execute(f"{path}#{mark}", source, scope, ref.function)
    except SyntaxError as error:
        file = (error.filename or ref.path).split("#")[0]
        raise ValueError(f"file {file!r} is not Python: {error.msg} in line {error.lineno}") from None
    except (TimeoutError, InterruptedByUser, FormulaError):
        raise
    except BaseException as error:
        raise ValueError(f"file {ref.path!r} raised {type(error).__name__}: {error}") from error
    return scope


def _execute(name: str, source: str, scope: dict[str, Any], wanted: str = "") -> None:
    """Run source under a name of its own, so that tracebacks and inspect.getsource show the user's lines.

    wanted   the rule that is asked for: another one of the file may be wrong
    """
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    for part in ast.parse(source, name).body:
        try:
            exec(compile(ast.Module([part], []), name, "exec"), scope)
        except (ValueError, TypeError):
            if not (wanted and isinstance(part, ast.FunctionDef) and part.name != wanted):
                raise


# ---------------------------------------------------------------------- files that a rule file imports


class _Sources(MetaPathFinder, Loader):
    """Imports modules from sources, module → (path, source); with a folder, from files below it too, which it keeps."""

    def __init__(self, sources: dict[str, tuple[str, str]], folder: Path | None = None) -> None:
        self.sources, self.folder = sources, folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = fullname.split(".")[0]
        # A package that is imported already keeps its own modules.
        if self.folder is not None and (package in self.sources or package not in sys.modules):
            inside = self.folder.joinpath(*fullname.split("."))
            file = next((each for each in (inside.with_suffix(".py"), inside / "__init__.py") if each.is_file()), None)
            if file is not None:
                self.sources[fullname] = (str(file), file.read_text(encoding="utf-8"))
        if fullname not in self.sources:
            return None
        is_package = self.sources[fullname][0].endswith("__init__.py")
        return spec_from_loader(fullname, self, is_package=is_package)

    def exec_module(self, module: ModuleType) -> None:
        """From source, never from bytecode that a file's time stamp calls fresh."""
        path, source = self.sources[module.__name__]
        module.__file__ = path
        _execute(f"{path}#{digest(source)}", source, module.__dict__)


@contextmanager
def _importing(finder: _Sources) -> Iterator[None]:
    """Imports ask the finder first; what it brought is forgotten again, so that the next rule file meets its own."""
    before = set(sys.modules)
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name in finder.sources:
                del sys.modules[name]


def _imported(ref: FileRef, folder: Path) -> tuple[tuple[str, str, str], ...]:
    """The rule file, and each file of the user's that importing it imports."""
    finder = _Sources({}, folder)
    with _importing(finder):
        _run_source(ref)
    return (*ref.files, *((module, *finder.sources[module]) for module in sorted(finder.sources)))


def _as_rule(found: Any) -> Rule:
    made: Rule = found if isinstance(found, Rule) else rule(found)
    return made


def _of_entry_point(name: str) -> Rule:
    with answering(f"rule {name!r}"):
        found = installed("rules")[name].load()
    return _as_rule(found)
