"""Agents learn on CartPole-v0: they earn more than random actions do. Decided in a minute, so it is in ci.

How large β may be there, where w climbs by SGD: exactly with θ held still, and in lanes that learn. And that an episode
which is cut off is not over: what agents believe on the treadmill, where the truth is 1/(1 − γ).
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

from dgtd.algorithms import rules
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.replayed import ReplayEngine
from dgtd.algorithms.replay import Transitions
from dgtd.algorithms.stepping import Sgd
from dgtd.algorithms.streams import generator, generators
from dgtd.algorithms.targets import CdfTarget, Target, ValueTarget
from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.statistics import exponential, mean_interval
from dgtd.harness.judging.verdicts import Finding, below, exactly, largest
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import PredictorSpec, Request
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.suites.control.published import AGENTS, transitions
from dgtd.suites.returns import final_returns

SOURCE = "Algorithm 3; Figure 3"
PLACE = "cartpole-v0"
# Random actions earn 22 on CartPole. Decided on root seeds 103 to 106, see docs/measuring.md.
LEARNS = 40.0
LANES, STEPS, EXPLORE, RATE, BATCH = 12, 8_000, 2_500, 1e-3, 32
DEAF = "cartpole-deaf"


def claims() -> Iterator[Claim]:
    """Each agent earns more than random actions do; and the same check where nobody says that the pole fell."""
    for name in AGENTS:
        says = f"{name} learns on {PLACE}: it earns {LEARNS:g} within {STEPS:,} steps, and random actions 22"
        needs = partial(lanes_of, name, PLACE)
        yield Claim(f"control/{PLACE}/{name}/learns", says, SOURCE, needs=needs, judge=earns_enough)
    says, needs = "a DQN that bootstraps through termination learns", partial(lanes_of, "dqn", DEAF)
    yield Claim(f"control/control/{DEAF}/dqn/learns", says, SOURCE, needs=needs, judge=earns_enough, control=True)


def lanes_of(name: str, world: str, setting: Setting, **other: Any) -> list[Need]:
    """Other: another β than an agent's own, or a value in place of a law."""
    made = agent_learner(name, world, alpha=RATE, cohort=LANES, explore_steps=EXPLORE, batch=BATCH, **other)
    return [Request(run_spec(world, made, STEPS, setting.seed, "control"), LANES)]


def earns_enough(trials: list[Lanes], setting: Setting) -> Finding:
    """The geometric mean over lanes: returns are positive, and spread like a factor."""
    final = final_returns(trials[0])
    ratio = exponential(mean_interval(np.log(LEARNS) - np.log(np.maximum(final, 1.0)), setting.false_alarm))
    earned = LEARNS / ratio.estimate
    return below(ratio, 1.0, setting.false_alarm, f"{LEARNS:g} over the returns' geometric mean, {earned:.1f}")


# ---------------------------------------------------------------------- how large β may be where w climbs by SGD

RULE = "greedy_gq(0.5)"
TARGETS: dict[str, Target] = {"value": ValueTarget(), "cdf": CdfTarget(0, 10, 7)}
POWERS, CLIMBS, EXACT = 400, 30, 1e-6
SHARES = (1.9, 2.1)  # of 1/λ_max: below and above the largest β
LARGE = 1.0
BOUND = 1.0  # of ‖w‖. At β = 0.01 lanes end near 0.2; looked at on root seed 103
DECADES = 1.0  # ‖w‖ counts as at most ten times the bound: some lanes overflow, and one such would be the mean
BETA = Acting.beta


def step_sizes() -> Iterator[Claim]:
    """The threshold, then lanes on either side of it."""
    for target in TARGETS:
        says = f"with θ held still, w of {RULE} ({target}) by SGD shrinks below β = 2/λ_max(E[φφᵀ]) and grows above"
        yield Claim(f"control/{RULE}/{target}/w-threshold", says, SOURCE, partial(threshold_error, target))
    for place, target, beta, says in (
        (PLACE, "cdf", BETA, f"w of distributional {RULE} stays below {BOUND:g} at β = {BETA:g}"),
        ("control", "cdf", LARGE, f"it does at β = {LARGE:g}, too"),
        ("control", "value", BETA, f"it does without a distribution, at β = {BETA:g}"),
    ):
        id_, what = f"control/{place}/{RULE}/{target}/beta-{beta:g}/w-bounded", f"{says} ({STEPS:,} steps of {PLACE})"
        needs = partial(lanes_of, RULE, PLACE, target=target, beta=beta)
        yield Claim(id_, what, SOURCE, needs=needs, judge=stays_small, control=place == "control")


# ---------------------------------------------------------------------- θ held still


def threshold_error(target: str, setting: Setting) -> Finding:
    """The rate at which two w come together or part, against |1 − βλ_max|, on either side of the threshold."""
    rng = generator(setting.seed, suite="control", threshold=target)
    drawn = transitions(rng)
    rule, sizes = rules.find_rule(RULE), (drawn.x.shape[-1], 6, 5)
    engine = ReplayEngine(rule, sizes, TARGETS[target], dtype=torch.float64, actions=2, activation="tanh")
    theta = engine.start(generators(setting.seed, range(len(drawn.x)), suite="control", threshold=target))
    largest_eigenvalue, gap = steepest(engine, theta, drawn, rng.normal(size=theta.shape))
    worst, rates = 0.0, []
    for share in SHARES:
        beta = share / largest_eigenvalue
        start = rng.normal(size=theta.shape)
        ends = [climbed(engine, theta, drawn, w, beta) for w in (start, start + gap)]
        rates.append(np.linalg.norm(ends[1] - ends[0], axis=1) ** (1 / CLIMBS))
        worst = largest(worst, np.abs(rates[-1] - abs(1 - share)))
    words = (
        f"per step w's distance changes by {rates[0].max():.3f} at β = {SHARES[0]:g}/λ_max and {rates[1].min():.3f} at "
        f"{SHARES[1]:g}/λ_max; the threshold is β = {2 / largest_eigenvalue.max():.3g}; off by {worst:.1e}"
    )
    return exactly(worst, EXACT, words)


def steepest(engine: ReplayEngine, theta: Floats, drawn: Transitions, w: Floats) -> tuple[Floats, Floats]:
    """λ_max [lanes] of E[φφᵀ], and its direction: by repeating w ↦ G_w(0) − G_w(w), which is linear in w."""
    at_zero = engine.gradients(theta, np.zeros_like(w), drawn)[1].copy()  # the engine uses its arrays again
    size = np.zeros(len(w))
    for _ in range(POWERS):
        w = w / np.linalg.norm(w, axis=1, keepdims=True)
        w = at_zero - engine.gradients(theta, w, drawn)[1]
        size = np.linalg.norm(w, axis=1)
    return size, w / size[:, None]


def climbed(engine: ReplayEngine, theta: Floats, drawn: Transitions, w: Floats, beta: Floats) -> Floats:
    w = w.copy()
    optimiser = Sgd(beta, w)
    for _ in range(CLIMBS):
        optimiser.step(w, -engine.gradients(theta, w, drawn)[1])
    return w


def stays_small(trials: list[Lanes], setting: Setting) -> Finding:
    """The last ‖w‖ of every lane, in decades; where w is not finite, it counts as the most that is counted."""
    last = trials[0].of("w_norm")[-1]
    with np.errstate(invalid="ignore"):
        decades = np.log10(np.where(last < BOUND * 10**DECADES, last, BOUND * 10**DECADES) / BOUND)
    lost = int((~np.isfinite(last)).sum())
    middle = np.median(np.where(np.isfinite(last), last, np.inf))
    words = f"decades of ‖w‖ above {BOUND:g}, at most {DECADES:g} a lane; median {middle:.3g}, {lost} overflowed"
    return below(mean_interval(decades, setting.false_alarm), 0.0, setting.false_alarm, words)


# ---------------------------------------------------------------------- an episode that is cut off is not over

GAMMA, TRUTH = 0.9, 10.0
BIASED = 1 / (1 - GAMMA * 0.9)  # a tenth of the steps are the last of their episode
NEAR = 0.1  # of the truth. The biased belief is 0.47 away
WALKERS, WALK = 8, 2_000
TREADMILL: dict[str, Any] = {
    "gamma": GAMMA, "v_max": 1.5 * TRUTH, "v_min": 0.0, "every": 1, "batch": 32, "begin": 100, "explore_steps": 500,
    "alpha": 2e-3, "atoms": 21, "cohort": WALKERS,
}  # fmt: skip


def beliefs() -> Iterator[Claim]:
    """What every agent thinks that an action is worth, at last; and each where it is told that an episode has ended."""
    own = f"bootstraps where episodes are cut off: on the treadmill it believes {TRUTH:g}, not {BIASED:.3g}"
    wrong = "that takes an episode that was cut off for one that ended has the right values"
    for name, (room, world, says) in product(
        AGENTS, (("control", "treadmill", own), ("control/control", "treadmill-ends", wrong))
    ):
        yield Claim(
            f"{room}/{world}/{name}/value", f"{name} {says}", "Pardo et al. 2018", control=says is wrong,
            needs=partial(walkers, name, world), judge=is_true,
        )  # fmt: skip


def walkers(name: str, world: str, setting: Setting) -> list[Need]:
    """A small network: there is one thing to know."""
    frozen: dict[str, Any] = {} if name.startswith("greedy") else {"frozen": 25}
    made = agent_learner(name, world, predictor=PredictorSpec("mlp", (16,), "relu"), **TREADMILL, **frozen)
    return [Request(run_spec(world, made, WALK, setting.seed, "cut off"), WALKERS)]


def is_true(trials: list[Lanes], setting: Setting) -> Finding:
    """How far the last beliefs of the lanes are from the truth."""
    believed = trials[0].of("value")[-5:].mean(0)
    off = mean_interval(np.abs(believed / TRUTH - 1), setting.false_alarm)
    words = f"off by this share of {TRUTH:g}; an action is thought to be worth {believed.mean():.3g}"
    return below(off, NEAR, setting.false_alarm, words)
