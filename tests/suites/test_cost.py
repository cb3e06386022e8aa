"""The cost suite on rules and engines that cost too much."""

import pytest
import torch

from dgtd.algorithms.fast import mlp
from dgtd.algorithms.rule import Cotangents, Promise, Rule
from dgtd.algorithms.rules import gtd2
from dgtd.harness.cost import peers
from dgtd.harness.cost import work as touches
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.verdicts import Verdict
from dgtd.suites import cost

pytestmark = pytest.mark.slow  # counts the work of large networks


@pytest.fixture(autouse=True)
def _fresh_counts():
    """Counts are kept per rule and network, and a mutant of the engine changes neither."""
    cost._work.cache_clear()
    yield
    cost._work.cache_clear()


def verdict(check, engine, each):
    return check(engine, each, Setting()).verdict


class EveryAtomWithEveryOther:
    """The same numbers as GTD2 with an m × m product in the way; no formula, so it is no function either."""

    def __call__(self, delta, u, rho):
        if isinstance(u, torch.Tensor):
            u = (u.unsqueeze(-1) * torch.ones_like(u).unsqueeze(-2)).mean(-1)
        return Cotangents(prediction=-rho * u, target=rho * u, tangent=rho * delta - u)


every_atom_with_every_other = Rule("quadratic", EveryAtomWithEveryOther(), promises=(Promise.LINEAR_COST,))


def test_a_rule_that_is_quadratic_in_the_atoms_breaks_the_law():
    assert verdict(cost._layers, "mlp", every_atom_with_every_other) is Verdict.FAIL
    assert verdict(cost._layers, "mlp", gtd2) is Verdict.PASS


def test_a_quadratic_engine_breaks_the_affine_law(monkeypatch):
    step = mlp.MlpEngine.step

    def slow(self, theta, w, *rest):
        units = theta[0][0, 0]
        torch.outer(units[:3000], units[:3000])
        return step(self, theta, w, *rest)

    monkeypatch.setattr(mlp.MlpEngine, "step", slow)
    monkeypatch.setattr(cost, "_wide", lambda engine, setting: [cost_network(h) for h in (10, 50, 100, 500, 1000)])
    assert verdict(cost._affine, "mlp", gtd2) is Verdict.FAIL


def cost_network(hidden):
    return peers.Network(cost.INPUTS, (hidden,), cost.ATOMS)


def test_a_second_backward_pass_is_more_than_four_backprops(monkeypatch):
    step = mlp.MlpEngine.step

    def twice(self, theta, w, batch, alpha, beta):
        self.directions(theta, w, batch)
        return step(self, theta, w, batch, alpha, beta)

    monkeypatch.setattr(mlp.MlpEngine, "step", twice)
    assert verdict(cost._flops, "mlp", gtd2) is Verdict.FAIL
    monkeypatch.undo()
    cost._work.cache_clear()
    assert verdict(cost._flops, "mlp", gtd2) is Verdict.PASS


def test_gradients_kept_in_memory_break_its_bound(monkeypatch):
    step = mlp.MlpEngine.step

    def hoarding(self, theta, w, batch, alpha, beta):
        kept = [self.directions(theta, w, batch) for _ in range(2)]
        step(self, theta, w, batch, alpha, beta)
        return kept

    monkeypatch.setattr(mlp.MlpEngine, "step", hoarding)
    assert verdict(cost._memory, "mlp", gtd2) is Verdict.FAIL


def test_importing_the_suite_is_light():
    import subprocess
    import sys

    code = "import dgtd.suites.cost, sys; dgtd.suites.cost.claims(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("extra", [lambda outputs, k: k, lambda outputs, k: outputs**2])
def test_a_kernel_that_touches_more_breaks_the_law(monkeypatch, extra):
    assert verdict(cost._touches, "linear", gtd2) is Verdict.PASS
    counted = touches.count_touches
    monkeypatch.setattr(
        touches, "count_touches", lambda rule, target, k: counted(rule, target, k) + extra(target.outputs, k)
    )
    assert verdict(cost._touches, "linear", gtd2) is Verdict.FAIL


def test_a_distribution_by_explicit_jacobians_costs_more_than_its_parameters(monkeypatch):
    assert cost._distribution(Setting()).verdict is Verdict.PASS
    cost._work.cache_clear()
    monkeypatch.setattr(cost, "_maker", lambda engine, rule: peers.explicit_jacobian)
    assert cost._distribution(Setting()).verdict is Verdict.FAIL
