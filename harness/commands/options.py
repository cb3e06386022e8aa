"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
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


StorePath = typer.Option(
    Path("results/dgtd.sqlite"), "--store", envvar="DGTD_STORE", help="The file that results live in.",
    parser=a_path, metavar="PATH",
)  # fmt: skip
RESUME = "what is finished is kept: the same command goes on from there"
LEARNERS = dict.fromkeys(("agent", "policy-iteration"))  # in a world
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
        from harness.runs.timeouts import check_timeout

        check_timeout(self.timeout)

    @property
    def make(self) -> Callable[[], Executor]:
        """What makes the executor."""
        from harness.runs.executors import executor_maker

        return executor_maker(self.executor, self.workers, self.scheduler)


def runs_lanes(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of `Where` in place of its parameter `where`, which collects them.

    Typer reads a function's signature, so the signature is what changes.
    """
    hints = typing.get_type_hints(Where)
    options = {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in ((field, Where.__dataclass_fields__[field].default) for field in hints)
    }
    own = inspect.signature(command, eval_str=True)
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values() if p.name != "where"]

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        where = Where(**{name: given.pop(name) for name in options})
        return command(**given, where=where)

    signature = own.replace(parameters=[*rest, *options.values()])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    wrapped.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return wrapped
