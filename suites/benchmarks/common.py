"""What the benchmarks share. Nothing of ours is imported before `setup`: one import error would end asv's discovery."""

import contextlib

RULES = ["gtd2", "tdc", "tdrc", "greedy_gq", "residual_gradient", "td"]
SIZES = {"2k": (6, (50,), 30), "300k": (64, (512, 512), 50), "4M": (64, (2000, 2000), 51)}


@contextlib.contextmanager
def since():
    """Around imports: a commit that lacks them skips the benchmark, as asv understands it."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise NotImplementedError(str(error)) from error


def one_thread():
    """Threads make times of different commits hard to compare."""
    import torch

    torch.set_num_threads(1)


def network(size):
    """The network of a name in SIZES."""
    from harness.peers import Network

    return Network(*SIZES[size])
