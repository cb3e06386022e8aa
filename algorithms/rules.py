"""The algorithms of the paper and their relatives, each as three cotangents.

    S(θ, w) = Σ_j ρ δ_j u_j − ½ u_j²          w ascends S, θ descends S

A rule gives the cotangents of f, g and u; an engine turns them into

    G_θ = J(x)ᵀp + J(x')ᵀTᵀt + Σ_j q_j ∇²f_j(x) w          θ ← Γ(θ − α G_θ)
    G_w = J(x)ᵀq                                            w ← w + β (G_w − κ w)

Scalar or distributional, linear or nonlinear, prediction or control: the rules are the same.
"""

import inspect
import re
from collections.abc import Callable
from typing import NamedTuple

from dgtd.algorithms.checks import at_least, within
from dgtd.algorithms.names import look_up
from dgtd.algorithms.rule import ALL, Cotangents, Promise, Rule, named, rule

__all__ = ["ALL", "FAMILIES", "PUBLISHED", "Cotangents", "Promise", "Rule", "find_rule", "rule"]

_COST = Promise.LINEAR_COST


@rule(promises=ALL)
def gtd2(delta, u, rho):
    """Distributional and classic GTD2 (paper, Algorithm 1; Sutton et al. 2009).

        S = ρ δ·u − ½ u·u        w ascends S, θ descends S

    ρ weights δ but not u (Maei's placement; Sutton & Barto weight both).
    """
    return Cotangents(prediction=-rho * u, target=rho * u, tangent=rho * delta - u)


@rule(promises=ALL - {Promise.RATE})
def tdc(delta, u, rho):
    """Distributional and classic TDC (paper, Algorithm 2; Sutton et al. 2009): GTD2 with δ instead of u for f.

    Away from w* it does not descend a saddle-point objective, so Proposition 2's rate is not promised.
    """
    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)


@rule(promises=ALL)
def gtd2_sb(delta, u, rho):
    """GTD2 with Sutton & Barto's placement, w ← w + β ρ(δ − u)φ (2nd ed., §11.7).

    E[ρ | s] = 1, so its mean is the same as gtd2's; its noise and its stable step sizes are different.
    """
    return Cotangents(prediction=-rho * u, target=rho * u, tangent=rho * (delta - u))


@rule(promises=ALL - {Promise.RATE})
def tdc_sb(delta, u, rho):
    """TDC with Sutton & Barto's placement, w ← w + β ρ(δ − u)φ (2nd ed., §11.7)."""
    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * (delta - u))


@rule(curvature=False, promises={_COST})
def td(delta, u, rho):
    """Semi-gradient TD; in control problems, Q-learning. The negative control: it must diverge off-policy.

    The cotangents that are not used are written as 0·u, so that they have u's shape on arrays.
    """
    return Cotangents(prediction=-rho * delta, target=0.0 * u, tangent=0.0 * u)


@rule(curvature=False, promises={Promise.STABLE, _COST})
def residual_gradient(delta, u, rho):
    """Residual gradient (Baird 1995): descends ½ρδ² in f and g.

    It uses one sample of s', so it is biased by the variance of that sample.
    """
    return Cotangents(prediction=-rho * delta, target=rho * delta, tangent=0.0 * u)


def greedy_gq(eta: float = 1.0) -> Rule:
    """Greedy-GQ and distributional Greedy-GQ (paper, Algorithm 3; Maei et al. 2010).

    η = 0 is (distributional) Q-learning, η = 1 is Greedy-GQ. The paper omits the curvature term.
    """
    within("eta", eta, 0.0, 1.0)

    @rule(curvature=False, promises={Promise.SOLVES_W, _COST})
    def greedy_gq(delta, u, rho):
        return Cotangents(prediction=-rho * delta, target=eta * rho * u, tangent=rho * delta - u)

    return named(greedy_gq, eta=eta)


def tdrc(kappa: float = 1.0) -> Rule:
    """TDRC (Ghiassian et al. 2020): TDC whose w also decays, w ← w + β(G_w − κ w).

    The decay moves w's fixed point away from w*, so descent and w* are not promised. Stability is not promised either:
    on θ → 2θ the mean grows like 0.2(1 − 2.7/(2.5 + κ)), so for κ > 0.2 (also for the usual κ = 1) it diverges at every
    step size.
    """
    at_least("kappa", kappa, 0.0)

    @rule(w_decay=kappa, promises={_COST})
    def tdrc(delta, u, rho):
        return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)

    return named(tdrc, kappa=kappa)


RULES: dict[str, Rule] = {r.name: r for r in (gtd2, tdc, gtd2_sb, tdc_sb, td, residual_gradient)}
FAMILIES: dict[str, Callable[..., Rule]] = {"greedy_gq": greedy_gq, "tdrc": tdrc}


class Published(NamedTuple):
    """A published agent: the words that its name stands for, its row in the table of agents.py."""

    rule: str
    target: str
    metric: str
    frozen: int


PUBLISHED = {
    "dqn": Published("td", "value", "cramer", 500),  # Mnih et al. 2015, with the squared error
    "c51": Published("td", "cdf", "kl", 500),  # Bellemare et al. 2017
}

_CALL = re.compile(r"(?P<name>\w+)(\((?:(?P<key>\w+)\s*=\s*)?(?P<value>[^()=]+)\))?")


def find_rule(name: str) -> Rule:
    """A built-in rule by name: `gtd2`, `tdrc`, `greedy_gq(0.5)` or `greedy_gq(eta=0.5)`."""
    match = _CALL.fullmatch(name.strip())
    if match is None:
        raise ValueError(f"no rule {name!r}; write a name, or name(parameter) as in 'greedy_gq(0.5)'")
    known: dict[str, Rule | Callable[..., Rule]] = {**RULES, **FAMILIES}
    found = look_up("rule", match["name"], known)
    if match["value"] is None:
        return found if isinstance(found, Rule) else found()
    if isinstance(found, Rule):
        raise ValueError(f"rule {found.name!r} takes no parameter, got {name!r}")
    (parameter,) = inspect.signature(found).parameters
    if match["key"] not in (None, parameter):
        raise ValueError(f"{match['name']} takes {parameter!r}, got {match['key']!r}")
    try:
        value = float(match["value"])
    except ValueError:
        raise ValueError(f"{match['name']}: {parameter} must be a number, got {match['value']!r}") from None
    return found(value)
