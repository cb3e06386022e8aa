"""An episode that is cut off is not over: what agents believe on the treadmill, where the truth is 1/(1 − γ)."""

from functools import partial
from typing import Any

import numpy as np

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.statistics import mean_interval
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec, Request
from dgtd.suites.control.published import AGENTS

SOURCE = "Pardo et al. 2018"
PLACE, ENDS = "treadmill", "treadmill-ends"
GAMMA, TRUTH = 0.9, 10.0
BIASED = 1 / (1 - GAMMA * 0.9)  # a tenth of the steps are the last of their episode
NEAR = 0.1  # of the truth. The biased belief is 0.47 away
LANES, STEPS = 8, 2_000
SETTINGS: dict[str, Any] = {
    "gamma": GAMMA, "v_max": 1.5 * TRUTH, "v_min": 0.0, "every": 1, "batch": 32, "begin": 100, "explore_steps": 500,
}  # fmt: skip


def claims() -> list[Claim]:
    """Every agent, and each where it is told that an episode has ended."""
    return [claim for name in AGENTS for claim in (believes(name), believes(name, control=True))]


def believes(name: str, control: bool = False) -> Claim:
    """What an agent thinks that an action is worth, at last."""
    world = ENDS if control else PLACE
    id_ = f"control/{'control/' if control else ''}{world}/{name}/value"
    says = (
        f"{name} that takes an episode that was cut off for one that ended has the right values"
        if control
        else f"{name} bootstraps where episodes are cut off: on the treadmill it believes {TRUTH:g}, not {BIASED:.3g}"
    )
    return Claim(id_, says, SOURCE, needs=partial(lanes_of, name, world), judge=is_true, control=control)


def lanes_of(name: str, world: str, setting: Setting) -> list[Need]:
    """A small network: there is one thing to know."""
    frozen = {} if name.startswith("greedy") else {"frozen": 25}
    made = agent_learner(
        name, world, alpha=2e-3, atoms=21, predictor=PredictorSpec("mlp", (16,), "relu"), cohort=LANES,
        **SETTINGS | frozen,
    )  # fmt: skip
    return [Request(run_spec(world, made, STEPS, setting.seed, "cut off"), LANES)]


def is_true(trials: list[Lanes], setting: Setting) -> Finding:
    """How far the last beliefs of the lanes are from the truth."""
    believed = trials[0].of("value")[-5:].mean(0)
    off = mean_interval(np.abs(believed / TRUTH - 1), setting.false_alarm)
    words = f"off by this share of {TRUTH:g}; an action is thought to be worth {believed.mean():.3g}"
    return below(off, NEAR, setting.false_alarm, words)
