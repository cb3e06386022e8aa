"""Compiled functions that are cached on disk and never stale.

numba's own cache checks only the file of the function: a kernel that inlines a helper of another module would keep
running the helper's old code. Here a cached function belongs to the sources of the whole package, and of its own file
if that is in another package (which must not inline from a third). The cache is in the user's cache folder, where an
installed package can also write.
"""

import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import numba as nb
import numpy as np
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, Integers

# `reassoc` lets LLVM vectorise dot products. NaN and infinity keep their meaning: divergence is data.
FASTMATH = {"reassoc", "contract", "nsz"}

NO_CACHE = "can't keep compiled code"
PACKAGE = Path(__file__).parents[1]

_F1, _F2, _F3, _F4 = (types.Array(types.float64, d, "C") for d in (1, 2, 3, 4))
_I1, _I2 = (types.Array(types.int64, d, "C") for d in (1, 2))
# Fields of a record, as Python and as numba see them.
Floats1 = Annotated[Floats, _F1]
Floats2 = Annotated[Floats, _F2]
Floats3 = Annotated[Floats, _F3]
# The same where a kernel has a form in single precision: weights, and what is added to them.
REAL = "float32 in the single form"
Reals1 = Annotated[Floats, _F1, REAL]
Reals2 = Annotated[Floats, _F2, REAL]
Reals3 = Annotated[Floats, _F3, REAL]
Reals4 = Annotated[Floats, _F4, REAL]
Integers1 = Annotated[Integers, _I1]
Integers2 = Annotated[Integers, _I2]
Singles2 = Annotated[NDArray[np.float32], types.Array(types.float32, 2, "C")]
Singles3 = Annotated[NDArray[np.float32], types.Array(types.float32, 3, "C")]
Flags1 = Annotated[NDArray[np.bool_], types.Array(types.boolean, 1, "C")]
Streams = Annotated[NDArray[np.uint64], types.Array(types.uint64, 2, "C")]
Number = Annotated[float, types.float64]
Integer = Annotated[int, types.int64]
Flag = Annotated[bool, types.boolean]


def type_of(field: Any, single: bool = False) -> Any:
    """numba's type of one of the names above, or of a NamedTuple whose fields are annotated with them."""
    if isinstance(field, types.Type):
        return field
    if not hasattr(field, "_fields"):
        found = get_args(field)[1]
        return found.copy(dtype=types.float32) if single and REAL in get_args(field) else found
    fields = [type_of(hint, single) for hint in get_type_hints(field, include_extras=True).values()]
    if len(set(fields)) == 1:  # numba has another type for records of one kind
        return types.NamedUniTuple(fields[0], len(fields), field)
    return types.NamedTuple(fields, field)


class Compiled:
    """A function that is compiled when it is first called, or loaded from the disk cache."""

    def __init__(self, function: Callable[..., Any], returns: Any, arguments: Any, options: dict[str, Any]) -> None:
        self.py_func, self._returns, self._arguments, self._options = function, returns, arguments, options

    @cached_property
    def dispatcher(self) -> Any:
        """numba's function."""
        return self._compile(False)

    @cached_property
    def single(self) -> Any:
        """The same in single precision, where its arguments say REAL."""
        return self._compile(True)

    def of(self, dtype: Any) -> Any:
        return self.single if dtype == np.float32 else self.dispatcher

    def _compile(self, single: bool) -> Any:
        made = nb.njit(**self._options)(self.py_func)
        made._cache = _disk_cache(self.py_func)
        made.compile(self._returns(*(type_of(each, single) for each in self._arguments)))
        made.disable_compile()
        return made

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)


def compiled(
    *arguments: Any, returns: Any = types.void, fastmath: bool = False, bare: bool = False
) -> Callable[[Any], Compiled]:
    """Decorator, for functions that take arguments of these types (see `type_of`), and return nothing unless said.

    bare   no reference counts, so nothing can be allocated inside; and no lock, so threads can call it at once
    """
    # What returns something may be handed to another as a function, and needs a wrapper for that.
    options: dict[str, Any] = {"fastmath": FASTMATH if fastmath else False, "no_cfunc_wrapper": returns is types.void}
    if bare:
        options |= {"_nrt": False, "nogil": True}
    return lambda function: Compiled(function, returns, arguments, options)


def inlined(fastmath: Any = False, **options: Any) -> Callable[[Any], Any]:
    """Decorator, for what kernels call at every step: LLVM puts it in its place.

    numba's own inlining leads to the same speed and takes up to half as long again to compile. And here a function's
    arithmetic stays its own: one that may not be reordered is safe inside one that may.
    """
    return helper(fastmath, forceinline=True, **options)


def helper(fastmath: Any = False, **options: Any) -> Callable[[Any], Any]:
    """Decorator, for what only kernels call: wrappers for Python and C are a fifth of the time that compiling takes."""
    bare = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Callable[[Any], Any] = nb.njit(fastmath=fastmath, **(bare | options))
    return made


def cache_folder() -> Path:
    """DGTD_CACHE, or `dgtd` in the user's cache folder."""
    if given := os.environ.get("DGTD_CACHE"):
        return Path(given)
    home = {"win32": os.environ.get("LOCALAPPDATA", ""), "darwin": "~/Library/Caches"}.get(sys.platform, "")
    return Path(home or os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "dgtd"


def has_compiled(source: bytes) -> bool:
    """Whether a module may have compiled functions."""
    return b"numba" in source or b"dgtd.algorithms.fast.compiling" in source


@cache
def source_stamp() -> str:
    """A hash of every module of this package that has compiled functions: they may inline each other."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        source = file.read_bytes()
        if has_compiled(source):
            digest.update(file.relative_to(PACKAGE).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()


@cache
def stamp_of(file: str) -> str:
    """Of a file with compiled functions: this package's, and its own source if it belongs to another one."""
    path = Path(file)
    if path.is_relative_to(PACKAGE):
        return source_stamp()
    return hashlib.sha256(source_stamp().encode() + path.read_bytes()).hexdigest()


class _Locator(_CacheLocator):
    def __init__(self, function: Any, file: str) -> None:
        self._function, self._stamp = function, stamp_of(file)
        # One folder per version: an index refers to our records by name, and can't be read after one is renamed.
        self._path = str(cache_folder() / f"kernels-{self._stamp[:16]}")

    def get_cache_path(self) -> str:
        return self._path

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        made = cls(py_func, py_file)
        made.ensure_cache_path()
        return made


class _Results(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _Results


def _disk_cache(function: Callable[..., Any]) -> Any:
    try:
        return _Cache(function)
    except OSError as error:
        _warn_once(str(error))
        return NullCache()


def check_cache() -> None:
    """Warn, once, if compiled code can't be kept."""
    try:
        _Locator(check_cache, __file__).ensure_cache_path()
    except OSError as error:
        _warn_once(str(error))


@cache
def _warn_once(reason: str) -> None:
    words = f"{NO_CACHE} in {cache_folder()} ({reason}): every start compiles again; set DGTD_CACHE"
    warnings.warn(words, stacklevel=2)
