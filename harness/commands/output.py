"""What commands print: a table for people, JSON for machines, and nothing else on stdout."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from harness.runs.store import Store

AsJson = typer.Option(False, "--json", help="Print JSON, and nothing else, on stdout.")


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
    """One JSON document."""
    typer.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))


def print_table(title: str, columns: list[str], rows: list[list[str]], numbers: set[int] = frozenset()) -> None:  # type: ignore[assignment]
    """A table as wide as the terminal."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    console.print(table)


def open_store(path: Path) -> Store:
    """The store, and one line on stderr if an older version wrote some of it."""
    from harness.runs.store import Store

    return _with_word(Store(path))


def open_to_read(path: Path) -> Store:
    """A store that must be there, and is not changed: the medium may be read-only."""
    from harness.runs.store import Store

    if not path.exists():
        raise ValueError(f"no store {str(path)!r}: `dgtd run` makes one")
    return _with_word(Store(path, read_only=True))


def _with_word(store: Store) -> Store:
    if store.older:
        words = f"{store.older} runs of an older version: they are listed and exported, and none is reused"
        print(f"dgtd: store {str(store.path)!r} has {words}", file=sys.stderr)
    return store


def short(values: Any, most: int = 10) -> str:
    """A few numbers of an array, and how many more there are."""
    import numpy as np

    flat = np.asarray(values).ravel()
    shown = ", ".join(f"{x:.6g}" for x in flat[:most])
    return shown + (f", … ({len(flat)} in all)" if len(flat) > most else "")
