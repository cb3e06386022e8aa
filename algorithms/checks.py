"""Checks: each raises a ValueError that names the argument and its value."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class InterruptedByUser(KeyboardInterrupt):
    """A real Ctrl-C: raised by the harness's signal handlers only. Whoever catches what a rule raises lets it pass."""


def positive(name: str, value: ArrayLike) -> None:
    """Every entry is finite and above 0."""
    array = _numbers(name, value)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive and finite, got {_show(value)}")


def within(name: str, value: ArrayLike, low: float, high: float) -> None:
    """Every entry is in [low, high]."""
    array = _numbers(name, value)
    if not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {_show(value)}")


def finite(name: str, value: ArrayLike) -> Floats:
    """The array, if it has no NaN and no infinity."""
    array = _numbers(name, value)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at index {where}")
    return array


def shape(name: str, array: Any, expected: tuple[int | None, ...]) -> None:
    """array.shape fits, where None stands for any length."""
    actual = tuple(array.shape)
    if actual == expected:  # the common case: a step of a run is checked too
        return
    if len(actual) != len(expected) or any(e not in (None, a) for a, e in zip(actual, expected, strict=True)):
        wanted = ", ".join("any" if e is None else str(e) for e in expected)
        raise ValueError(f"{name} must have shape ({wanted}), got {actual}")


def integers(name: str, value: ArrayLike) -> Integers:
    """A copy of the array as int64, if every entry is a whole number."""
    array = np.asarray(value) if isinstance(value, np.ndarray) else _numbers(name, value)
    if array.dtype.kind not in "iu":
        array = finite(name, array)
        if not ((array == np.floor(array)) & (np.abs(array) < 2.0**62)).all():
            raise ValueError(f"{name} must be whole numbers, got {_show(array)}")
    return np.array(array, dtype=np.int64, order="C")


def flags(name: str, value: ArrayLike) -> NDArray[np.bool_]:
    """A copy of the array as booleans; 0 and 1 are booleans, other numbers are not."""
    array = np.asarray(value) if isinstance(value, np.ndarray) else _numbers(name, value)
    if array.dtype.kind != "b" and not np.isin(_numbers(name, array), (0.0, 1.0)).all():
        raise ValueError(f"{name} must be booleans, got {_show(array)}")
    return np.array(array, dtype=np.bool_, order="C")


def at_least(name: str, value: float, low: float) -> None:
    """One number, not below `low`."""
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if not value >= low:
        raise ValueError(f"{name} must be at least {low:g}, got {value}")


def whole(name: str, value: int, low: int, high: int | None = None) -> None:
    """One whole number, in [low, high]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    if high is not None and value > high:
        raise ValueError(f"{name} must be at most {high}, got {value}")


def _numbers(name: str, value: ArrayLike) -> Floats:
    """The array as float64; what is no array of real numbers is an error that names the argument."""
    try:
        array = np.asarray(value)
        if array.dtype == np.float64 and array.flags.c_contiguous:
            return array
        if array.dtype.kind not in "biuf" and array.size:
            raise TypeError
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r:.80}") from None


def _show(value: ArrayLike) -> str:
    return np.array2string(np.asarray(value), threshold=6)
