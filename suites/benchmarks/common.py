"""What the benchmarks share. Our modules are imported only in `setup`: an import error would end asv's discovery."""

import contextlib
import importlib
import time

RULES = ["gtd2", "tdc", "tdrc", "greedy_gq", "residual_gradient", "td"]
SIZES = {"2k": (6, (50,), 30), "300k": (64, (512, 512), 50), "4M": (64, (2000, 2000), 51)}


@contextlib.contextmanager
def since():
    """Around imports: asv skips the benchmark on a commit that does not have them."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise NotImplementedError(str(error)) from error


MOVED = {
    "harness.cost.peers": "harness.peers",
    "harness.cost.work": "harness.cost.touches",
    "harness.oracle.metrics": "harness.metrics",
}


def load(module):
    """A module from where it is now, or where older commits have it: a move must not end a benchmark's history."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return importlib.import_module(MOVED.get(module, module))


class Timed:
    """How times are taken.

    One thread and the processor's time, so that other work of the machine is not counted. Many short samples, not a few
    long ones: the gate compares the fastest, and a short sample is less often disturbed.
    """

    version = "3"
    timer = time.process_time
    repeat = (10, 1000, 1.0)  # minimum samples, maximum samples, seconds
    rounds = 1  # one process per round, and importing torch costs more than the samples


def one_thread():
    """Threads make times of different commits hard to compare."""
    import torch

    torch.set_num_threads(1)


def network(size):
    """The network of a name in SIZES."""
    return load("harness.cost.peers").Network(*SIZES[size])
