"""What changes from step to step, as named arrays: kept, and put back in place."""

from __future__ import annotations

from typing import Any

State = dict[str, Any]


def joined(**parts: State) -> State:
    """One state of several: the array `name` of `part` is `part/name`."""
    return {f"{part}/{name}": array for part, state in parts.items() for name, array in state.items()}


def part_of(state: State, part: str) -> State:
    """The inverse of `joined`."""
    return {name.removeprefix(f"{part}/"): array for name, array in state.items() if name.startswith(f"{part}/")}


def refill(arrays: State, saved: State) -> None:
    """Each array ← the saved one of its name, in place: whoever holds a view of it sees the saved numbers."""
    for name, array in arrays.items():
        found = saved.get(name)
        if found is None:
            raise ValueError(f"saved state must have {name!r}, got {', '.join(saved) or 'nothing'}")
        if (found.shape, found.dtype) != (array.shape, array.dtype):
            raise ValueError(
                f"saved {name!r} must be {array.dtype} of shape {array.shape}, got {found.dtype} of {found.shape}"
            )
        array[...] = found
