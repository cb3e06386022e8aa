"""A trace is run instead of a function only where it is the function, to the same bits."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast import module as traced
from dgtd.algorithms.fast.loop import TorchLoop
from dgtd.algorithms.fast.module import ModuleEngine
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.targets import ValueTarget
from dgtd.harness.plugins import find_problem

LONG = traced.AFTER + 20


def spiral(rule, steps):
    """Lanes of the spiral, after so many steps."""
    problem = find_problem("spiral")
    engine = ModuleEngine(rule, problem.network())
    loop = TorchLoop(engine, problem.mdp.table, np.eye(3), ValueTarget())
    state = loop.start(engine.init(5), lane_streams(0, range(5), purpose="test"))
    loop.run(state, steps, 3e-5, 1e-4)
    return engine, state.theta["theta"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gtd2", "tdc", "td"])
def test_a_long_run_is_traced_and_ends_at_the_same_bits(name, monkeypatch):
    engine, theta = spiral(rules.find_rule(name), LONG)
    assert engine._lanes.traced
    assert theta.isfinite().all()
    monkeypatch.setattr(traced, "AFTER", 10**9)
    engine, untraced = spiral(rules.find_rule(name), LONG)
    assert not engine._lanes.traced
    torch.testing.assert_close(theta, untraced, rtol=0, atol=0)


def calls(function, arguments):
    """What comes of calling it again and again, and what should."""
    made = traced.Traced(function)
    return made, [made(x) for x in arguments]


def numbers(count=LONG, shape=(3,)):
    return [torch.full(shape, float(i)) for i in range(count)]


def test_what_changes_between_calls_is_never_held_in_a_trace():
    seen = []

    def count(x):
        seen.append(None)
        return x + len(seen)

    made, found = calls(count, numbers())
    assert not made.traced
    assert [int(x[0]) for x in found] == [2 * i + 1 for i in range(traced.AFTER)] + [
        2 * i + 2 for i in range(traced.AFTER, LONG)
    ]  # tracing called it once more


def test_what_depends_on_numbers_is_left_as_it_is():
    made, found = calls(lambda x: x if float(x[0]) < 5 else -x, numbers())
    assert not made.traced
    assert [float(x[0]) for x in found] == [float(i) if i < 5 else -float(i) for i in range(LONG)]


def test_a_module_that_raises_raises():
    def broken(x):
        raise RuntimeError("no such layer")

    with pytest.raises(RuntimeError, match="no such layer"):
        traced.Traced(broken)(torch.ones(1))


def test_other_shapes_start_again():
    made, _ = calls(torch.sin, numbers())
    assert made.traced
    torch.testing.assert_close(made(torch.ones(7)), torch.sin(torch.ones(7)))
    assert not made.traced


def test_another_dtype_starts_again():
    """A trace holds the type in which its function made a tensor of its own."""
    made, _ = calls(lambda x: x * torch.ones(3, dtype=x.dtype), [x.double() for x in numbers()])
    assert made.traced
    found = made(torch.ones(3, dtype=torch.float32))
    assert found.dtype == torch.float32
    assert not made.traced


def test_buffers_are_looked_up_at_every_call():
    buffer = torch.ones(3)
    made, _ = calls(lambda x: x * buffer, numbers())
    assert made.traced
    buffer += 1
    torch.testing.assert_close(made(torch.ones(3)), torch.full((3,), 2.0))


def test_only_the_main_thread_traces():
    """torch is patched while it traces, for every thread."""
    with ThreadPoolExecutor(1) as pool:
        made, found = pool.submit(calls, torch.sin, numbers()).result()
    assert not made.traced
    torch.testing.assert_close(found[-1], torch.sin(numbers()[-1]))
