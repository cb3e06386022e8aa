"""Hashes of values: equal values have equal hashes, in every process and on every machine.

The hash of a function covers its source, the globals and closures it uses, and recursively the functions among them.
A value that can't be hashed by its content (an open file, an object of some class) is refused.
"""

import enum
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def digest(*values: Any) -> str:
    """16 hexadecimal digits. Numbers are equal across types, as in Python: 1 and 1.0 have the same hash."""
    hasher = hashlib.sha256()
    for part in _parts(list(values), {}):
        hasher.update(part)
    return hasher.hexdigest()[:16]


def _parts(value: Any, seen: dict[int, int]) -> Iterator[bytes]:
    """The value as bytes that no other value has."""
    if value is None or isinstance(value, str | bytes | bool | np.bool_):
        yield f"{type(value).__name__.strip('_')}:{value!r};".encode()
    elif isinstance(value, enum.Enum):
        yield f"{type(value).__name__}.{value.name};".encode()
    elif isinstance(value, int | float | np.integer | np.floating):
        whole = isinstance(value, int | np.integer) or float(value).is_integer()
        exact = int(value) if whole else float(value).hex()
        yield f"number:{exact};".encode()
    elif isinstance(value, np.ndarray):
        yield f"array:{value.dtype.str}:{value.shape};".encode()
        yield np.ascontiguousarray(value).tobytes() if value.dtype != object else b"".join(_parts(value.tolist(), seen))
    elif isinstance(value, list | tuple):
        yield f"sequence:{len(value)};".encode()
        for item in value:
            yield from _parts(item, seen)
    elif isinstance(value, dict | set | frozenset):
        items = value.items() if isinstance(value, dict) else value
        yield f"{'mapping' if isinstance(value, dict) else 'set'}:{len(value)};".encode()
        yield from sorted(b"".join(_parts(item, seen)) for item in items)
    elif id(value) in seen:  # a function that calls itself
        yield f"seen:{seen[id(value)]};".encode()
    else:
        seen[id(value)] = len(seen)
        yield from _object(value, seen)


def _object(value: Any, seen: dict[int, int]) -> Iterator[bytes]:
    if isinstance(value, FunctionType):
        yield b"function:"
        yield from _parts([_source(value), value.__defaults__, value.__kwdefaults__], seen)
        for name, used in sorted(_used(value).items()):
            yield name.encode() + b"="
            yield from _parts(used, seen)
    elif hasattr(value, "py_func"):  # a numba function
        yield from _parts(value.py_func, seen)
    elif isinstance(value, ModuleType):
        yield from _parts(_module(value), seen)
    elif isinstance(value, type) and not _installed(sys.modules.get(value.__module__, sys)):
        yield from _parts([value.__qualname__, _source(value)], seen)
    elif isinstance(value, BuiltinFunctionType | np.ufunc | type) or _of_numpy(value):
        yield f"named:{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', repr(value))};".encode()
    elif is_dataclass(value):
        yield f"record:{type(value).__qualname__};".encode()
        yield from _parts({field.name: getattr(value, field.name) for field in fields(value)}, seen)
    else:
        raise ValueError(
            f"{value!r} of type {type(value).__name__} can't be fingerprinted: use numbers, text, arrays and functions"
        )


def _of_numpy(value: Any) -> bool:
    """numpy's own functions are objects of various classes."""
    return callable(value) and type(value).__module__.split(".")[0] in ("numpy", "builtins")


def _source(thing: FunctionType | type) -> str:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):  # typed at a prompt: only the bytecode is available
        if isinstance(thing, type):
            raise ValueError(f"class {thing.__qualname__} has no source, so it can't be fingerprinted") from None
        code = thing.__code__
        return repr((code.co_code.hex(), [c for c in code.co_consts if not isinstance(c, CodeType)], code.co_names))


def _used(function: FunctionType) -> dict[str, Any]:
    """Globals and closures that the function, or a function inside it, uses, including attributes of modules."""
    names, closed = set(_names(function.__code__)), inspect.getclosurevars(function).nonlocals
    found = {name: value for name, value in function.__globals__.items() if name in names} | dict(closed)
    for module in [value for value in found.values() if isinstance(value, ModuleType)]:
        if not _installed(module):  # a helper file of the user: only what is used of it
            found |= {f"{module.__name__}.{name}": getattr(module, name) for name in names if hasattr(module, name)}
    return found


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _module(module: ModuleType) -> str:
    package = module.__name__.split(".")[0]
    try:
        return f"{module.__name__} {version(package)}"
    except PackageNotFoundError:
        return module.__name__


def _installed(module: ModuleType) -> bool:
    """Part of Python, of a distribution, or of this package: hashed by name, or by its sources as a whole."""
    file = getattr(module, "__file__", None)
    if module.__name__.split(".")[0] == __name__.split(".")[0]:
        return True
    return file is None or any(place in file for place in ("site-packages", "lib/python"))
