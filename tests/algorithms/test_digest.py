"""What a function's hash is of: its source, what it uses, and the defaults that it was made with."""

from dgtd.algorithms.digest import digest


def made(eta, *, kappa=0.5):
    def rule(delta, u, rho, eta=eta, *, kappa=kappa):
        return eta * rho * delta - kappa * u

    return rule


def test_functions_of_one_source_with_other_defaults_are_two():
    """As a loop makes them: `def f(delta, u, rho, eta=eta)`."""
    assert digest(made(0.1)) == digest(made(0.1))
    assert digest(made(0.1)) != digest(made(0.2))
    assert digest(made(0.1, kappa=1.0)) != digest(made(0.1))
