"""What a caller hands over, as the command line's data: rules, problems, and where lanes are run."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from itertools import combinations
from numbers import Real
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from dgtd.algorithms.checks import whole
from dgtd.algorithms.names import look_up
from dgtd.algorithms.rule import Rule, rule
from dgtd.harness.commands.compare import split
from dgtd.harness.commands.options import Where
from dgtd.harness.oracle.problem import Problem
from dgtd.harness.plugins import find_problem, installed, is_here, remember
from dgtd.harness.runs.fingerprint import run_hash
from dgtd.harness.runs.predictors import named
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import FileRef
from dgtd.harness.runs.trainers.trainer import prepared

AnyRule = str | Rule | Callable[..., Any]
AnyProblem = str | Problem
Function = TypeVar("Function", bound=Callable[..., Any])
HERE = "in memory"  # the path of a rule that has no file
# What the arguments of the face are, by their names, which mean the same in every function.
WHERE = ("store", "executor", "workers", "scheduler", "timeout")
LOWEST = {"batch": 1, "passes": 1, "actions": 1}
WHOLE = ("steps", "seeds", "seed", "atoms", "workers", *LOWEST)
TEXT = ("name", "claim", "profile", "target", "predictor", "projection", "schedule", "executor", "scheduler")
REAL = ("alpha", "beta", "timeout")


def checked(function: Function) -> Function:
    """The function, in which an argument of a wrong type, or an unknown one of `where`, is an error that names it."""
    known = signature(function)

    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        check_call(function, known.bind(*given, **named).arguments)
        return function(*given, **named)

    return cast(Function, called)


def check_call(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """What `checked` looks at: arguments that are not at their default."""
    usual = dict.fromkeys(WHERE) | {name: each.default for name, each in signature(function).parameters.items()}
    usual.pop("where", None)
    for name, value in {**given, **given.get("where", {})}.items():
        if name != "where" and value is not look_up("argument", name, usual):
            check(name, value)


def check(name: str, value: Any) -> None:
    """ValueError unless a value is of the kind that its name says."""
    if name in WHOLE:
        whole(name, value, LOWEST.get(name, 0))
    elif name in TEXT and not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {value!r:.80}")
    elif name in REAL and (isinstance(value, bool) or not isinstance(value, Real)):
        raise ValueError(f"{name} must be a number, got {value!r:.80}")
    elif name == "store" and not isinstance(value, str | os.PathLike):
        raise ValueError(f"store must name a file, got {value!r:.80}")


def many(given: Any) -> list[Any]:
    """A list of what may be one thing, or names separated by commas; each once."""
    if isinstance(given, str):
        return list(split(given))
    if callable(given) or not isinstance(given, Iterable):
        return [given]
    listed = [str(each) if isinstance(each, str) else each for each in given]
    return [each for i, each in enumerate(listed) if not any(each is one or each == one for one in listed[:i])]


def rule_of(given: AnyRule) -> FileRef:
    """A name, `file.py:function`, a rule, or a function of (delta, u, rho)."""
    if isinstance(given, str):
        return named(given)
    if isinstance(given, partial) or not callable(given):
        raise ValueError(f"rule must be a name or a function of (delta, u, rho), got {given!r}")
    if isinstance(given, Rule) and _from_file(given):
        return reference_of(given)
    made = given if isinstance(given, Rule) else rule(given)
    if not isinstance(made.function, FunctionType):
        return reference_of(made)
    # A copy: what the function uses may have changed since it was last handed over, and then it is another rule.
    own = made.function
    copy = FunctionType(own.__code__, own.__globals__, own.__name__, own.__defaults__, own.__closure__)
    return reference_of(replace(made, function=copy))


def place_of(given: AnyProblem) -> str:
    """A name, or a problem that is known in this process from now on."""
    if isinstance(given, str):
        return given
    if not isinstance(given, Problem):
        raise ValueError(f"problem must be a name or a dgtd.Problem, got {type(given).__name__}")
    if given.name in installed("problems") and _is_installed(given):
        return given.name
    if remember(given):  # another one of this name is forgotten, and with it what was made from it
        prepared.cache_clear()
        run_hash.cache_clear()
    return given.name


def _is_installed(given: Problem) -> bool:
    return find_problem(given.name).identity == given.identity


def places_of(given: Iterable[AnyProblem]) -> tuple[str, ...]:
    """Of several, which must not be two of one name."""
    listed = list(given)
    for a, b in combinations([each for each in listed if isinstance(each, Problem)], 2):
        if a.name == b.name and a.identity != b.identity:
            raise ValueError(f"two problems are named {a.name!r}: give one another name, mdp.with_(name=...)")
    return tuple(dict.fromkeys(map(place_of, listed)))


def where_of(
    objects: Iterable[Any], store: str | Path | None = None, executor: str | None = None, workers: int | None = None,
    scheduler: str | None = None, timeout: float | None = None,
) -> Where:  # fmt: skip
    """Who runs lanes and which file keeps them. What was made in this process, from no file, is run in it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError("workers import this script anew: put what it calls below `if __name__ == '__main__':`")
    local = [each for each in objects if not _from_file(each)]
    chosen = executor or os.environ.get("DGTD_EXECUTOR") or ("in-process" if local else "pool")
    if local and chosen != "in-process":
        name = getattr(local[0], "name", getattr(local[0], "__name__", local[0]))
        raise ValueError(
            f"{name!r} was made in this process and has no file: executor must be 'in-process', or write 'file.py:name'"
        )
    if local and executor is None:
        print("dgtd: objects without a file are run in this process", file=sys.stderr)
    path = Path(store or os.environ.get("DGTD_STORE") or "results/dgtd.sqlite").expanduser()
    where = Where(executor=chosen, workers=workers, scheduler=scheduler, timeout=timeout, store=path)
    _ = where.make  # a wrong executor is an error before there is a store
    return where


def _from_file(given: Any) -> bool:
    if isinstance(given, str):
        return not is_here(given)
    if isinstance(given, Problem):
        return given.name in installed("problems")
    return isinstance(given, Rule) and reference_of(given).path != HERE
