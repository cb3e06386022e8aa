"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from concurrent.futures import Executor

PredictorText = typer.Option(
    None, "--predictor", help="linear, table, mlp(50), mlp(64,64,relu), own, or file.py:function (a torch module)."
)


def a_path(text: str | Path) -> Path:
    """Of an option: an empty text would name the current folder."""
    if not str(text).strip() or "\0" in str(text):
        raise typer.BadParameter(f"must name a file or a folder, got {str(text)!r}")
    return Path(text)


def path_option(name: str, says: str, default: Path | None = None, **more: Any) -> Any:
    """An option that takes a file or a folder."""
    return typer.Option(default, name, help=says, parser=a_path, metavar="PATH", **more)


UntilDecided = typer.Option(
    False, "--until-decided", help="Add seeds, doubling them, until every question is decided or too small to matter."
)
AtMostText = typer.Option(
    None, "--at-most", help="With --until-decided: 2h, '2000 seeds', or both; 32 times as many seeds as at first."
)
StorePath = path_option("--store", "The file that results live in.", Path("results/dgtd.sqlite"), envvar="DGTD_STORE")
RESUME = "what is finished is kept: the same command goes on from there"
INTERRUPTED = 130


@dataclass(frozen=True)
class Where:
    """Who runs lanes, for how long at most, and which file keeps them: the options of every command that runs some."""

    executor: str = typer.Option("pool", envvar="DGTD_EXECUTOR", help="in-process, pool or dask.")
    workers: int | None = typer.Option(None, help="Processes of the pool; one per core by default.")
    scheduler: str | None = typer.Option(None, help="Address of a Dask scheduler, as in tcp://127.0.0.1:8786.")
    timeout: float | None = typer.Option(None, help="Seconds that a cohort of lanes, or a job, may take.")
    store: Path = StorePath

    def __post_init__(self) -> None:
        from dgtd.harness.runs.timeouts import check_timeout

        check_timeout(self.timeout)

    @property
    def make(self) -> Callable[[], Executor]:
        """What makes the executor."""
        from dgtd.harness.runs.executors import executor_maker

        return executor_maker(self.executor, self.workers, self.scheduler)


@dataclass(frozen=True)
class ActingOptions:
    """How a learner acts in a world, where it is not as its kind does: options of `run` and `compare`."""

    gamma: float | None = typer.Option(None, help="The discount.")
    range: str | None = typer.Option(None, help="Where returns lie, for the atoms of laws, as in -10,20.")
    explore: str | None = typer.Option(None, help="ε at first and at last, as in 0.1,0.02.")
    explore_steps: int | None = typer.Option(None, help="Steps until ε is at its last.")
    batch: int | None = typer.Option(None, help="Transitions per update.")
    every: int | None = typer.Option(None, help="Agents: steps between two updates.")
    begin: int | None = typer.Option(None, help="Agents: steps before the first update.")
    capacity: int | None = typer.Option(None, help="Transitions that the replay keeps.")
    states: str | None = typer.Option(
        None, help="Where laws are kept, as in '0,0,0.1,0;0,0,-0.1,0'. Otherwise: where all is 0."
    )

    @property
    def settings(self) -> dict[str, Any]:
        """What was given, by the names of a `Control` or an `Iteration`."""
        names = ("gamma", "explore_steps", "batch", "every", "begin", "capacity")
        made = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.range is not None:
            made["v_min"], made["v_max"] = numbers("range", self.range, 2)
        if self.explore is not None:
            made["explore"] = numbers("explore", self.explore, 2)
        return made

    @property
    def observations(self) -> tuple[tuple[float, ...], ...]:
        """Where laws are kept."""
        return () if self.states is None else tuple(numbers("states", part) for part in self.states.split(";"))

    def refuse(self, problem: str) -> None:
        """ValueError if something was given: there is no world."""
        if given := [name for name, value in vars(self).items() if value is not None]:
            raise ValueError(f"{', '.join(given)} is for learners in a world, and {problem!r} is none")


def numbers(name: str, text: str, count: int = 0) -> tuple[float, ...]:
    """Separated by commas; so many of them, if that is said."""
    try:
        found = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found or (count and len(found) != count):
        many = {0: "numbers separated by commas", 2: "two numbers separated by a comma"}[count]
        raise ValueError(f"{name} must be {many}, got {text!r}")
    return found


def moment(name: str, text: str) -> datetime:
    """A date, of this place's clock unless it says another, or an age: s, m, h, d or w ago. In UTC."""
    try:
        if age := re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip()):
            unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[age[2]]
            return datetime.now(UTC) - timedelta(**{unit: float(age[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be a date, as in 2026-05-31, or an age, as in 2h or 3d, got {text!r}") from None


def runs_lanes(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of `Where` in place of its parameter `where`, which collects them.

    So for `ActingOptions`, if it has such a parameter. Typer reads a function's signature, so the signature is what
    changes.
    """
    own = inspect.signature(command, eval_str=True)
    records = {p.name: p.annotation for p in own.parameters.values() if p.annotation in (Where, ActingOptions)}
    options = {name: _fields(record) for name, record in records.items()}
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values() if p.name not in records]

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        made = {
            name: record(**{option.name: given.pop(option.name) for option in options[name]})
            for name, record in records.items()
        }
        return command(**given, **made)

    spread = [option for name in reversed(records) for option in options[name]]  # the common ones last
    signature = own.replace(parameters=[*rest, *spread])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return wrapped


def _fields(record: type) -> list[inspect.Parameter]:
    """The options of a record, as parameters of a command."""
    hints = typing.get_type_hints(record)
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(record)
    ]
