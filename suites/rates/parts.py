"""Err of the average in its parts, exactly: which of them the ball makes, which the start, and which the noise.

Inside the balls b = Aθ*, and

    Err(θ̄, w̄) = ½‖A(θ̄ − θ*)‖²_C⁻¹ + ½‖w̄‖²_C  +  R‖Aᵀw̄‖ − ⟨Aᵀw̄, θ*⟩

The last two terms are the slack: what a ball larger than ‖θ*‖ adds. Summed over the steps, θ's mean update says
Aᵀw̄ = (θ_n − θ₀)/(αn), so without noise and from θ₀ = 0 the slack is ‖θ*‖(R − ‖θ*‖)/(αn): with α ∝ n^-½ it falls like
n^-½. The squares fall like 1/(αn)², which is n^-1. Noise in w̄ reaches the slack as n^-¾, and noise in θ̄ the squares as
n^-1.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Cotangents, Rule, rule
from dgtd.algorithms.rules import gtd2, td
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, exactly
from dgtd.harness.oracle.averages import noise_alone, noise_free
from dgtd.harness.oracle.lstd import lstd
from dgtd.harness.oracle.saddle import Saddle
from dgtd.suites.rates.expected import about, problem_of

SOURCE = "Proposition 2, its Err taken apart"
SETTLED = (10**8, 10**9, 10**10)
FAR_APART = (10**8, 10**10)  # of the second moments, which take longer
MARGIN = 0.02
DIGITS = 5


@rule(promises=gtd2.promises)
def still(delta: Any, u: Any, rho: Any) -> Cotangents:
    """GTD2 whose w never moves: no learner at all, since θ follows w."""
    return Cotangents(prediction=-rho * u, target=rho * u, tangent=0.0 * u)


def claims(each: Rule) -> Iterator[Claim]:
    """About a linear rule; the controls have no w."""
    root = (
        "without noise Err is the ball's slack ‖θ*‖(R − ‖θ*‖)/(αn), which falls like n^-½, and squares that fall like "
        "n^-1, on {}"
    )
    alone = "from θ*, √E‖Aᵀw̄‖² falls like n^-¾ and E MSPBE like n^-1 with LSTD's constant, on {}"
    yield from about(each, SOURCE, ("slack", root, falls_in_parts), ("noise-parts", alone, noise_falls))
    wrong = {"td": (td, "TD in place of GTD2, which has no w"), "still-w": (still, "a w that never moves")}
    for name, (other, words) in wrong.items():
        seen = partial(falls_in_parts, other, "random_walk")
        says = f"{words}, on the random walk: Err without noise, taken for slack and squares"
        yield Claim(f"rates/control/slack/{name}", says, SOURCE, seen, control=True, seeded=False)


def parts_of(saddle: Saddle, theta: Floats, w: Floats) -> tuple[float, float]:
    """(slack, squares) at a point inside the balls."""
    push, along = saddle.b - saddle.A @ theta, saddle.A.T @ w
    squares = 0.5 * (push @ np.linalg.solve(saddle.C, push) + w @ saddle.C @ w)
    return float(saddle.R * np.linalg.norm(along) - along @ saddle.solution), float(squares)


def falls_in_parts(rule: Rule, place: str, setting: Setting) -> Finding:
    """Exponents of slack and squares, the slack's constant, and that both together are Err."""
    moments, saddle, zeros = problem_of(place, rule)
    points = [noise_free(moments, saddle.step(n), n, zeros) for n in SETTLED]
    errors = np.array([float(saddle.error(*point)) for point in points])
    parts = np.array([parts_of(saddle, *point) for point in points])
    with np.errstate(divide="ignore", invalid="ignore"):
        local = np.diff(np.log(parts), axis=0) / np.diff(np.log(SETTLED))[:, None]
    size = float(np.linalg.norm(saddle.solution))
    share = parts[:, 0] / [size * (saddle.R - size) / (saddle.step(n) * n) for n in SETTLED]
    off = [local[:, 0] + 0.5, local[:, 1] + 1.0, share - 1.0, parts.sum(1) / errors - 1.0]
    worst = round(float(np.abs(np.concatenate(off)).max()), DIGITS)
    words = (
        f"slack like n^{local[-1, 0]:.3f}, {share[-1]:.3f} times ‖θ*‖(R − ‖θ*‖)/(αn); squares like n^{local[-1, 1]:.3f}"
        f"; of Err the slack is {', '.join(f'{each:.0%}' for each in parts[:, 0] / errors)} at n = 10⁸, 10⁹, 10¹⁰"
    )
    shown = {"x": list(SETTLED), "y": errors.tolist(), "x_name": "n, steps", "y_name": "Err without noise, exact"}
    return exactly(worst, MARGIN, words, **shown)


# ---------------------------------------------------------------------- from θ*, where there is nothing but noise


class Noise(NamedTuple):
    """√E‖Aᵀw̄‖², E MSPBE of θ̄, E of Err's squares, and the covariance of θ̄ [d, d]."""

    along: float
    mspbe: float
    squares: float
    covariance: Floats


@lru_cache(maxsize=32)
def noise_of(rule: Rule, place: str, n: int) -> Noise:
    """From θ* and w = 0, with the proposition's step."""
    moments, saddle, _ = problem_of(place, rule)
    second, d = noise_alone(moments, saddle.step(n), n), moments.size
    along = float((saddle.A @ saddle.A.T * second[d:, d:]).sum())
    mspbe = float((saddle.A.T @ np.linalg.solve(saddle.C, saddle.A) * second[:d, :d]).sum())
    return Noise(float(np.sqrt(along)), mspbe, (mspbe + float((saddle.C * second[d:, d:]).sum())) / 2, second[:d, :d])


def noise_falls(rule: Rule, place: str, setting: Setting) -> Finding:
    """Exponents of both between two horizons, and n·E MSPBE at the later one over LSTD's."""
    limit = lstd(problem_of(place, rule)[0].mdp)
    assert limit is not None
    found = np.array([noise_of(rule, place, n)[:2] for n in FAR_APART])
    with np.errstate(divide="ignore", invalid="ignore"):
        local = np.diff(np.log(found), axis=0)[0] / np.diff(np.log(FAR_APART))[0]
    ratio = found[-1, 1] * FAR_APART[-1] / limit.limit
    worst = round(float(np.abs([local[0] + 0.75, local[1] + 1.0, ratio - 1.0]).max()), DIGITS)
    words = (
        f"√E‖Aᵀw̄‖² like n^{local[0]:.3f}, E MSPBE like n^{local[1]:.3f} over n = 10⁸ … 10¹⁰; "
        f"n·E MSPBE is {ratio:.3f} times LSTD's tr(C⁻¹Σ) = {limit.limit:.3g}"
    )
    return exactly(worst, MARGIN, words)
