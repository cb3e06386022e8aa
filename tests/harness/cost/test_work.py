"""The counters against hand counts, against torch's own FLOP counter, and against the compiled engine's numbers."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.cost import work as touches
from dgtd.harness.cost.peers import (
    Literal,
    Network,
    backprop,
    explicit_hessian,
    explicit_jacobian,
    mlp_step,
    module_step,
)
from dgtd.harness.cost.work import count


def test_operations_are_counted_by_what_they_touch():
    a, b = torch.zeros(3, 4), torch.zeros(4, 5)
    assert count(lambda: a @ b).products == 60
    assert (
        count(lambda: torch.zeros(2, 3, 4).baddbmm_(torch.ones(2, 3, 7), torch.ones(2, 7, 4))).products == 2 * 3 * 7 * 4
    )
    added = count(lambda: a + 1)
    assert (added.products, added.elements) == (0, 24)
    assert count(lambda: a.T.reshape(2, 6)[0]).elements == 24  # reshape of a transpose copies; transpose and [0] do not
    assert count(lambda: a.T[1]).total == 0
    assert count(lambda: torch.empty(1000)).total == 0


def test_peak_memory_is_what_is_alive_at_once():
    a = torch.zeros(1000)

    def chain():
        b = a + 1  # 4000 bytes
        c = b + 1  # 8000
        del b
        return c + 1  # 8000

    assert count(chain).peak == 8000
    assert count(lambda: a.add_(1)).peak == 0
    assert count(lambda: [a + 1, a + 1, a + 1]).peak == 12_000


@pytest.mark.parametrize("make", [backprop, lambda n: module_step(rules.tdc, n)])
def test_products_are_half_of_torchs_flops(make):
    step = make(Network(5, (20, 30), 7))
    step.call()
    with FlopCounterMode(display=False) as theirs:
        step.call()
    assert theirs.get_total_flops() == 2 * count(step.call).products


def test_products_of_the_mlp_engine_are_those_of_its_equations():
    """torch's own counter does not know the in-place products. 3 rows forward and back, the tangent's 1 and 1 beside
    them, 3 + 1 outer products; the bottom layer has no tangent below it and passes nothing down; nor do biases."""
    inputs, hidden, atoms = 6, 50, 30
    bottom = (inputs + 1) * hidden * (2 + 1 + 2 + 1)
    top = (hidden + 1) * atoms * (3 + 1 + 3 + 1) + hidden * atoms * (3 + 1)
    step = mlp_step(rules.gtd2, Network(inputs, (hidden,), atoms))
    assert count(step.call).products == bottom + top == 20_340


def test_a_network_counts_its_parameters():
    network = Network(5, (20, 30), 7)
    assert network.size == sum(p.numel() for p in network.module().parameters())
    assert mlp_step(rules.gtd2, network).held == 4 * network.size


@pytest.mark.parametrize("hessian", [False, True])
def test_the_literal_algorithm_is_the_engines(hessian):
    literal = Literal(Network(3, (4,), 5), hessian, torch.float64)
    literal.w = torch.randn(len(literal.w), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ours = literal.engine.directions(split(literal, literal.theta), split(literal, literal.w), literal.batch)
    for mine, theirs in zip(ours, literal.directions(), strict=True):
        torch.testing.assert_close(torch.cat([part.reshape(-1) for part in mine]), theirs, rtol=1e-12, atol=1e-12)


def split(literal, vector):
    parts = torch.split(vector, [shape.numel() for shape in literal.shapes])
    return [part.reshape(shape) for part, shape in zip(parts, literal.shapes, strict=True)]


def test_an_explicit_hessian_is_quadratic_and_a_jacobian_needs_a_pass_an_atom():
    hessians = [count(explicit_hessian(Network(4, (h,), 3)).call).total for h in (20, 40)]
    assert 3 < hessians[1] / hessians[0] < 4.5
    few, many = (count(explicit_jacobian(Network(4, (20,), m)).call).passes for m in (5, 25))
    assert many > 4 * few


def watched(monkeypatch, at):
    """Arrays of the next count before and after it: θ, w, x, x', and the two that are added to, argument `at` on."""
    seen = {}
    original = touches._as_python

    def spy(function, numpy):
        made = original(function, numpy)
        if function.__name__ != "directions":
            return made

        def run(*args):
            seen["before"] = [a.values.copy() for a in (*args[:2], *args[2][:2], *args[at : at + 2])]
            made(*args)
            seen["after"] = [a.values.copy() for a in args[at : at + 2]]

        return run

    monkeypatch.setattr(touches, "_as_python", spy)
    return seen


def one_transition(target, x, x_next):
    return Batch(x[None], x_next[None], target.shift(np.ones((1, 1)), np.full((1, 1), 0.9)), np.ones((1, 1)))


def test_the_kernel_run_as_python_computes_what_the_compiled_one_does(monkeypatch):
    """So what is counted is the engine itself: the same numbers come out of the watched arrays."""
    seen, target = watched(monkeypatch, 5), CdfTarget(0, 10, 6)
    assert touches.count_touches(rules.tdc, target, 7) > 13 * 35
    theta, w, x, x_next, *start = seen["before"]
    expected = directions(rules.tdc, theta, w, one_transition(target, x, x_next))
    for before, after, compiled in zip(start, seen["after"], expected, strict=True):
        np.testing.assert_allclose(after - before, compiled, atol=1e-13)


def test_the_network_kernel_run_as_python_computes_what_the_compiled_one_does(monkeypatch):
    seen, target = watched(monkeypatch, 7), CdfTarget(0, 10, 6)
    assert touches.count_network_touches(rules.gtd2, target, (3, 5)) > 18 * 15
    theta, w, x, x_next, *start = seen["before"]
    expected = SmallEngine(rules.gtd2, (3, 5), target).directions(theta, w, one_transition(target, x, x_next))
    for before, after, compiled in zip(start, seen["after"], expected, strict=True):
        np.testing.assert_allclose(after - before, compiled, atol=1e-13)


def test_a_networks_touches_by_hand():
    """Two more units: 23 per weight above, 18 below, and 42 of their own, with their bias; 5 and 7 leave one over."""
    target = CdfTarget(0, 10, 4)
    few, more = (touches.count_network_touches(rules.gtd2, target, (3, units)) for units in (5, 7))
    assert more - few == 2 * (18 * 3 + 23 * 4 + 42)


def test_touches_by_hand():
    """n = 2 outputs, k = 3 features: 13 a parameter, whatever the linear rule."""
    target = CdfTarget(0, 10, 3)
    counts = {rule.name: touches.count_touches(rule, target, 3) for rule in rules.RULES.values()}
    assert len(set(counts.values())) == 1
    # f, f', u read θ twice, w and x, x', x: 6. The updates write and read θ and w, and read x, x', x: 7.
    more = touches.count_touches(rules.gtd2, target, 4) - counts["gtd2"]
    assert more == 2 * (6 + 7)
