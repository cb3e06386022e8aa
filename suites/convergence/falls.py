"""Where Theorem 2 does not speak, or its limit is at infinity: a fall of J and ‖∇J‖ is claimed, and no limit."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.rule import Promise, Rule
from dgtd.algorithms.rules import gtd2, tdc
from dgtd.harness.judging.claims import FULL, Claim, Setting
from dgtd.harness.judging.statistics import end_over_start
from dgtd.harness.judging.verdicts import Finding, below, exactly
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec, Request, StepSchedule
from dgtd.harness.runs.trainers.networks import Layers
from dgtd.suites.means import medians, request
from dgtd.suites.stability.lanes import few_diverge

SOURCE = "Theorem 2"
FALL = {"J": 0.4, "gradient": 0.7}  # of the start, in 10⁶ lane-steps (ci)
NAMES = {"J": "J", "gradient": "‖∇J‖", "w_gap": "‖w − w*‖_C"}
STEPS, RADIUS, ATOMS = (0.3, 1.0), 50.0, 6
TABLE = PredictorSpec("table", pinned=True, inputs="most-states")
LAW: dict[str, Any] = {"metrics": tuple(NAMES), "target": "cdf", "radius": RADIUS, "spread": 0.5}
ROBBINS_MONRO, SUMMABLE = StepSchedule("robbins-monro"), StepSchedule("power-law", 2.0, 2.0, 100.0)
# Networks: α, β, offset and number of the steps, and the share of J's start that it must fall below. With larger steps
# GTD2's J turns back and rises on the walk and on Boyan's chain, whose E Σφφᵀ is far from full rank: there only a fall
# at all is claimed. (TDC falls to a third or less.)
NETWORKS = {
    "grid_world": (0.1, 1.0, 10_000.0, 300_000, 0.5),
    "baird": (0.3, 1.0, 1000.0, 1_000_000, 0.05),
    "random_walk": (0.1, 0.1, 10_000.0, 30_000, 1.0),
    "boyan": (0.02, 0.5, 3000.0, 30_000, 1.0),
}


def claims(rules: tuple[Rule, ...]) -> Iterator[Claim]:
    """A table of pinned logits on the walk, and networks; then steps that break the theorem's conditions."""
    # Softmax alone is not enough: a logit is pinned, and a state is the origin.
    says = "a table of pinned logits satisfies Theorem 2's condition: E Σφφᵀ is nonsingular"
    yield Claim("convergence/random_walk/rank", says, SOURCE, rank_is_full)
    for rule in rules:
        about: dict[str, Any] = {"rule": rule, "promise": Promise.DESCENDS}
        for what, margin in FALL.items():
            id_ = f"convergence/random_walk/logits/{rule.name}/{what}"
            says = f"{rule.name}: exact {NAMES[what]} falls, Robbins–Monro steps, Γ on a ball"
            needs = partial(table_run, rule, ROBBINS_MONRO)
            yield Claim(id_, says, SOURCE, needs=needs, judge=partial(falls, what, margin), **about)
        for problem, (*_, margin) in NETWORKS.items():
            id_ = f"convergence/{problem}/mlp/{rule.name}/J"
            says = f"{rule.name}: exact J of a network with one hidden layer falls on {problem}"
            about |= {"needs": partial(network_run, rule, problem), "judge": partial(falls, "J", margin)}
            yield Claim(id_, says, SOURCE, **about, profiles=FULL)
    early = "GTD2 with summable steps (t⁻²), taken to converge: the fall stops early"
    slow = "TDC with β/α = 0.04 on θ → 2θ, taken to stay bounded: w is too slow to correct"
    summable, fall = partial(table_run, gtd2, SUMMABLE), partial(falls, "J", FALL["J"])
    yield Claim("convergence/control/summable-steps", early, SOURCE, needs=summable, judge=fall, control=True)
    yield Claim("convergence/control/timescales-swapped", slow, SOURCE, needs=slow_w, judge=few_diverge, control=True)


def table_run(rule: Rule, schedule: StepSchedule, setting: Setting) -> list[Request]:
    """A table of logits on the walk, projected onto a ball: E Σφφᵀ is nonsingular, as Theorem 2 asks."""
    lanes, steps, cohort = (160, 6_000, 80) if setting.profile == "ci" else (64, 300_000, 32)
    return [
        request(
            rule, "random_walk", lanes, setting, "descent", (0, steps // 10, steps), *STEPS, **LAW, atoms=ATOMS,
            predictor=TABLE, schedule=schedule, cohort=cohort,
        )
    ]  # fmt: skip


def network_run(rule: Rule, problem: str, setting: Setting) -> list[Request]:
    """Eight hidden units; one-hot states, or on Baird's star its own features."""
    alpha, beta, offset, steps, _ = NETWORKS[problem]
    inputs = "features" if problem == "baird" else "most-states"
    return [
        request(
            rule, problem, 32, setting, "descent", (0, steps // 10, steps), alpha, beta, **LAW, atoms=ATOMS, cohort=32,
            predictor=PredictorSpec("mlp", (8,), pinned=True, inputs=inputs),
            schedule=StepSchedule("robbins-monro", offset=offset),
        )
    ]  # fmt: skip


def slow_w(setting: Setting) -> list[Request]:
    """α/β → 0 is a condition, not a taste."""
    return [request(tdc, "two_state", 64, setting, "timescales", (0, 1000, 20_000), 0.05, 0.002)]


def rank_is_full(setting: Setting) -> Finding:
    """Where lane 0 starts."""
    rank, size = Layers.of(table_run(gtd2, ROBBINS_MONRO, setting)[0].spec).rank()
    return exactly(float(size - rank), 0.0, f"rank {rank} of {size}")


def falls(what: str, margin: float, evidence: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes of the end over the start."""
    (trial,) = evidence
    gap, share = np.median(trial.of("w_gap"), axis=1), end_over_start(trial.of(what), 2 * setting.false_alarm)
    words = (
        f"{NAMES[what]} is {share.estimate:.3f} of its start [{share.low:.3f}, {share.high:.3f}] after "
        f"{trial.times[-1]} steps; ‖w − w*‖_C went from {gap[0]:.3f} to {gap[-1]:.3f}"
    )
    return below(share, margin, setting.false_alarm, words, **medians(trial, what, f"{NAMES[what]}, median"))
