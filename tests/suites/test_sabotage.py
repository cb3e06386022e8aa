"""Sabotage: one thing wrong in a rule, a target or an engine, and the claim that must notice. Right rules pass."""

from dataclasses import replace

import numpy as np
import pytest

from dgtd.algorithms.rule import Cotangents, Rule, rule
from dgtd.algorithms.rules import RULES, gtd2, tdc
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import collect, exit_code, judge, share


def status_of(claim_id, judged=None):
    (claim,) = [c for c in collect(claim_id.split("/")[0], judged, "ci") if c.id == claim_id]
    (entry,) = judge([claim], Setting("ci", 0, share(None, "ci")), judged=judged)
    return entry.status


# ---------------------------------------------------------------------- rules


def mutant(name, **changes):
    """GTD2 with some cotangents replaced by functions of (delta, u, rho)."""

    def function(delta, u, rho):
        right = gtd2(delta, u, rho)
        return right._replace(**{key: value(delta, u, rho) for key, value in changes.items()})

    return Rule(name, function)


def clipped(rho, most):
    return min(rho, most) if isinstance(rho, float) else rho.clip(max=most)


def saturated(delta):
    """δ, but not beyond ±20: at weights of usual size nothing differs."""
    return max(min(delta, 20.0), -20.0) if isinstance(delta, float) else delta.clip(-20.0, 20.0)


RULE_MUTANTS = {
    "h dropped": (replace(gtd2, name="m", curvature=False), "gradients/random_walk/cdf/mlp/m/descends"),
    "rho dropped": (
        Rule("m", lambda d, u, r: Cotangents(-u, u, d - u)),
        "gradients/random_walk/value/linear/m/descends",
    ),
    "tangent halved": (
        mutant("m", tangent=lambda d, u, r: 0.5 * (r * d - u)),
        "gradients/random_walk/cdf/mlp/m/descends",
    ),
    "u halved in the tangent": (
        mutant("m", tangent=lambda d, u, r: r * d - 0.5 * u),
        "gradients/collision/value/linear/m/solves-w",
    ),
    "target's sign": (mutant("m", target=lambda d, u, r: -r * u), "gradients/collision/value/linear/m/descends"),
    "prediction's sign": (mutant("m", prediction=lambda d, u, r: r * u), "gradients/collision/value/linear/m/descends"),
    "w not updated": (mutant("m", tangent=lambda d, u, r: 0.0 * u), "gradients/collision/value/linear/m/solves-w"),
    "next gradient forgotten": (
        mutant("m", target=lambda d, u, r: 0.0 * u),
        "gradients/random_walk/cdf/linear/m/descends",
    ),
    "rho clipped at 5": (
        Rule("m", lambda d, u, r: gtd2(d, u, clipped(r, 5.0))),
        "gradients/baird/value/linear/m/descends",
    ),
    "rho clipped at 2.5": (
        Rule("m", lambda d, u, r: gtd2(d, u, clipped(r, 2.5))),
        "gradients/random_mdp/cdf/linear/m/descends",
    ),
    "delta saturates": (
        Rule("m", lambda d, u, r: Cotangents(-r * u, r * u, r * saturated(d) - u), linear=False),
        "gradients/random_walk/value/linear/far/m/solves-w",
    ),
    "TD that promises stability": (
        Rule("m", lambda d, u, r: Cotangents(-r * d, 0.0 * u, r * d - u), curvature=False),
        "stability/baird/value/m/alpha=0.00390625,beta=0.00390625/falls",
    ),
}


@pytest.mark.parametrize("name", RULE_MUTANTS)
def test_a_wrong_rule_is_caught_by_a_named_claim(name):
    wrong, claim = RULE_MUTANTS[name]
    assert status_of(claim, wrong) == "FAIL"


# ---------------------------------------------------------------------- targets and engines


def shift_of(change):
    """CdfTarget.shift with its arguments or its result changed."""
    from dgtd.algorithms.targets import CdfTarget

    right = CdfTarget.shift
    return lambda self, reward, discount: change(self, right, np.asarray(reward, float), np.asarray(discount, float))


def gamma_dropped(self, right, r, gamma):
    return right(self, r, np.where(gamma > 0, 1.0, 0.0))


def wrong_terminal(self, right, r, gamma):
    return right(self, r, np.where(gamma > 0, gamma, 0.5))


def wrong_boundary(self, right, r, gamma):
    shift = right(self, r, gamma)
    return replace(shift, constant=0 * shift.constant)


TARGET = "dgtd.algorithms.targets.CdfTarget.shift"


def sabotage_h_sign(monkeypatch):
    from dgtd.algorithms.fast.heads import CdfHead

    right = CdfHead.backward

    def wrong(self, stack, saved, size, curvature):
        bent, plain = right(self, stack, saved, size, curvature), right(self, stack, saved, size, False)
        return 2 * plain - bent if curvature else plain

    monkeypatch.setattr(CdfHead, "backward", wrong)


def sabotage_transpose(monkeypatch):
    from dgtd.algorithms.targets import Shift

    monkeypatch.setattr(Shift, "transpose", lambda self, cotangent: self.apply(cotangent) - self.constant)


def sabotage_next_state(monkeypatch):
    from dgtd.algorithms.table import Batch, TransitionTable

    right = TransitionTable.batch

    def wrong(self, outcome, inputs, target):
        made = right(self, outcome, inputs, target)
        return Batch(made.x, made.x, made.shift, made.rho)

    monkeypatch.setattr(TransitionTable, "batch", wrong)


def sabotage_step_sizes(monkeypatch):
    import dgtd.algorithms.fast.mlp as mlp

    right = mlp.step_factors
    monkeypatch.setattr(mlp, "step_factors", lambda a, b, *rest: right(a, a, *rest))


def sabotage_linear_step_sizes(monkeypatch):
    from dgtd.algorithms.fast.linear import LinearEngine

    right = LinearEngine.run
    monkeypatch.setattr(
        LinearEngine, "run", lambda self, state, steps, a, b, **rest: right(self, state, steps, a, a, **rest)
    )


def sabotage_mirror_prox(monkeypatch):
    from dgtd.algorithms.fast.linear import LinearEngine

    right = LinearEngine.run

    def two_plain(self, state, steps, a, b, extragradient=False, **rest):
        return right(self, state, 2 * steps if extragradient else steps, a, b, **rest)

    monkeypatch.setattr(LinearEngine, "run", two_plain)


def sabotage_projection(monkeypatch):
    from dgtd.algorithms.targets import PROJECTIONS

    monkeypatch.setitem(PROJECTIONS, "cramer", PROJECTIONS["nearest"])


def sabotage_backup(**wrong):
    """The oracle's backup of a problem with something wrong in it."""
    from dgtd.harness.oracle.returns import Backup

    right = Backup.of
    broken = staticmethod(lambda mdp, target: right(*wrong_parts(mdp, target, **wrong)))
    return lambda m: m.setattr(Backup, "of", broken)


def wrong_parts(mdp, target, policy=False, gamma=None, upper=1.0):
    """Every action taken at once; another γ; a share of what a source adds to the upper of its two rows."""
    if policy:
        object.__setattr__(mdp := mdp.with_(), "target", np.ones_like(mdp.target))
    mdp = mdp if gamma is None else replace(mdp, gamma=gamma)

    class Weakened:
        outputs = target.outputs

        def shift(self, r, discount):
            found = target.shift(r, discount)
            return replace(found, weight=found.weight * np.array([[1.0], [upper]]))

    return mdp, Weakened()


ENGINE_MUTANTS = {
    "gamma dropped": (lambda m: m.setattr(TARGET, shift_of(gamma_dropped)), "gradients/target/cramer"),
    "wrong terminal": (lambda m: m.setattr(TARGET, shift_of(wrong_terminal)), "gradients/target/floor"),
    "wrong boundary": (lambda m: m.setattr(TARGET, shift_of(wrong_boundary)), "gradients/target/cramer"),
    "sign of h": (sabotage_h_sign, "gradients/r-operator"),
    "transposed shift": (sabotage_transpose, "gradients/collision/cdf/mlp-engine/gtd2/mean"),
    "s for s'": (sabotage_next_state, "gradients/collision/value/linear/gtd2/sampled-mean"),
    "alpha for beta, mlp": (sabotage_step_sizes, "gradients/collision/cdf/mlp-engine/gtd2/step"),
    "alpha for beta, linear": (sabotage_linear_step_sizes, "gradients/collision/cdf/linear-engine/gtd2/step"),
    "Mirror-Prox as two plain steps": (sabotage_mirror_prox, "rates/one-step/extragradient"),
    "nearest for cramer": (sabotage_projection, "contraction/cramer"),
    "every action at once in the backup": (sabotage_backup(policy=True), "contraction/backup/cramer"),
    "a backup without discount": (sabotage_backup(gamma=0.999), "contraction/backup/cramer"),
    "a backup that loses half of the upper rows": (sabotage_backup(upper=0.5), "contraction/backup/attained"),
}


@pytest.mark.parametrize("name", ENGINE_MUTANTS)
def test_a_wrong_target_or_engine_is_caught_by_a_named_claim(name, monkeypatch):
    break_it, claim = ENGINE_MUTANTS[name]
    assert status_of(claim) == "PASS"
    break_it(monkeypatch)
    assert status_of(claim) == "FAIL"


@pytest.mark.slow
@pytest.mark.parametrize("each", [*RULES.values()], ids=lambda r: r.name)
def test_every_right_rule_passes_what_it_promises(each):
    entries = judge(collect("gradients", each, "ci"), Setting("ci", 0, share(None, "ci")), judged=each)
    assert exit_code(entries) == 0


@pytest.mark.slow
def test_tdrc_brought_from_outside_with_its_promises_narrowed_passes():
    from dgtd.algorithms.rule import Promise

    @rule(w_decay=1.0, promises={Promise.LINEAR_COST})
    def my_tdrc(delta, u, rho):
        return Cotangents(-rho * delta, rho * u, rho * delta - u)

    entries = judge(collect("gradients", my_tdrc, "ci"), Setting("ci", 0, share(None, "ci")), judged=my_tdrc)
    assert exit_code(entries) == 0
    assert sum(entry.status == "NOT PROMISED" for entry in entries) == 32
    boasting = replace(my_tdrc, promises=tdc.promises)
    entries = judge(collect("gradients", boasting, "ci"), Setting("ci", 0, share(None, "ci")), judged=boasting)
    assert exit_code(entries) == 1
