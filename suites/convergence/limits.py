"""Where Theorem 2 speaks: E Σφφᵀ is nonsingular, and J has its minimum inside Γ's ball.

Two such places. A table of logits on a random MDP whose projected fixed point gives every atom some mass, so that its
logits are finite. And a network of 23 weights on Boyan's chain: its four features sum to 1, so with a bias one of them
says nothing, and three are used.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import greedy_gq, gtd2
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.judging.claims import Claim, Judge, Need, Needs, Setting
from dgtd.harness.judging.statistics import end_over_start, median_interval, slopes
from dgtd.harness.judging.verdicts import Finding, below, exactly
from dgtd.harness.oracle.returns import projected_law
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec, Request, StepSchedule
from dgtd.harness.runs.trainers.networks import Layers
from dgtd.suites.convergence.falls import NAMES, SOURCE, TABLE
from dgtd.suites.means import request

INTERIOR, INTERIOR_ATOMS = "random_mdp(states=5,gamma=0.8)", 4
ALPHA, BETA, RADIUS = 0.3, 1.0, 50.0
STEPS = {"ci": 1_000_000, "full": 10_000_000, "paper": 10_000_000}
LIMIT = {"ci": 0.02, "full": 0.01, "paper": 0.01}  # of J's start; 0.006 to 0.012 and 0.003 to 0.004 on other seeds
ROBBINS_MONRO = StepSchedule("robbins-monro")
SUMMABLE = StepSchedule("power-law", 2.0, 2.0, 100.0)
# θ on the fast time scale, and w thirty times slower. To swap the exponents alone is not enough: J falls all the same.
SWAPPED = StepSchedule("power-law", 0.55, 0.75, 1000.0)
SWAPPED_STEPS = (1.0, 0.03)

NETWORK = PredictorSpec("mlp", (2,), pinned=True, inputs="most-features")
NETWORK_ATOMS, NETWORK_RADIUS, NETWORK_OFFSET = 6, 10.0, 10_000.0
NETWORK_STEPS = (0.003, 0.3)
LANES, NETWORK_LANES, CONTROL_LANES = 16, 64, 8
NETWORK_LIMIT = {"J": 0.03, "gradient": 0.10}


def claims(rules: tuple[Rule, ...]) -> list[Claim]:
    """The conditions, then the limits."""
    made = [interior(), at_infinity(), network_rank()]
    for rule in rules:
        made.append(reaches(rule))
        made += [keeps_falling(rule, what) for what in NAMES]
        made += [network_reaches(rule, what) for what in NETWORK_LIMIT]
    return [*made, *controls()]


def decades(steps: int, first: int = 1000, per_decade: int = 4) -> Integers:
    """0, then log-spaced checkpoints."""
    points = round(per_decade * np.log10(steps / first)) + 1
    return np.concatenate([[0], np.geomspace(first, steps, points).round()]).astype(np.int64)


def table_run(
    rule: Rule,
    setting: Setting,
    schedule: StepSchedule = ROBBINS_MONRO,
    steps: tuple[float, float] = (ALPHA, BETA),
    lanes: int = LANES,
) -> Request:
    """A table of logits on the random MDP."""
    return request(
        rule, INTERIOR, lanes, setting, "limit", decades(STEPS[setting.profile]), *steps,
        metrics=("J", "gradient", "w_gap"), target="cdf", atoms=INTERIOR_ATOMS, predictor=TABLE, schedule=schedule,
        radius=RADIUS, spread=0.5, cohort=8,
    )  # fmt: skip


def network_run(rule: Rule, setting: Setting, length: int, lanes: int = NETWORK_LANES) -> Request:
    """The network on Boyan's chain, with the rank of E Σφφᵀ along its path."""
    return request(
        rule, "boyan", lanes, setting, "limit", decades(length), *NETWORK_STEPS,
        metrics=("J", "gradient", "w_gap", "rank", "condition"), target="cdf", atoms=NETWORK_ATOMS, predictor=NETWORK,
        schedule=StepSchedule("robbins-monro", offset=NETWORK_OFFSET), radius=NETWORK_RADIUS, cohort=8,
    )  # fmt: skip


# ---------------------------------------------------------------------- what the theorem asks for


def smallest_mass(problem: str, atoms: int) -> float:
    """Of an atom in the projected operator's fixed point, over all states: where it is 0, a logit is at infinity."""

    found = find_problem(problem)
    target = CdfTarget.over(found.support, atoms, "cramer")
    return float(target.probabilities(projected_law(found.mdp, target).cdf).min())


def interior() -> Claim:
    """So the minimiser of J is a point, and J is 0 there."""
    return Claim(
        id="convergence/random_mdp/interior",
        says="on the random MDP the projected fixed point gives every atom mass: the table's minimum is inside",
        source=SOURCE,
        check=partial(mass_is, INTERIOR, INTERIOR_ATOMS, True),
        seeded=False,
    )


def at_infinity() -> Claim:
    """Theorem 2's K is then empty but for the ball's edge."""
    return Claim(
        id="convergence/random_walk/infinity",
        says="on the random walk the projected fixed point has atoms without mass: the table's minimum is at infinity, "
        "and only Γ's ball holds it",
        source=f"{SOURCE}; ours",
        check=partial(mass_is, "random_walk", 6, False),
        seeded=False,
    )


def mass_is(problem: str, atoms: int, there: bool, setting: Setting) -> Finding:
    """The smallest mass against 1e-3 and 1e-9."""
    mass = smallest_mass(problem, atoms)
    words = f"the smallest mass of an atom is {mass:.2g}"
    return exactly(1e-3 / mass, 1.0, words) if there else exactly(mass, 1e-9, words)


def network_rank() -> Claim:
    """Where lanes start; along their paths the runs print it."""
    return Claim(
        id="convergence/boyan/full-rank/rank",
        says="tanh, two hidden units, three of Boyan's four features: E Σφφᵀ is nonsingular where lanes start",
        source=SOURCE,
        check=ranks_are_full,
    )


def ranks_are_full(setting: Setting) -> Finding:
    """Of sixteen lanes."""

    learning = Layers.of(network_run(gtd2, setting, 1000).spec)
    found = [learning.rank(seed) for seed in range(LANES)]
    size = found[0][1]
    low = min(rank for rank, _ in found)
    return exactly(float(size - low), 0.0, f"rank {low} of {size} or more in {LANES} lanes")


# ---------------------------------------------------------------------- the table


def reaches(rule: Rule) -> Claim:
    """J goes to 0, since the fixed point can be represented."""
    return Claim(
        id=f"convergence/random_mdp/logits/{rule.name}/limit",
        says=f"{rule.name}: J of a table of logits goes to a hundredth of its start (a fiftieth in ci)",
        source=SOURCE,
        needs=lambda setting: [table_run(rule, setting)],
        judge=j_is_near_0,
        rule=rule,
        promise=Promise.DESCENDS,
    )


def j_is_near_0(evidence: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes of the end over the start."""
    (trial,) = evidence
    share = end_over_start(trial.of("J"), 2 * setting.false_alarm)
    worst = float(np.max(trial.of("J")[-1] / trial.of("J")[0]))
    words = (
        f"J is {share.estimate:.4f} of its start [{share.low:.4f}, {share.high:.4f}] after {trial.times[-1]:,} steps; "
        f"{worst:.4f} in the worst of {share.n} lanes"
    )
    return below(share, LIMIT[setting.profile], setting.false_alarm, words, **shown(trial, "J"))


def keeps_falling(rule: Rule, what: str) -> Claim:
    """A limit has not been reached while a curve still falls like a power, and a stall would show here."""
    return Claim(
        id=f"convergence/random_mdp/logits/{rule.name}/slope/{what}",
        says=f"{rule.name}: {NAMES[what]} still falls over the last two decades of steps",
        source=SOURCE,
        needs=lambda setting: [table_run(rule, setting)],
        judge=partial(slope_is_negative, what),
        rule=rule,
        promise=Promise.DESCENDS,
        profiles=("full", "paper") if what == "w_gap" else ("ci", "full", "paper"),
    )


def slope_is_negative(what: str, evidence: list[Lanes], setting: Setting) -> Finding:
    """One log-log slope per lane; the slopes are the data."""
    (trial,) = evidence
    late = trial.times >= trial.times[-1] // 100
    found = slopes(trial.times[late], trial.of(what)[late].T, 2 * setting.false_alarm).exponent
    words = f"slope {found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}] from {trial.times[late][0]:,} steps on"
    return below(found, 0.0, setting.false_alarm, words, **shown(trial, what))


def shown(trial: Lanes, what: str) -> dict[str, object]:
    """The picture."""
    median = np.median(trial.of(what), axis=1)
    return {"x": trial.times.tolist(), "y": median.tolist(), "x_name": "steps", "y_name": f"{NAMES[what]}, median"}


# ---------------------------------------------------------------------- the network


def network_reaches(rule: Rule, what: str) -> Claim:
    """Full rank, small steps, ten million of them. About one lane in thirty is slow."""
    how = "falls to 3 % of its start (geometric mean)" if what == "J" else "falls to a tenth of its start (median)"
    return Claim(
        id=f"convergence/boyan/full-rank/{rule.name}/{what}",
        says=f"{rule.name}: {NAMES[what]} of a network for which Theorem 2 speaks {how}",
        source=SOURCE,
        needs=lambda setting: [network_run(rule, setting, STEPS[setting.profile])],
        judge=partial(network_is_near, what),
        rule=rule,
        promise=Promise.DESCENDS,
        profiles=("full", "paper"),
    )


def network_is_near(what: str, evidence: list[Lanes], setting: Setting) -> Finding:
    """J's geometric mean, the gradient's median; with rank and condition along the path."""
    (trial,) = evidence
    ends = trial.of(what)[-1] / trial.of(what)[0]
    ends = np.where(np.isfinite(ends), ends, np.inf)
    spent = 2 * setting.false_alarm
    found = end_over_start(trial.of(what), spent) if what == "J" else median_interval(ends, spent)
    words = (
        f"{NAMES[what]} ends at {found.estimate:.4f} of its start [{found.low:.4f}, {found.high:.4f}], "
        f"{ends.min():.4f} to {ends.max():.4f} in {len(ends)} lanes, after {trial.times[-1]:,} steps; {path(trial)}"
    )
    return below(found, NETWORK_LIMIT[what], setting.false_alarm, words, **shown(trial, what))


def path(trial: Lanes) -> str:
    """Rank and condition number of E Σφφᵀ, and whether the rank dropped on the way."""
    rank, condition = trial.of("rank"), trial.of("condition")
    full = rank[0].max()
    dropped = int((np.nanmin(rank, axis=0) < full).sum())
    lost = f"rank {full:.0f} throughout" if not dropped else f"rank below {full:.0f} at times in {dropped} lanes"
    return f"E Σφφᵀ: {lost}, condition {_middle(condition[0]):.0e} at first, {_middle(condition[-1]):.0e} at last"


def _middle(values: Floats) -> float:
    return float(np.nanmedian(values))


# ---------------------------------------------------------------------- controls


def controls() -> list[Claim]:
    """Steps that break the theorem's conditions, and an algorithm without its curvature term."""

    def summable(setting: Setting) -> list[Need]:
        return [table_run(gtd2, setting, SUMMABLE, lanes=CONTROL_LANES)]

    def swapped(setting: Setting) -> list[Need]:
        return [table_run(gtd2, setting, SWAPPED, SWAPPED_STEPS, CONTROL_LANES)]

    def flat(setting: Setting) -> list[Need]:
        rule = greedy_gq(1.0)  # TDC's cotangents, without curvature
        return [network_run(rule, setting, STEPS[setting.profile], CONTROL_LANES)]

    near = partial(network_is_near, "J")
    made: dict[str, tuple[str, Needs, Judge, bool]] = {
        "limit/summable-steps": ("steps t⁻², taken to reach the limit on the table", summable, j_is_near_0, True),
        "limit/timescales-swapped": ("w thirty times slower than θ, on the table", swapped, j_is_near_0, True),
        "limit/h-dropped": ("TDC without h, on Boyan's network", flat, near, False),
    }
    return [
        Claim(
            id=f"convergence/control/{name}",
            says=says,
            source=SOURCE,
            needs=needs,
            judge=judge,
            control=True,
            profiles=("ci", "full", "paper") if quick else ("full", "paper"),
        )
        for name, (says, needs, judge, quick) in made.items()
    ]
