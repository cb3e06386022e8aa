"""A package's public names, imported when they are first asked for: `import harness` must stay fast."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazily(package: str, places: dict[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`; `places` says which module has a name ('' for a module of that name)."""

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = places[name]
        return getattr(import_module(f"{package}.{module}"), name) if module else import_module(f"{package}.{name}")

    return get
