"""Lanes on the counterexamples: they stay bounded, their objective falls, and the certificate says the same."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2, gtd2_sb, residual_gradient, td, tdc, tdc_sb
from dgtd.algorithms.targets import target_class
from dgtd.harness.judging.claims import Claim, Judge, Need, Needs, Setting
from dgtd.harness.judging.statistics import Sprt, end_over_start, mean_interval
from dgtd.harness.judging.verdicts import Finding, agrees, below, seldom
from dgtd.harness.oracle.certificates import Dynamics, classify, lyapunov_rates, mean_square
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.job import Job
from dgtd.harness.runs.lanes import Lanes, gone
from dgtd.harness.runs.rule_files import reference_of
from dgtd.harness.runs.spec import FAR, Request
from dgtd.suites.means import request

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

    def promised(self, what: str, says: str, needs: Needs, judge: Judge, profiles: tuple[str, ...]) -> Claim:
        """What a rule that promises to be stable is held to."""
        steps = f"alpha={self.alpha:g},beta={self.beta:g}"
        id_ = f"stability/{self.problem}/{self.target}/{self.rule.name}/{steps}/{what}"
        more: dict[str, Any] = {"rule": self.rule, "promise": Promise.STABLE, "profiles": profiles}
        return Claim(id_, f"{self.rule.name}{says}", SOURCE, needs=needs, judge=judge, **more)

    def run(self, setting: Setting) -> Request:
        times = np.unique(np.concatenate([[0], np.geomspace(10, HORIZON, 20).astype(int)]))
        return request(
            self.rule, self.problem, 64 if setting.profile == "ci" else 200, setting, "stability", times,
            self.alpha, self.beta, target=self.target, atoms=self.atoms,
        )  # fmt: skip

    def needs(self, setting: Setting) -> list[Need]:
        return [self.run(setting)]

    def certificate(self, setting: Setting, steps: int) -> Job:
        """The exact radius, and long products for the Lyapunov exponent."""
        return Job.of(
            certificate_numbers, reference_of(self.rule), problem=self.problem, target=self.target, atoms=self.atoms,
            alpha=self.alpha, beta=self.beta, steps=steps, seed=setting.seed,
        )  # fmt: skip


# ---------------------------------------------------------------------- bounded


def bounded(lanes: Watched, profiles: tuple[str, ...]) -> Claim:
    says = f" stays bounded on {lanes.problem} ({lanes.target}), below {GROWTH:g} times its start"
    return lanes.promised("bounded", says, lanes.needs, few_grow, profiles)


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


# ---------------------------------------------------------------------- falling


def falls(lanes: Watched, profiles: tuple[str, ...]) -> Claim:
    """The objective that the rule descends."""
    says = f"'s objective falls to {lanes.fallen:g} of its start or less on {lanes.problem} ({lanes.target})"
    judge = partial(objective_falls, target_class(lanes.target).objective, lanes.fallen)
    return lanes.promised("falls", says, lanes.needs, judge, profiles)


def objective_falls(metric: str, margin: float, evidence: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes of its end over its start; a lane that diverged counts as far above."""
    (trial,) = evidence
    curve = trial.of(metric)
    share = end_over_start(curve, 2 * setting.false_alarm)
    with np.errstate(invalid="ignore"):
        median = np.median(curve, axis=1)
    words = f"the objective (root) is {share.estimate:.2g} of its start [{share.low:.2g}, {share.high:.2g}]"
    shown = {"x": trial.times.tolist(), "y": median.tolist(), "x_name": "steps"}
    return below(share, margin, setting.false_alarm, words, **shown, y_name="root of the objective, median")


# ---------------------------------------------------------------------- certificate and simulation


def certificate_numbers(
    rule: Rule, problem: str, target: str, atoms: int, alpha: float, beta: float, steps: int, seed: int
) -> dict[str, Any]:
    """The mean-square radius along trajectories as a bracket, and Lyapunov rates, one per lane of products."""
    world = find_problem(problem)
    dynamics = Dynamics(rule, world.mdp, world.target(target, atoms), alpha, beta)
    square = mean_square(dynamics, trajectory=True)
    rates = lyapunov_rates(dynamics, PRODUCTS, steps, seed, trajectory=True)
    return {"low": square.low, "high": square.high, "rates": rates.tolist()}


def certificate(lanes: Watched, profiles: tuple[str, ...]) -> Claim:
    """What the certificate says, against what the lanes did."""

    def needs(setting: Setting) -> list[Need]:
        return [lanes.run(setting), lanes.certificate(setting, 5000)]

    says = f": certificate and simulation agree on {lanes.problem}"
    return lanes.promised("certificate", says, needs, certificate_agrees, profiles)


def certificate_agrees(evidence: list[Any], setting: Setting) -> Finding:
    """No contradiction: stable with lanes that diverged, or diverging with lanes that did not."""
    trial, numbers = evidence
    kind, _ = class_of(numbers, setting.false_alarm)
    share = float(trial.diverged().mean())
    bracket = f"{numbers['low']:.7f} … {numbers['high']:.7f}"
    words = f"{kind} (mean-square radius {bracket}), {share:.0%} of lanes diverged"
    return agrees(float(contradicts(kind, share)), 0.5, setting, len(trial.died), words)


def class_of(numbers: dict[str, Any], false_alarm: float) -> tuple[str, float]:
    """Stable, diverging, heavy-tailed or marginal, and the lower end of the Lyapunov interval."""
    rate = mean_interval(numbers["rates"], false_alarm)
    return str(classify((numbers["low"], numbers["high"]), (rate.low, rate.high))), rate.low


def contradicts(kind: str, share: float) -> bool:
    """A radius below 1 with lanes that diverged, or paths that grow with lanes that did not."""
    return (kind == "stable" and share > 0.1) or (kind == "diverging" and share < 0.9)


def grid(each: Rule, problem: str, target: str) -> Claim:
    """The same at many step sizes."""
    places = [Watched(each, problem, target, alpha, beta, GRID_ATOMS) for alpha, beta in GRID]
    return Claim(
        id=f"stability/{problem}/{target}/{each.name}/grid",
        says=f"{each.name} on {problem} ({target}): certificate and simulation agree at {len(GRID)} step sizes",
        source=SOURCE,
        needs=lambda setting: [n for p in places for n in (p.run(setting), p.certificate(setting, 20_000))],
        judge=grid_agrees,
        rule=each,
        profiles=("full", "paper"),
    )


def grid_agrees(evidence: list[Any], setting: Setting) -> Finding:
    """At each point what the certificate says, if it says something, against the share of lanes that diverged."""
    classes: Counter[str] = Counter()
    shares, wrong = [], []
    for (alpha, beta), trial, numbers in zip(GRID, evidence[::2], evidence[1::2], strict=True):
        kind, growth = class_of(numbers, setting.false_alarm / len(GRID))
        share = float(trial.diverged().mean())
        # Growth must have had the time to pass FAR, twice over in the logarithm.
        slow = kind == "diverging" and HORIZON * growth < 2 * np.log(FAR)
        classes["growing slowly" if slow else kind] += 1
        shares.append(share)
        if not slow and contradicts(kind, share):
            wrong.append(f"α = {alpha:g}, β = {beta:g}: {kind}, {share:.0%} diverged")
    words = "; ".join([", ".join(f"{n} {kind}" for kind, n in sorted(classes.items())), *wrong])
    lanes = sum(len(trial.died) for trial in evidence[::2])
    shown = {"x": [alpha for alpha, _ in GRID], "y": shares, "x_name": "α", "y_name": "share of lanes that diverged"}
    return agrees(float(len(wrong)), 0.5, setting, lanes, words, **shown)
