"""Faults in rules that a user brings: the ledger judges the rule, and one of its claims must fail."""

from tests.mutants.mutant import of_user

GTD2 = '''"""A rule of a user's own: GTD2, which promises everything."""

from algorithms.rule import Cotangents, rule


@rule
def mine(delta, u, rho):
    ratio = 1.0 * rho
    return Cotangents(prediction=-ratio * u, target=ratio * u, tangent=ratio * delta - u)
'''
TDC = '''"""A rule of a user's own: TDC, which promises no rate."""

from algorithms.rule import ALL, Cotangents, Promise, rule


@rule(promises=ALL - {Promise.RATE})
def mine(delta, u, rho):
    ratio = 1.0 * rho
    return Cotangents(prediction=-ratio * delta, target=ratio * u, tangent=ratio * delta - u)
'''


def clipped(at: str) -> str:
    """ρ, at most a number: arithmetic on floats, arrays and tensors alike."""
    return f"ratio = rho - (rho > {at}) * (rho - {at})"


RATIO = "ratio = 1.0 * rho"
DESCENDS = "claim:gradients/random_walk/value/linear/mine/descends"
SOLVES = "claim:gradients/random_walk/value/linear/mine/solves-w"
LARGE = "claim:gradients/baird/value/linear/mine/solves-w"

MUTANTS = (
    of_user("user: rho clipped at 5", GTD2, RATIO, clipped("5.0"), LARGE),
    of_user("user: rho clipped at 2.5", GTD2, RATIO, clipped("2.5"), LARGE),
    of_user(
        "user: rho clipped at 1.5",
        GTD2,
        RATIO,
        clipped("1.5"),
        "claim:gradients/collision/value/linear/mine/solves-w",
    ),
    of_user("user: rho dropped", GTD2, RATIO, "ratio = 1.0 + 0.0 * rho", DESCENDS),
    of_user("user: rho squared", TDC, RATIO, "ratio = rho * rho", DESCENDS),
    of_user(
        "user: no curvature",
        GTD2,
        "@rule\n",
        "@rule(curvature=False)\n",
        "claim:gradients/random_walk/cdf/mlp/mine/descends",
    ),
    of_user("user: w decays a little", GTD2, "@rule\n", "@rule(w_decay=0.01)\n", SOLVES),
    of_user(
        "user: u halved in the tangent", TDC, "tangent=ratio * delta - u", "tangent=ratio * delta - 0.5 * u", SOLVES
    ),
    of_user("user: sign of the target", GTD2, "target=ratio * u", "target=-ratio * u", DESCENDS),
    of_user("user: TDC's correction at nine tenths", TDC, "target=ratio * u", "target=0.9 * ratio * u", DESCENDS),
    of_user("user: semi-gradient TD that promises everything", TDC, "target=ratio * u", "target=0.0 * u", DESCENDS),
    of_user("user: a residual gradient in TDC's clothes", TDC, "target=ratio * u", "target=ratio * delta", DESCENDS),
    of_user("user: w is never updated", GTD2, "tangent=ratio * delta - u", "tangent=0.0 * u", SOLVES),
    of_user(
        "user: errors above 1 cut off, declared nonlinear",
        GTD2,
        "@rule\ndef mine(delta, u, rho):\n",
        "@rule(linear=False)\ndef mine(delta, u, rho):\n    delta = delta / (1.0 + abs(delta))\n",
        SOLVES,
    ),
)
