"""Faults in our own rules, and in what a rule is."""

from tests.mutants.mutant import Mutant

RULES = "algorithms/rules.py"
RULE = "algorithms/rule.py"


def tdc_with(cotangents: str) -> str:
    """The end of TDC's definition: its docstring's last words tell it from other rules of the same form."""
    return f'is not promised.\n    """\n    return Cotangents({cotangents})'


TDC = tdc_with("prediction=-rho * delta, target=rho * u, tangent=rho * delta - u")

MUTANTS = (
    Mutant(
        "gtd2: delta not weighted by rho in w's step",
        RULES,
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u)",
        "prediction=-rho * u, target=rho * u, tangent=delta - u)",
        ("claim:gradients/random_walk/value/linear/gtd2/solves-w",),
    ),
    Mutant(
        "gtd2: target not weighted by rho",
        RULES,
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u)",
        "prediction=-rho * u, target=u, tangent=rho * delta - u)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "gtd2: sign of the prediction's cotangent",
        RULES,
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u)",
        "prediction=rho * u, target=rho * u, tangent=rho * delta - u)",
        ("claim:gradients/random_walk/value/linear/gtd2/descends",),
    ),
    Mutant(
        "gtd2: no curvature",
        RULES,
        ("@rule(promises=ALL)\ndef gtd2("),
        ("@rule(curvature=False, promises=ALL)\ndef gtd2("),
        ("claim:gradients/random_walk/cdf/mlp/gtd2/descends",),
    ),
    Mutant(
        "tdc: gradient of the target dropped",
        RULES,
        TDC,
        tdc_with("prediction=-rho * delta, target=0.0 * u, tangent=rho * delta - u"),
        ("claim:gradients/random_walk/value/linear/tdc/descends",),
    ),
    Mutant(
        "tdc: rho twice on delta",
        RULES,
        TDC,
        tdc_with("prediction=-rho * rho * delta, target=rho * u, tangent=rho * delta - u"),
        ("claim:gradients/random_walk/value/linear/tdc/descends",),
    ),
    Mutant(
        "tdc: w's step too large by a tenth of delta",
        RULES,
        TDC,
        tdc_with("prediction=-rho * delta, target=rho * u, tangent=1.1 * rho * delta - u"),
        ("claim:gradients/random_walk/value/linear/tdc/solves-w",),
    ),
    Mutant(
        "gtd2_sb: u not weighted by rho",
        RULES,
        "prediction=-rho * u, target=rho * u, tangent=rho * (delta - u))",
        "prediction=-rho * u, target=rho * u, tangent=rho * delta - u )",
        ("claim:stability/two_state/value/trajectory/gtd2_sb",),
    ),
    Mutant(
        "tdc_sb: a residual gradient",
        RULES,
        "prediction=-rho * delta, target=rho * u, tangent=rho * (delta - u))",
        "prediction=-rho * delta, target=rho * delta, tangent=rho * (delta - u))",
        (
            "claim:gradients/published/linear/tdc_sb",
            "claim:gradients/published/mlp/tdc_sb",
        ),
    ),
    Mutant(
        "tdc_sb: u not weighted by rho",
        RULES,
        "prediction=-rho * delta, target=rho * u, tangent=rho * (delta - u))",
        "prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)",
        (
            "claim:gradients/published/linear/tdc_sb",
            "claim:gradients/published/mlp/tdc_sb",
        ),
    ),
    Mutant(
        "td: a residual gradient",
        RULES,
        "target=0.0 * u, tangent=0.0 * u)",
        "target=rho * delta, tangent=0.0 * u)",
        ("claim:stability/control/two_state/value/td",),
    ),
    Mutant(
        "residual_gradient: sign of the target",
        RULES,
        "target=rho * delta, tangent=0.0 * u)",
        "target=-rho * delta, tangent=0.0 * u)",
        ("claim:stability/two_state/value/residual_gradient/alpha=0.02,beta=0.02/bounded",),
    ),
    Mutant(
        "greedy_gq: eta ignored",
        RULES,
        "target=eta * rho * u",
        "target=rho * u",
        (
            "claim:gradients/published/linear/greedy_gq(eta=0.5)",
            "claim:gradients/published/mlp/greedy_gq(eta=0.5)",
        ),
    ),
    Mutant(
        "tdrc: kappa halved",
        RULES,
        "w_decay=kappa,",
        "w_decay=kappa / 2,",
        (
            "claim:gradients/published/linear/tdrc(kappa=0.5)",
            "claim:gradients/published/mlp/tdrc(kappa=0.5)",
        ),
    ),
    Mutant(
        "the number in greedy_gq(0.5) is ignored",
        RULES,
        "return found(value)",
        "return found(value * 0 + 1)",
        (
            "claim:engines/rules/names",
            "test:tests/algorithms/test_rules.py::test_every_rule_has_its_row_of_coefficients",
        ),
    ),
    Mutant(
        "coefficients of delta and u swapped",
        RULE,
        "for d, u in _PROBES[:2]]",
        "for d, u in _PROBES[1::-1]]",
        ("claim:gradients/collision/cdf/linear-engine/gtd2/mean",),
    ),
    Mutant(
        "a nonlinear rule passes for a linear one",
        RULE,
        "if self.linear and not np.allclose(found, _PROBES @ found[:2], rtol=1e-10, atol=1e-12):",
        ("if self.linear and not np.allclose(found[:2], _PROBES[:2] @ found[:2], rtol=1e-10, atol=1e-12):"),
        (
            "claim:engines/rules/linear",
            "test:tests/algorithms/test_rules.py::test_a_wrong_rule_is_refused_when_it_is_made",
        ),
    ),
    Mutant(
        "a linear rule's fingerprint forgets kappa",
        RULE,
        "return digest([self.coefficients(rho) for rho in ratios], self.curvature, self.w_decay)",
        "return digest([self.coefficients(rho) for rho in ratios], self.curvature)",
        (
            "claim:engines/rules/fingerprint",
            "test:tests/harness/runs/test_fingerprint.py::test_rules_that_differ_in_a_declaration_alone_are_two_runs",
        ),
    ),
)
