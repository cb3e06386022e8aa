"""Compile every kernel into the cache, so that no two tests that run at once compile the same: `make kernels`."""

from importlib import import_module

from algorithms.compiling import Compiled

MODULES = (
    "algorithms.experience.draws", "algorithms.engines.kernels", "algorithms.engines.network_kernels",
    "harness.oracle.moment_kernels",
)  # fmt: skip


def main() -> None:
    """One after the other: numba compiles under a lock."""
    for name in MODULES:
        for value in vars(import_module(name)).values():
            if isinstance(value, Compiled):
                _ = value.dispatcher


if __name__ == "__main__":
    main()
