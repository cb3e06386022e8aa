"""What a caller hands over, as the command line's data: rules, problems, and where lanes are run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from dgtd.algorithms.rule import Rule, rule
from dgtd.harness.commands.options import Where
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import remember
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.predictors import named
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import FileRef
from dgtd.harness.runs.trainers.trainer import prepared

AnyRule = str | Rule | Callable[..., Any]
AnyProblem = str | Problem
HERE = "in memory"  # the path of a rule that has no file


def many(given: Any) -> list[Any]:
    """A list of what may be one thing, or names separated by commas."""
    if isinstance(given, str):
        return [part.strip() for part in given.split(",") if part.strip()] if "(" not in given else [given]
    return list(given) if isinstance(given, Sequence) else [given]


def rule_of(given: AnyRule) -> FileRef:
    """A name, `file.py:function`, a rule, or a function of (delta, u, rho)."""
    if isinstance(given, str):
        return named(given)
    if not callable(given):
        raise ValueError(f"rule must be a name or a function of (delta, u, rho), got {given!r}")
    return reference_of(given if isinstance(given, Rule) else rule(given))


def place_of(given: AnyProblem) -> str:
    """A name, or a problem that is known in this process from now on."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Problem):
        raise ValueError(f"problem must be a name or a dgtd.Problem, got {type(given).__name__}")
    if remember(given):  # another one of this name is forgotten, and with it what was made from it
        prepared.cache_clear()
        run_hash.cache_clear()
    return given.name


def where_of(
    objects: Iterable[Any], store: str | Path | None = None, executor: str | None = None, workers: int | None = None,
    scheduler: str | None = None, timeout: float | None = None,
) -> Where:  # fmt: skip
    """Who runs lanes and which file keeps them. What was made in this process, from no file, is run in it."""
    local = [each for each in objects if not isinstance(each, str) and not _from_file(each)]
    chosen = executor or os.environ.get("DGTD_EXECUTOR") or ("in-process" if local else "pool")
    if local and chosen != "in-process":
        name = getattr(local[0], "name", getattr(local[0], "__name__", local[0]))
        raise ValueError(f"{name!r} was made in this process and has no file: executor must be 'in-process'")
    if local and executor is None:
        print("dgtd: objects without a file are run in this process", file=sys.stderr)
    path = Path(store or os.environ.get("DGTD_STORE") or "results/dgtd.sqlite")
    return Where(executor=chosen, workers=workers, scheduler=scheduler, timeout=timeout, store=path)


def _from_file(given: Any) -> bool:
    return isinstance(given, Rule) and reference_of(given).path != HERE
