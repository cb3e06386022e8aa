"""Argument checks: each raises a ValueError that names the argument and its value."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def positive(name: str, value: ArrayLike) -> None:
    """Every entry is finite and above 0."""
    array = np.asarray(value, dtype=float)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive and finite, got {_show(value)}")


def within(name: str, value: ArrayLike, low: float, high: float) -> None:
    """Every entry is in [low, high]."""
    array = np.asarray(value, dtype=float)
    if not ((array >= low) & (array <= high)).all():
        raise ValueError(f"{name} must be in [{low:g}, {high:g}], got {_show(value)}")


def finite(name: str, value: ArrayLike) -> Floats:
    """The array, if it has no NaN and no infinity."""
    array = np.asarray(value, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at index {where}")
    return array


def shape(name: str, array: Any, expected: tuple[int | None, ...]) -> None:
    """array.shape fits, where None stands for any length."""
    actual = tuple(array.shape)
    if len(actual) != len(expected) or any(e not in (None, a) for a, e in zip(actual, expected, strict=True)):
        wanted = ", ".join("any" if e is None else str(e) for e in expected)
        raise ValueError(f"{name} must have shape ({wanted}), got {actual}")


def at_least(name: str, value: float, low: float) -> None:
    """One number, not below `low`."""
    if not (math.isfinite(value) and value >= low):
        raise ValueError(f"{name} must be at least {low:g}, got {value}")


def _show(value: ArrayLike) -> str:
    return np.array2string(np.asarray(value), threshold=6)
