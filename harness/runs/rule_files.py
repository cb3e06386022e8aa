"""Rules by reference: a built-in name, an installed entry point, or `path/to/file.py:function`."""

from __future__ import annotations

import hashlib
import linecache
from functools import lru_cache
from pathlib import Path
from typing import Any

from algorithms.names import unknown
from algorithms.rule import Rule, rule
from algorithms.rules import FAMILIES, RULES, find_rule
from harness.plugins import installed
from harness.runs.spec import RuleRef
from harness.runs.timeouts import time_limit

PATIENCE = 10.0  # seconds for a rule to be loaded and probed: arithmetic takes none


def reference(text: str) -> RuleRef:
    """What the command line's RULE stands for, loaded and probed once, as data that any worker can load again."""
    if ".py:" in text or text.endswith(".py"):
        return _file_reference(text)
    points = installed("rules")
    if text in points:
        return RuleRef(name=text, hash=_of_entry_point(text).source_hash)
    name = text.split("(")[0].strip()
    if name not in RULES and name not in FAMILIES and points:
        raise unknown("rule", name, [*RULES, *FAMILIES, *points])
    found = find_rule(text)
    return RuleRef(name=found.name, hash=found.source_hash)


def _file_reference(text: str) -> RuleRef:
    path_text, _, function = text.rpartition(":") if ".py:" in text else (text, "", "")
    if not function:
        raise ValueError(f"rule {text!r} must name a function, as in '{text}:my_rule'")
    path = Path(path_text)
    if not path.is_file():
        raise ValueError(f"no file {path_text!r} for rule {text!r}")
    try:
        source = path.read_text()
    except UnicodeDecodeError:
        raise ValueError(f"file {path_text!r} for rule {text!r} is not text") from None
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    ref = RuleRef(name=function, path=path_text, source=source, function=function, hash=digest)
    resolve(ref)
    return ref


@lru_cache(maxsize=64)
def resolve(ref: RuleRef) -> Rule:
    """The rule of a reference; a user's file is run from the source that the reference carries."""
    if not ref.source:
        return _of_entry_point(ref.name) if ref.name in installed("rules") else find_rule(ref.name)
    try:
        with time_limit(PATIENCE, f"rule {ref.path}:{ref.function}"):
            return _as_rule(ref, _run_source(ref))
    except TimeoutError as error:
        raise ValueError(f"{error}: a rule is arithmetic, and must answer at once") from None


def _run_source(ref: RuleRef) -> dict[str, Any]:
    # Under the file's own name, so that tracebacks and inspect.getsource show the user's lines.
    name = f"{ref.path}#{ref.hash}"
    linecache.cache[name] = (len(ref.source), None, ref.source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": f"dgtd_rule_{ref.hash}", "__file__": ref.path}
    try:
        exec(compile(ref.source, name, "exec"), scope)
    except SyntaxError as error:
        raise ValueError(f"file {ref.path!r} is not Python: {error.msg} in line {error.lineno}") from None
    except TimeoutError:
        raise
    except Exception as error:
        raise ValueError(f"file {ref.path!r} raised {type(error).__name__}: {error}") from error
    return scope


def _as_rule(ref: RuleRef, scope: dict[str, Any]) -> Rule:
    if ref.function not in scope:
        public = [key for key, value in scope.items() if callable(value) and not key.startswith("_")]
        raise unknown(f"function in {ref.path}", ref.function, public)
    found = scope[ref.function]
    if isinstance(found, Rule):
        return found
    if not callable(found):
        raise ValueError(f"rule {ref.path}:{ref.function} must be a function, got {type(found).__name__}")
    made: Rule = rule(found)
    return made


def _of_entry_point(name: str) -> Rule:
    found = installed("rules")[name].load()
    if isinstance(found, Rule):
        return found
    made: Rule = rule(found)
    return made
