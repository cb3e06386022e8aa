"""Error messages for unknown names: they suggest the nearest known name."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


def unknown(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """The error for `name`, with the nearest of `known` if one is close."""
    choices = sorted(known)
    near = get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(choices)}"
    return ValueError(f"no {kind} {name!r}; {hint}")


def look_up(kind: str, name: str, table: Mapping[str, T]) -> T:
    """table[name], or a ValueError with a suggestion."""
    if name not in table:
        raise unknown(kind, name, table)
    return table[name]
