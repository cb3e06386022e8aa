"""Compile every kernel into the cache, so that no two tests that run at once compile the same: `make kernels`."""

from importlib import import_module

from dgtd.algorithms.fast import acting, batch_passes, network_kernels
from dgtd.algorithms.fast.compiling import Compiled

MODULES = (
    "dgtd.algorithms.streams", "dgtd.algorithms.replay", "dgtd.algorithms.fast.kernels",
    "dgtd.algorithms.fast.network_kernels", "dgtd.algorithms.fast.batch_passes", "dgtd.algorithms.fast.acting",
    "dgtd.algorithms.fast.network_batches", "dgtd.algorithms.stepping",
    "dgtd.harness.oracle.moment_kernels", "dgtd.harness.places.cartpole", "dgtd.harness.runs.trainers.world",
)  # fmt: skip


def main() -> None:
    """One after the other: numba compiles under a lock."""
    for name in MODULES:
        for value in vars(import_module(name)).values():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, Compiled):
                    _ = each.dispatcher
    _ = network_kernels.run.single, network_kernels.directions.single
    _ = acting.values_of_lanes.single, batch_passes.gradients_of_lanes.single


if __name__ == "__main__":
    main()
