"""Growth of long products and maps of step sizes, where a closed form or a dense matrix gives the answer.

Part of the suite `instrument`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from algorithms.rules import gtd2, td, tdc
from harness.compare.zones import LANES, zones
from harness.judging.claims import Claim, Judge, Need, Setting
from harness.judging.verdicts import Finding, agrees, exactly
from harness.oracle.mdp import FiniteMDP, Transitions
from harness.runs.job import Job
from harness.runs.rule_files import reference_of

SOURCE = "closed form"
GAMMA, PHI = 0.9, 1.5
STUDENT = {0.95: 2.570582, 0.99: 4.032143}  # two-sided critical values with 5 degrees of freedom
STEPS = 160  # of a product: without chance that is enough, and an interval is of whatever its lanes did
TURNING = 2.0**-7  # α at which TDC with β = α/16 grows and turns; in 4000 steps a part of one turn passes for decay


def claims() -> list[Claim]:
    """They do not depend on the rule that is judged."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "exponent/one-state": (
            "on one state the Lyapunov exponent of TDC is the log of its matrix's radius, growing or shrinking, "
            "whatever the reward",
            exponents_are_logs,
        ),
        "exponent/interval": (
            "the interval of a Lyapunov exponent is Student's t interval of its lanes, two-sided",
            interval_is_students,
        ),
        "radius/matrix-free": (
            "without a dense matrix the bracket of the mean-square radius still holds that of E[M⊗M], written out",
            bracket_holds_the_radius,
        ),
    }
    return [
        Claim(id=f"instrument/{name}", says=words, source=SOURCE, check=check, seeded=False)
        for name, (words, check) in says.items()
    ] + [
        zone("edge", gtd2, 1.0, [2.0, 0.01], edge_is_at_one),
        zone("slow-turn", tdc, 1 / 16, [TURNING], turns_are_seen),
    ]


def one_state(reward: float) -> FiniteMDP:
    """A state that leads to itself, with one feature."""
    one = np.ones((1, 1))
    return FiniteMDP(
        "one state", Transitions.of([(0, 0, 1.0, 0, reward, False)]), gamma=GAMMA, behaviour=one, target=one,
        features=PHI * one, theta_initial=np.zeros(1), start=np.ones(1),
    )  # fmt: skip


def tdc_matrix(alpha: float, beta: float) -> Floats:
    """TDC's step of a deviation (θ, w): δ = (γ − 1)φθ, θ ← θ + αφ(δ − γu), w ← w + βφ(δ − u) with u = φw."""
    square = PHI**2
    return np.array(
        [
            [1 + alpha * (GAMMA - 1) * square, -alpha * GAMMA * square],
            [beta * (GAMMA - 1) * square, 1 - beta * square],
        ]
    )


def exponents_are_logs(setting: Setting) -> Finding:
    """The largest difference over lanes, rewards and step sizes: there is no chance, so every lane is exact."""
    from algorithms.targets import ValueTarget
    from harness.oracle.certificates import Dynamics, lyapunov_rates

    errors, said = [], []
    for alpha, beta in ((0.5, 0.4), (20.0, 0.4)):
        exact = float(np.log(np.abs(np.linalg.eigvals(tdc_matrix(alpha, beta))).max()))
        for reward in (0.0, 1.0):
            found = lyapunov_rates(Dynamics(tdc, one_state(reward), ValueTarget(), alpha, beta), 3, STEPS, seed=0)
            errors.append(np.abs(found - exact).max())
        said.append(f"{exact:.4f}")
    worst = float(np.max(errors))
    return exactly(worst, 1e-9, f"exponents of {' and '.join(said)} are off by {worst:.1e}")


def interval_is_students(setting: Setting) -> Finding:
    """Six lanes of TD on θ → 2θ at α = 1, whose critical values are in every table."""
    from harness.oracle.certificates import Dynamics, lyapunov, lyapunov_rates
    from harness.plugins import find_problem

    world = find_problem("two_state")
    dynamics = Dynamics(td, world.mdp, world.target(), 1.0, 1.0)
    rates = lyapunov_rates(dynamics, 6, STEPS, seed=3)
    middle, error = rates.mean(), np.sqrt(((rates - rates.mean()) ** 2).sum() / 5 / 6)
    errors = []
    for confidence, critical in STUDENT.items():
        found = np.array(lyapunov(dynamics, 6, STEPS, 3, confidence))
        errors.append(np.abs((found - middle) / error - critical * np.array([-1, 1])).max())
    worst = float(np.max(errors))
    return exactly(worst, 1e-5, f"ends at {len(STUDENT)} levels are off by {worst:.1e} standard errors")


def bracket_holds_the_radius(setting: Setting) -> Finding:
    """GTD2 on the random walk: how far the radius lies outside. How narrow it is depends on the machine's time."""
    from harness.oracle.certificates import Dynamics
    from harness.oracle.enumerated import second_moment_radius
    from harness.oracle.radius import bracket
    from harness.plugins import find_problem

    world = find_problem("random_walk")
    goal = world.target()
    dense = second_moment_radius(gtd2, world.mdp, goal, 0.3, 0.5, False)
    dynamics = Dynamics(gtd2, world.mdp, goal, 0.3, 0.5)
    found = bracket(lambda Y: dynamics.second_moment(Y[0])[None], 1, dynamics.side, seconds=0.4, dense=0)
    words = f"{dense:.9f} by a dense matrix, [{found.low:.9f}, {found.high:.9f}] without"
    return exactly(float(np.max([found.low - dense, dense - found.high, 0.0])), 1e-10, words)


# ---------------------------------------------------------------------- maps of step sizes

MAPS = {
    "edge": "the edge of GTD2's stable zone on θ → 2θ with β = α is the step size at which the radius is 1",
    "slow-turn": "a map says that TDC diverges on θ → 2θ at α = 2⁻⁷, β = 2⁻¹¹, where its paths grow in slow turns",
}


def zone(name: str, rule: Rule, ratio: float, alphas: list[float], judge: Judge) -> Claim:
    """A column of a map; what is not stable is told by long products."""

    def needs(setting: Setting) -> list[Need]:
        where: dict[str, Any] = {"problem": "two_state", "target": "value", "atoms": 21, "projection": "cramer"}
        return [Job.of(zones, reference_of(rule), ratio=ratio, alphas=alphas, seed=setting.seed, **where)]

    return Claim(id=f"instrument/zones/{name}", says=MAPS[name], source=SOURCE, needs=needs, judge=judge)


def edge_is_at_one(evidence: list[Any], setting: Setting) -> Finding:
    """The dense radius at the edge, and a tenth beyond it."""
    from harness.oracle.enumerated import second_moment_radius
    from harness.plugins import find_problem

    world, edge = find_problem("two_state"), evidence[0]["edge"]
    inside, beyond = (
        second_moment_radius(gtd2, world.mdp, world.target(), alpha, alpha, False) for alpha in (edge, 1.1 * edge)
    )
    right = evidence[0]["kinds"] == ["diverging", "stable"] and inside < 1 < beyond
    words = f"the edge is {edge:.4f}; radius {inside:.6f} there, {beyond:.6f} a tenth beyond"
    return agrees(float(not right), 0.5, setting, LANES, words)


def turns_are_seen(evidence: list[Any], setting: Setting) -> Finding:
    """The mean matrix has a complex pair outside the unit circle, so almost every path grows in the end."""
    from harness.oracle.certificates import Dynamics
    from harness.plugins import find_problem

    world, (kind,) = find_problem("two_state"), evidence[0]["kinds"]
    values: Any = np.linalg.eigvals(Dynamics(tdc, world.mdp, world.target(), TURNING, TURNING / 16).mean)
    right = kind == "diverging" and np.abs(values).max() > 1 and np.abs(values.imag).max() > 0
    turn = 2 * np.pi / np.abs(np.angle(values)).max()
    return agrees(float(not right), 0.5, setting, LANES, f"{kind}; a turn takes {turn:,.0f} steps")
