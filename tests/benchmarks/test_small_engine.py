"""The small engine against the mlp engine's loop, at the size of the paper's networks, one transition a step.

The torch loop runs in a process of its own: torch is slower where numba has started threads. Calls alternate.
"""

import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

import numpy as np
import pytest

from dgtd.algorithms.fast.small import SmallEngine, SmallLoop
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.plugins import find_problem
from tests.benchmarks.lines import report

TINY = 1e-9  # step sizes: nothing may diverge while it is timed


@cache
def small_loop(shape, atoms, lanes, one_hot=False, dtype=np.float64):
    """(loop, state) of the small engine; the table of logits if there are no hidden layers."""
    problem, inputs = _place(shape, one_hot)
    engine = SmallEngine(gtd2, (inputs.shape[1], *shape[1:]), CdfTarget(-5, 5, atoms), dtype, pinned=one_hot)
    loop = SmallLoop(engine, problem.mdp.table, inputs)
    return loop, loop.start(engine.init(generators(0, range(lanes))), lane_streams(0, range(lanes)))


def _place(shape, one_hot):
    problem = find_problem("random_mdp(states=6)")
    return problem, np.eye(6)[:, :-1] if one_hot else np.random.default_rng(0).normal(size=(6, shape[0]))


def small_seconds(shape, atoms, lanes, steps, threads=1, one_hot=False, dtype=np.float64):
    """A lane-step's."""
    loop, state = small_loop(shape, atoms, lanes, one_hot, dtype)
    loop.run(state, 1, TINY, TINY, threads=threads)
    start = time.perf_counter()
    loop.run(state, steps, TINY, TINY, threads=threads)
    return (time.perf_counter() - start) / steps / lanes


@cache
def torch_loop(shape, atoms, lanes):
    import torch

    from dgtd.algorithms.fast.loop import TorchLoop
    from dgtd.algorithms.fast.mlp import MlpEngine

    torch.set_num_threads(1)
    problem, inputs = _place(shape, False)
    target = CdfTarget(-5, 5, atoms)
    engine = MlpEngine(gtd2, shape, target, compiled=False)
    loop = TorchLoop(engine, problem.mdp.table, inputs, target)
    return loop, loop.start(engine.init(generators(0, range(lanes))), lane_streams(0, range(lanes)))


def torch_seconds(shape, atoms, lanes, steps):
    """A lane-step's, in another process."""
    loop, state = torch_loop(shape, atoms, lanes)
    start = time.perf_counter()
    loop.run(state, steps, TINY, TINY)
    return (time.perf_counter() - start) / steps / lanes


@pytest.fixture(scope="module")
def elsewhere():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.mark.benchmark(group="small engine")
@pytest.mark.parametrize(
    ("shape", "lanes", "bound"), [((6, 50), 1, 60), ((6, 50), 30, 5), ((6, 50, 50), 1, 35), ((6, 50, 50), 30, 3)]
)
def test_against_the_mlp_engine(benchmark, elsewhere, shape, lanes, bound):
    ours, theirs = [], []
    for _ in range(7):
        ours.append(small_seconds(shape, 30, lanes, 6000 // lanes))
        theirs.append(elsewhere.submit(torch_seconds, shape, 30, lanes, 600 if lanes == 1 else 60).result())
    speed = min(theirs) / min(ours)
    name = "-".join(map(str, (*shape, 30)))
    report(benchmark, f"mlp engine / small engine, {name}, {lanes} lanes", speed, f"≥ {bound}")
    report(benchmark, f"small engine, {name}, {lanes} lanes, µs a lane-step", 1e6 * min(ours), "-")
    benchmark(lambda: small_seconds(shape, 30, lanes, 100))
    assert speed >= bound


@pytest.mark.benchmark(group="small engine")
def test_a_table_of_logits(benchmark):
    best = min(small_seconds((5,), 6, 16, 5000, one_hot=True) for _ in range(10))
    report(benchmark, "table of logits, 6 atoms, µs a lane-step, sampling included", 1e6 * best, "≤ 0.4")
    benchmark(lambda: small_seconds((5,), 6, 16, 100, one_hot=True))
    assert 1e6 * best <= 0.4


@pytest.mark.benchmark(group="small engine")
def test_two_threads(benchmark):
    pairs = [[small_seconds((6, 50), 30, 30, 500, threads) for threads in (1, 2)] for _ in range(10)]
    speed = max(one / two for one, two in pairs)
    report(benchmark, "one thread / two, small engine, 6-50-30, best of ten", speed, "≥ 1.5")
    benchmark(lambda: small_seconds((6, 50), 30, 30, 50, 2))
    assert speed >= 1.5


@pytest.mark.benchmark(group="small engine")
@pytest.mark.parametrize("lanes", [1, 8])
def test_up_to_its_bound_it_is_the_faster_one(benchmark, elsewhere, lanes):
    """Where LARGEST_SMALL lies: a run takes one transition a step."""
    for width in (128, 256, 512, 1024, 2000, *((4096,) if lanes == 1 else ())):
        shape = (64, width, width)
        steps = max(3, 3_000_000 // (width * width * lanes))
        ours, theirs = [], []
        for _ in range(4):
            ours.append(small_seconds(shape, 50, lanes, steps))
            theirs.append(elsewhere.submit(torch_seconds, shape, 50, lanes, steps).result())
        name = f"64-{width}-{width}-50, {lanes} lanes"
        report(benchmark, f"small engine, {name}, µs a lane-step", 1e6 * min(ours), "-")
        report(benchmark, f"mlp engine / small engine, {name}", min(theirs) / min(ours), "≥ 1")
        assert min(theirs) > min(ours)
    benchmark(lambda: small_seconds((64, 128, 128), 50, lanes, 3))


@pytest.mark.benchmark(group="small engine")
@pytest.mark.parametrize(("shape", "bound"), [((6, 50), 1.0), ((64, 512, 512), 1.4)])
def test_single_precision(benchmark, shape, bound):
    steps = 3000 if len(shape) == 2 else 40
    pairs = [[small_seconds(shape, 50, 1, steps, dtype=dtype) for dtype in (np.float64, np.float32)] for _ in range(15)]
    speed = min(double for double, _ in pairs) / min(single for _, single in pairs)
    report(benchmark, f"float64 / float32, small engine, {'-'.join(map(str, (*shape, 50)))}", speed, f"≥ {bound}")
    benchmark(lambda: small_seconds(shape, 50, 1, 10, dtype=np.float32))
    assert speed >= bound


@pytest.mark.benchmark(group="small engine")
def test_learning_from_a_table_against_the_run_that_draws_it(benchmark):
    """`dgtd.learn` of a torch module, its checks and tables included, beside the compiled run of the same steps."""
    import torch

    import dgtd

    torch.set_num_threads(1)
    steps, atoms = 50_000, 30
    problem, inputs = _place((6, 50), False)
    network = torch.nn.Sequential(torch.nn.Linear(6, 50), torch.nn.Tanh(), torch.nn.Linear(50, atoms))
    _, state = small_loop((6, 50), atoms, 1)
    drawn = state.sampler.draw(steps)[:, 0]
    mdp = problem.mdp.table
    table = {"x": inputs[mdp.state[drawn]], "x_next": inputs[mdp.next_state[drawn]], "reward": mdp.reward[drawn],
             "gamma": mdp.discount[drawn], "rho": mdp.rho[drawn]}  # fmt: skip

    def learned():
        start = time.perf_counter()
        dgtd.learn("gtd2", network, table, TINY, TINY, target=CdfTarget(-5, 5, atoms))
        return time.perf_counter() - start

    learned()
    ratios = [learned() / (small_seconds((6, 50), atoms, 1, steps) * steps) for _ in range(11)]
    benchmark(lambda: None)
    report(benchmark, "dgtd.learn / the compiled run of the same steps, 6-50-30", float(np.median(ratios)), "≤ 1.15")
    assert np.median(ratios) <= 1.15
