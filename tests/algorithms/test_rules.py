"""Rules are arithmetic: the same on floats, arrays and tensors, and honest about themselves."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.fast.linear import directions
from dgtd.algorithms.rule import Cotangents, Promise, Rule, rule
from dgtd.algorithms.table import Batch
from dgtd.algorithms.targets import ValueTarget

EVERY = [*rules.RULES.values(), rules.greedy_gq(0.0), rules.greedy_gq(0.5), rules.tdrc(1.0)]


@pytest.mark.parametrize("each", EVERY, ids=lambda r: r.name)
def test_floats_arrays_and_tensors_agree(each):
    delta, u, rho = np.random.default_rng(0).normal(size=(3, 5))
    arrays = each(delta, u, rho)
    tensors = each(*(torch.as_tensor(part) for part in (delta, u, rho)))
    for i in range(5):
        floats = each(float(delta[i]), float(u[i]), float(rho[i]))
        assert [float(a[i]) for a in arrays] == [float(x) for x in floats] == [float(t[i]) for t in tensors]


@pytest.mark.parametrize("each", EVERY, ids=lambda r: r.name)
@pytest.mark.parametrize("rho", [0.0, 0.4, 7.0])
def test_six_coefficients_are_the_whole_rule(each, rho):
    delta, u = np.random.default_rng(1).normal(size=(2, 20))
    np.testing.assert_allclose(np.stack(each(delta, u, rho)), each.coefficients(rho) @ np.stack([delta, u]), atol=1e-14)


def test_every_rule_has_its_row_of_coefficients():
    def at(name, rho=2.0):
        return rules.find_rule(name).coefficients(rho).tolist()

    assert at("gtd2") == [[0, -2], [0, 2], [2, -1]]
    assert at("tdc") == [[-2, 0], [0, 2], [2, -1]]
    assert at("gtd2_sb") == [[0, -2], [0, 2], [2, -2]]
    assert at("tdc_sb") == [[-2, 0], [0, 2], [2, -2]]
    assert at("greedy_gq(0.25)") == [[-2, 0], [0, 0.5], [2, -1]]
    assert at("td") == [[-2, 0], [0, 0], [0, 0]]
    assert at("residual_gradient") == [[-2, 0], [2, 0], [0, 0]]
    assert at("tdrc(3)") == at("tdc")
    assert rules.find_rule("tdrc(kappa=3)").w_decay == 3.0
    assert [r.name for r in EVERY if not r.curvature] == [
        "td",
        "residual_gradient",
        "greedy_gq(eta=0)",
        "greedy_gq(eta=0.5)",
    ]


def test_semi_gradient_td_promises_no_stability():
    assert rules.td.promises == {Promise.LINEAR_COST}
    assert rules.gtd2.promises == rules.ALL


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gtd3", "no rule 'gtd3'; did you mean 'gtd2'?"),
        ("greedy_qg", "did you mean 'greedy_gq'?"),
        ("gtd2(3)", "'gtd2' takes no parameter"),
        ("greedy_gq(x)", "eta must be a number, got 'x'"),
        ("greedy_gq(kappa=1)", "takes 'eta', got 'kappa'"),
        ("greedy_gq(2)", r"^eta must be in \[0, 1\], got 2"),
        ("greedy_gq(nan)", r"^eta must be in \[0, 1\], got nan"),
        ("tdrc(-1)", r"^kappa must be at least 0, got -1"),
        ("tdrc(inf)", r"^kappa must be finite, got inf"),
        ("a b", "write a name"),
    ],
)
def test_unknown_names_and_parameters_say_what_to_write(name, says):
    with pytest.raises(ValueError, match=says):
        rules.find_rule(name)


def _wrong():
    def two_arguments(delta, u):
        return Cotangents(delta, u, u)

    def plain_tuple(delta, u, rho):
        return (delta, u, u)

    def returns_nan(delta, u, rho):
        return Cotangents(delta, u, float("nan"))

    def raises(delta, u, rho):
        return Cotangents(delta, u, undefined)  # noqa: F821

    def squares(delta, u, rho):
        return Cotangents(delta * delta, u, u)

    # The next two agree with some linear rule at (1, 0) and at (0, 1).
    def crossed(delta, u, rho):
        return Cotangents(-rho * delta, rho * u + delta * u, rho * delta - u)

    def one_sided(delta, u, rho):
        return Cotangents(-rho * delta, rho * u, np.maximum(rho * delta, 0.0) - u)

    def adds_one(delta, u, rho):
        return Cotangents(delta + 1.0, u, u)

    def none(delta, u, rho):
        return None

    return [
        (two_arguments, r"'two_arguments' must take \(delta, u, rho\)"),
        (plain_tuple, "must return Cotangents"),
        (returns_nan, "must return finite numbers"),
        (raises, "'raises' raised NameError"),
        (squares, "'squares' is not linear in .delta, u.: declare linear=False"),
        (crossed, "'crossed' is not linear"),
        (one_sided, "'one_sided' is not linear"),
        (adds_one, "'adds_one' is not linear"),
        (none, "must return Cotangents.*got None"),
    ]


@pytest.mark.parametrize("eta", [0.1234567891, 1 / 3, 1e-9, 0.5])
def test_a_rule_is_found_again_by_its_name(eta):
    name = rules.greedy_gq(eta).name
    assert rules.find_rule(name).coefficients(1.0)[1, 1] == eta
    assert rules.find_rule(name).name == name


@pytest.mark.parametrize(("function", "says"), _wrong(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_rule_is_refused_when_it_is_made(function, says):
    with pytest.raises(ValueError, match=says):
        rule(function)


def test_what_is_not_a_function_is_refused():
    with pytest.raises(ValueError, match="must be a function, got int"):
        Rule("three", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="w_decay must be 0 or more, got -1"):
        rule(rules.tdc.function, w_decay=-1.0)


def test_a_nonlinear_rule_may_declare_itself_and_has_no_coefficients():
    @rule(linear=False)
    def squashed(delta, u, rho):
        return Cotangents(-rho * delta / (1 + abs(delta)), rho * u, rho * delta - u)

    with pytest.raises(ValueError, match="no coefficients"):
        squashed.coefficients(1.0)


def test_the_source_hash_sees_source_parameters_and_declarations():
    hashes = {r.source_hash for r in (rules.gtd2, rules.tdc, rules.greedy_gq(0.1), rules.greedy_gq(0.2))}
    assert len(hashes) == 4
    assert rules.greedy_gq(0.1).source_hash == rules.greedy_gq(0.1).source_hash
    assert rule(rules.gtd2.function, curvature=False).source_hash != rules.gtd2.source_hash


def test_rules_that_differ_in_a_number_have_fingerprints_of_their_own_and_a_name_is_no_part_of_one():
    ratios = np.array([0.0, 0.4, 7.0])
    gtd2, find = rules.gtd2, rules.find_rule
    different = [
        gtd2, replace(gtd2, curvature=False), replace(gtd2, w_decay=0.5), replace(gtd2, linear=False),
        rules.tdrc(0.25), rules.tdrc(0.5), find("greedy_gq(0.25)"), find("greedy_gq(0.5)"),
    ]  # fmt: skip
    assert len({each.fingerprint(ratios) for each in different}) == len(different)
    assert gtd2.fingerprint(ratios) == replace(gtd2, name="another name").fingerprint(ratios)
    assert rules.tdrc(0.5).fingerprint(ratios) == find("tdrc(0.5)").fingerprint(ratios)


def test_two_rules_of_one_name_that_differ_in_a_constant_each_run_their_own_compiled_code():
    """TDC with δ clipped at 1 and at 3, where δ is 10: −G_θ over φ = 2 is the clipped δ."""

    def clipped(bound):
        def clipped(delta, u, rho):
            return Cotangents(-rho * np.minimum(delta, bound), rho * u, rho * delta - u)

        return Rule("clipped", clipped, linear=False)

    x, zero = np.full((1, 1, 1), 2.0), np.zeros((1, 1, 1))
    batch = Batch(x, zero, ValueTarget().shift(np.full((1, 1), 10.0), np.zeros((1, 1))), np.ones((1, 1)))
    for bound in (1.0, 3.0):
        assert directions(clipped(bound), zero, zero, batch)[0].item() == pytest.approx(-2 * bound, rel=1e-12)
