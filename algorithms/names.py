"""Names: a package's own, imported when they are first asked for, and errors that suggest the nearest known one."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar

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


def lazily(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`; `places` says which module has a name ('' for a module of that name)."""

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        return getattr(import_module(f"{package}.{module}"), name) if module else import_module(f"{package}.{name}")

    return get
