"""Agents learn on CartPole-v0: they earn more than random actions do. Decided in a minute, so it is in ci."""

from functools import partial

import numpy as np

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.statistics import exponential, mean_interval
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request
from dgtd.suites.control.published import AGENTS
from dgtd.suites.returns import final_returns

SOURCE = "Algorithm 3; Figure 3"
PLACE = "cartpole-v0"
# Random actions earn 22 on CartPole. Decided on root seeds 103 to 106, see docs/measuring.md.
LEARNS = 40.0
LANES, STEPS, EXPLORE, RATE, BATCH = 12, 8_000, 2_500, 1e-3, 32
DEAF = "cartpole-deaf"


def claims() -> list[Claim]:
    """Each agent, and one that can't."""
    return [*map(learns, AGENTS), learns("dqn", deaf=True)]


def learns(name: str, deaf: bool = False) -> Claim:
    """It earns more than random actions do; or the same check, where nobody says that the pole fell."""
    says = f"{name} learns on {PLACE}: it earns {LEARNS:g} within {STEPS:,} steps, and random actions 22"
    return Claim(
        id=f"control/control/{DEAF}/{name}/learns" if deaf else f"control/{PLACE}/{name}/learns",
        says="a DQN that bootstraps through termination learns" if deaf else says,
        source=SOURCE,
        needs=partial(lanes_of, name, DEAF if deaf else PLACE),
        judge=earns_enough,
        control=deaf,
    )


def lanes_of(name: str, world: str, setting: Setting) -> list[Need]:
    made = agent_learner(name, world, alpha=RATE, cohort=LANES, explore_steps=EXPLORE, batch=BATCH)
    return [Request(run_spec(world, made, STEPS, setting.seed, "control"), LANES)]


def earns_enough(trials: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes: returns are positive, and spread like a factor."""
    final = final_returns(trials[0])
    ratio = exponential(mean_interval(np.log(LEARNS) - np.log(np.maximum(final, 1.0)), setting.false_alarm))
    earned = LEARNS / ratio.estimate
    return below(ratio, 1.0, setting.false_alarm, f"{LEARNS:g} over the returns' geometric mean, {earned:.1f}")
