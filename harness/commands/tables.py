"""Tables that fit a terminal: text wraps at words, and ids and numbers are never split.

Where the columns are too many for the width, a table of numbers is printed in blocks of columns, each with the first
column again; a table of texts is printed line by line, one record below the other.
"""

import textwrap
from collections.abc import Collection, Iterator
from typing import Any

INDENT = "  "
GAP = 2  # spaces around a cell, as rich draws it
Rows = list[list[str]]


def lines_of(text: str, width: int, indent: str = "") -> list[str]:
    """Wrapped at words; a word that is too long stays whole, and later lines stand below the first word."""
    out = []
    for line in text.split("\n"):
        start = line[: len(line) - len(line.lstrip(" ·"))]
        later = indent + " " * len(start)
        out += textwrap.wrap(
            line, width, subsequent_indent=later, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        ) or [""]  # fmt: skip
    return out


def tables(title: str, columns: list[str], rows: Rows, numbers: Collection[int], width: int) -> Iterator[Any]:
    """What rich prints: one table, or as many as the width takes."""
    least = [_least(i, column, rows, numbers) for i, column in enumerate(columns)]
    if _fits(least, width):
        yield _table(title, columns, rows, numbers, least, width)
    elif not numbers:
        yield "\n".join(_records(title, columns, rows, width))
    else:
        for i, block in enumerate(_blocks(least, width)):
            names, narrow = [columns[j] for j in block], [least[j] for j in block]
            cells = [[row[j] for j in block] for row in rows]
            inside = {k for k, j in enumerate(block) if j in numbers}
            yield _table(title if i == 0 else "", names, cells, inside, narrow, width)


def _least(i: int, column: str, rows: Rows, numbers: Collection[int]) -> int:
    """The narrowest that a column may be: its longest word; numbers with their intervals stay on one line."""
    words = [word for row in rows for word in ([row[i]] if i in numbers else row[i].split())]
    return max((_cells(word) for word in (*words, *column.split())), default=1)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _room(columns: int, width: int) -> int:
    """What the borders and gaps of a table leave for its cells."""
    return width - GAP * columns - (columns - 1) - 2


def _fits(least: list[int], width: int) -> bool:
    return sum(least) <= _room(len(least), width)


def _blocks(least: list[int], width: int) -> list[list[int]]:
    """Columns in order, as many in a block as fit beside the first."""
    blocks: list[list[int]] = [[0]]
    for i in range(1, len(least)):
        if len(blocks[-1]) > 1 and not _fits([least[j] for j in (*blocks[-1], i)], width):
            blocks.append([0])
        blocks[-1].append(i)
    return blocks


def _widths(columns: list[str], rows: Rows, least: list[int], width: int) -> list[int]:
    """As wide as their cells want to be, as far as there is room: what is left goes to those that have the least."""
    wanted = [max(_cells(cell) for cell in (column, *(row[i] for row in rows))) for i, column in enumerate(columns)]
    found = list(least)
    left = _room(len(columns), width) - sum(found)
    while left > 0 and (open_ := [i for i in range(len(found)) if found[i] < wanted[i]]):
        found[min(open_, key=lambda i: found[i])] += 1
        left -= 1
    return found


def _table(title: str, columns: list[str], rows: Rows, numbers: Collection[int], least: list[int], width: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title, style="table.title") if title else None, box=box.SIMPLE_HEAD, title_justify="left")
    widths = _widths(columns, rows, least, width)
    for i, column in enumerate(columns):
        # Width by width: left to itself rich shrinks a column below its longest word.
        table.add_column(Text(column), justify="right" if i in numbers else "left", overflow="fold", width=widths[i])
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _records(title: str, columns: list[str], rows: Rows, width: int) -> Iterator[str]:
    if title:
        yield from (title, "")
    names = [f"{column}  " if column else "" for column in columns[1:]]
    widest = max((_cells(name) for name in names), default=0)
    for row in rows:
        yield row[0]
        for name, cell in zip(names, row[1:], strict=True):
            start = INDENT + name.ljust(widest)
            yield from lines_of(start + cell, width, indent=" " * (len(start) - len(INDENT)))
    yield ""
