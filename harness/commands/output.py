"""What commands print: a table for people, JSON for machines, and nothing else on stdout."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from dgtd.algorithms.names import unknown

if TYPE_CHECKING:
    from rich.console import Console

    from dgtd.harness.experiment.search import Grid
    from dgtd.harness.judging.conformance import Complaint
    from dgtd.harness.runs.store import Store

AsJson = typer.Option(False, "--json", help="Print JSON, and nothing else, on stdout.")
PIPED = 140  # columns of a table that goes into a file or a pipe, if COLUMNS says nothing
_stdout: list[TextIO] = []


@contextmanager
def own_stdout() -> Iterator[None]:
    """What stdout is now is where `say` and the others print: whatever else prints there is redirected."""
    _stdout.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.pop()


def stdout() -> TextIO:
    """Where a command prints what it was asked for."""
    return _stdout[-1] if _stdout else sys.stdout


def aside(text: str) -> None:
    """For whoever waits, not for whoever reads stdout."""
    print(f"dgtd: {text}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Some lines of text on stdout."""
    print(printable(text), file=stdout())


def printable(text: str) -> str:
    """Without what moves a terminal's cursor or changes its colours: names come from users."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "�" for letter in text)


def plain(value: Any) -> Any:
    """The value with arrays as lists and numbers that JSON can't hold as null."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def print_json(value: Any) -> None:
    """One JSON document, in letters that stdout has."""
    unicode = (stdout().encoding or "").lower().replace("-", "").startswith("utf")
    print(json.dumps(plain(value), indent=2, ensure_ascii=not unicode), file=stdout())


def save_json(path: Path, value: Any) -> None:
    """A document for other programs."""
    path.write_text(json.dumps(plain(value), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def print_table(title: str, columns: list[str], rows: list[list[str]], numbers: Collection[int] = ()) -> None:
    """A table that fits the terminal. Cells are text as it stands: a name may look like markup."""
    from rich.text import Text

    from dgtd.harness.commands.tables import tables

    console = _console()
    cells = [[printable(cell) for cell in row] for row in rows]
    for part in tables(printable(title), [printable(each) for each in columns], cells, numbers, console.width):
        console.print(Text(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))


def print_grid(title: str, grid: Grid, cell: Callable[[float, float], str]) -> None:
    """A row for each α and a column for each β/α; `cell` takes both."""
    columns = ["α", *(f"β/α = {ratio:g}" for ratio in grid.ratios)]
    rows = [[f"{alpha:.4g}", *(cell(alpha, ratio) for ratio in grid.ratios)] for alpha in grid.alphas]
    print_table(title, columns, rows, numbers=set(range(len(columns))))


def tell(text: str) -> None:
    """Sentences on stdout, wrapped at words for whoever reads them on a terminal."""
    from dgtd.harness.commands.tables import lines_of

    console = _console()
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else None
    say(text if width is None else "\n".join(lines_of(text, width)))


def _console() -> Console:
    """Of stdout. What is no terminal gets plain text, as wide as COLUMNS says."""
    from rich.console import Console

    console = Console(file=stdout(), highlight=False)
    if console.is_terminal:
        return console
    given = os.environ.get("COLUMNS", "")
    width = int(given) if given.isdecimal() and int(given) > 0 else PIPED
    return Console(file=stdout(), highlight=False, width=width, no_color=True)


def open_store(path: Path) -> Store:
    """The store; a damaged one, or one of another version, is an error by name."""
    from dgtd.harness.runs.store import Store

    return Store(path)


@contextmanager
def open_to_read(path: Path) -> Iterator[Store]:
    """A store that must be there, and is not changed: the medium may be read-only."""
    from dgtd.harness.runs.database import StoreError
    from dgtd.harness.runs.store import Store

    if not path.exists():
        raise ValueError(f"no store {str(path)!r}: `dgtd run` makes one")
    with Store(path, read_only=True) as store:
        try:
            yield store
        except (OSError, StoreError):
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            words = f"{type(error).__name__}: {error}"
            raise StoreError(f"store {str(path)!r} holds a run that can't be read ({words})") from error


def of_names(runs: list[dict[str, Any]], **filters: str | None) -> list[dict[str, Any]]:
    """The runs whose columns have these values, where one is given; one that no run has is a mistake."""
    for name, value in filters.items():
        there = sorted({str(run[name]) for run in runs})
        if value is not None and value not in there:
            raise unknown(f"{name} in the store", value, there)
    return [run for run in runs if all(value in (None, run[name]) for name, value in filters.items())]


def check_file(name: str, path: Path | None) -> None:
    """Checked before the work that ends in the file, not after it."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise ValueError(f"{name}: no folder {str(path.parent)!r} to write {path.name!r} into")
    if path.is_dir():
        raise ValueError(f"{name} must name a file, got the folder {str(path)!r}")


def counted(found: dict[str, int]) -> str:
    """'5 converged, 2 diverged'."""
    return ", ".join(f"{count} {what}" for what, count in found.items()) or "none"


def short(values: Any, most: int = 10) -> str:
    """A few numbers of an array, and how many more there are."""
    import numpy as np

    flat = np.asarray(values).ravel()
    shown = ", ".join(f"{x:.6g}" for x in flat[:most])
    return shown + (f", … ({len(flat)} in all)" if len(flat) > most else "")


def tell_complaints(name: str, found: list[Complaint], as_json: bool) -> int:
    """What is wrong with a rule, problem or suite, and the exit code."""
    if as_json:
        print_json([{"check": complaint.check, "words": complaint.words} for complaint in found])
    else:
        for complaint in found:
            tell(f"{complaint.check}: {complaint.words}")
        say(f"{name}: {len(found)} complaint{'s' * (len(found) > 1)}" if found else f"{name} is what it says")
    return 1 if found else 0
