"""Compile every kernel into the cache, so that no two tests that run at once compile the same: `make kernels`."""

from importlib import import_module

from algorithms.fast import network_kernels
from algorithms.fast.compiling import Compiled

MODULES = (
    "algorithms.streams", "algorithms.replay", "algorithms.fast.kernels",
    "algorithms.fast.network_kernels", "algorithms.fast.batch_passes", "algorithms.fast.acting",
    "algorithms.fast.network_batches", "algorithms.stepping",
    "harness.oracle.moment_kernels", "harness.places.cartpole", "harness.runs.trainers.world",
)  # fmt: skip


def main() -> None:
    """One after the other: numba compiles under a lock."""
    for name in MODULES:
        for value in vars(import_module(name)).values():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, Compiled):
                    _ = each.dispatcher
    _ = network_kernels.run.single, network_kernels.directions.single


if __name__ == "__main__":
    main()
