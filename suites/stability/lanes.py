"""Lanes on the counterexamples: they stay bounded, their objective falls, and the certificate says the same."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2, gtd2_sb, residual_gradient, td, tdc, tdc_sb
from dgtd.algorithms.targets import target_class
from dgtd.harness.judging.claims import FULL, Claim, Judge, Need, Needs, Setting
from dgtd.harness.judging.statistics import Interval, Sprt, end_over_start, mean_interval
from dgtd.harness.judging.verdicts import Finding, agrees, below, seldom
from dgtd.harness.oracle.certificates import Dynamics, classify, lyapunov_rates, mean_square
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes, gone
from dgtd.harness.runs.spec import FAR, Request
from dgtd.harness.runs.work import Job
from dgtd.suites.means import medians, request

SOURCE = "§1; Sutton et al. 2009; Bhatnagar et al. 2009"
RULES = (gtd2, tdc, gtd2_sb, tdc_sb, residual_gradient)
# Step sizes (α, β) at which the certificate along trajectories calls every rule above stable. On two_state a larger β/α
# is not: at α = 0.01, β = 0.2 GTD2 and TDC with ρδ − u diverge along a trajectory, as a claim below says. TD's step
# sizes are small, where its paths diverge.
STEPS: dict[str, list[tuple[float, float]]] = {
    "baird": [(2**-8, 2**-8), (2**-9, 2**-7)],
    "two_state": [(0.02, 0.02), (0.05, 0.05)],
    "tsitsiklis_van_roy": [(0.02, 0.1), (0.05, 0.05)],
}
TD_STEP = {"baird": 0.01, "two_state": 0.1, "tsitsiklis_van_roy": 0.1}
ATOMS = 11
# What the root of the objective may be of its start, at each of the step sizes above: some ten times what the slowest
# rule measures at most (`python -m tests.suites.margins`, seeds 100 to 102, which no verdict uses).
FALLEN = {
    ("baird", "value"): (0.005, 0.005),
    ("baird", "cdf"): (0.01, 0.01),
    ("two_state", "value"): (0.05, 0.001),
    ("two_state", "cdf"): (0.2, 0.2),
    ("tsitsiklis_van_roy", "value"): (5e-14, 3e-37),
    ("tsitsiklis_van_roy", "cdf"): (0.2, 0.2),
}
GROWTH = 10.0  # of the start: what a bounded lane's RMS value may reach; 2.6 was the most measured
HORIZON = 20_000
PRODUCTS = 32  # lanes of long products behind a Lyapunov interval
# Where the certificate decides what to expect: α from a size that throws every rule off to one that none notices.
GRID = tuple((alpha, ratio * alpha) for alpha in (1.0, 0.25, 2**-4, 2**-6, 2**-8) for ratio in (0.25, 1.0, 4.0))
GRID_ATOMS = 4


@dataclass(frozen=True)
class Watched:
    """Lanes of a rule on a counterexample, shared by the claims about it."""

    rule: Rule
    problem: str
    target: str
    alpha: float
    beta: float
    atoms: int = ATOMS
    fallen: float = 1.0

    def claims(self, profiles: tuple[str, ...]) -> list[Claim]:
        """What a rule that promises to be stable is held to."""
        rule, where, objective = self.rule, f"{self.problem} ({self.target})", target_class(self.target).objective
        made: list[tuple[str, str, Needs, Judge]] = [
            ("bounded", f" stays bounded on {where}, below {GROWTH:g} times its start", self.needs, few_grow)
        ]
        if Promise.DESCENDS in rule.promises:
            says = f"'s objective falls to {self.fallen:g} of its start or less on {where}"
            made.append(("falls", says, self.needs, partial(objective_falls, objective, self.fallen)))
        if rule.linear and self.target == "value":
            says, needs = f": certificate and simulation agree on {self.problem}", partial(self.with_certificate, 5000)
            made.append(("certificate", says, needs, certificate_agrees))
        id_ = f"stability/{self.problem}/{self.target}/{rule.name}/alpha={self.alpha:g},beta={self.beta:g}"
        promised: dict[str, Any] = {"rule": rule, "promise": Promise.STABLE, "profiles": profiles}
        return [
            Claim(f"{id_}/{name}", f"{rule.name}{says}", SOURCE, needs=needs, judge=judge, **promised)
            for name, says, needs, judge in made
        ]

    def run(self, setting: Setting) -> Request:
        times = np.unique(np.concatenate([[0], np.geomspace(10, HORIZON, 20).astype(int)]))
        return request(
            self.rule, self.problem, 64 if setting.profile == "ci" else 200, setting, "stability", times,
            self.alpha, self.beta, target=self.target, atoms=self.atoms,
        )  # fmt: skip

    def needs(self, setting: Setting) -> list[Need]:
        return [self.run(setting)]

    def with_certificate(self, steps: int, setting: Setting) -> list[Need]:
        """And the exact radius, with long products for the Lyapunov exponent."""
        job = Job.of(
            certificate_numbers, self.rule, problem=self.problem, target=self.target, atoms=self.atoms,
            alpha=self.alpha, beta=self.beta, steps=steps, seed=setting.seed,
        )  # fmt: skip
        return [self.run(setting), job]


def td_control(problem: str, target: str) -> Claim:
    """The same check on semi-gradient TD."""
    form = f"{target_class(target).form} semi-gradient TD".strip()
    id_ = f"stability/control/{problem}/{target}/td"
    needs = Watched(td, problem, target, TD_STEP[problem], TD_STEP[problem]).needs
    return Claim(id_, f"{form} stays bounded on {problem}", SOURCE, needs=needs, judge=few_grow, control=True)


def few_diverge(evidence: list[Lanes], setting: Setting, far: float = FAR) -> Finding:
    """Each lane is a trial: at most 1 % pass `far` times their start, told from 20 %."""
    (trial,) = evidence
    failed = trial.diverged(far)
    alive = 1.0 - gone(trial.of("size"), far).mean(1)
    words = (
        f"{int(failed.sum())} of {len(failed)} lanes passed {far:g} times their start (or 1) in {trial.times[-1]} steps"
    )
    curve = {"x": trial.times.tolist(), "y": alive.tolist(), "x_name": "steps", "y_name": "share of lanes alive"}
    return seldom(Sprt(0.01, 0.20, setting.false_alarm, 1e-2, len(failed)), failed.tolist(), words, **curve)


few_grow = partial(few_diverge, far=GROWTH)


def objective_falls(metric: str, margin: float, evidence: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes of its end over its start; a lane that diverged counts as far above."""
    (trial,) = evidence
    share = end_over_start(trial.of(metric), 2 * setting.false_alarm)
    words = f"the objective (root) is {share.estimate:.2g} of its start [{share.low:.2g}, {share.high:.2g}]"
    shown = medians(trial, metric, "root of the objective, median")
    return below(share, margin, setting.false_alarm, words, **shown)


# ---------------------------------------------------------------------- certificate and simulation


def certificate_numbers(
    rule: Rule, problem: str, target: str, atoms: int, alpha: float, beta: float, steps: int, seed: int,
    lanes: int = PRODUCTS, trajectory: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """The mean-square radius as a bracket, and Lyapunov rates, one per lane of products."""
    world = find_problem(problem)
    dynamics = Dynamics(rule, world.mdp, world.target(target, atoms), alpha, beta)
    square = mean_square(dynamics, trajectory=trajectory)
    rates = lyapunov_rates(dynamics, lanes, steps, seed, trajectory=trajectory)
    return {"low": square.low, "high": square.high, "rates": rates.tolist()}


def certificate_agrees(evidence: list[Any], setting: Setting) -> Finding:
    """No contradiction: stable with lanes that diverged, or diverging with lanes that did not."""
    trial, numbers = evidence
    kind, _ = class_of(numbers, setting.false_alarm)
    share = float(trial.diverged().mean())
    bracket = f"{numbers['low']:.7f} … {numbers['high']:.7f}"
    words = f"{kind} (mean-square radius {bracket}), {share:.0%} of lanes diverged"
    return agrees(float(contradicts(kind, share)), 0.5, setting, len(trial.died), words)


def class_of(numbers: dict[str, Any], false_alarm: float) -> tuple[str, Interval]:
    """Stable, diverging, heavy-tailed or marginal, and the Lyapunov interval."""
    rate = mean_interval(numbers["rates"], false_alarm)
    return str(classify((numbers["low"], numbers["high"]), (rate.low, rate.high))), rate


def contradicts(kind: str, share: float) -> bool:
    """A radius below 1 with lanes that diverged, or paths that grow with lanes that did not."""
    return (kind == "stable" and share > 0.1) or (kind == "diverging" and share < 0.9)


def grid(each: Rule, problem: str, target: str) -> Claim:
    """The same at many step sizes."""
    places = [Watched(each, problem, target, alpha, beta, GRID_ATOMS) for alpha, beta in GRID]
    id_, where = f"stability/{problem}/{target}/{each.name}/grid", f"{each.name} on {problem} ({target})"
    says = f"{where}: certificate and simulation agree at {len(GRID)} step sizes"

    def needs(setting: Setting) -> list[Need]:
        return [need for place in places for need in place.with_certificate(20_000, setting)]

    return Claim(id_, says, SOURCE, needs=needs, judge=grid_agrees, rule=each, profiles=FULL)


def grid_agrees(evidence: list[Any], setting: Setting) -> Finding:
    """At each point what the certificate says, if it says something, against the share of lanes that diverged."""
    classes: Counter[str] = Counter()
    shares, wrong = [], []
    for (alpha, beta), trial, numbers in zip(GRID, evidence[::2], evidence[1::2], strict=True):
        kind, rate = class_of(numbers, setting.false_alarm / len(GRID))
        share = float(trial.diverged().mean())
        # Growth must have had the time to pass FAR, twice over in the logarithm.
        slow = kind == "diverging" and HORIZON * rate.low < 2 * np.log(FAR)
        classes["growing slowly" if slow else kind] += 1
        shares.append(share)
        if not slow and contradicts(kind, share):
            wrong.append(f"α = {alpha:g}, β = {beta:g}: {kind}, {share:.0%} diverged")
    words = "; ".join([", ".join(f"{n} {kind}" for kind, n in sorted(classes.items())), *wrong])
    lanes = sum(len(trial.died) for trial in evidence[::2])
    shown = {"x": [alpha for alpha, _ in GRID], "y": shares, "x_name": "α", "y_name": "share of lanes that diverged"}
    return agrees(float(len(wrong)), 0.5, setting, lanes, words, **shown)
