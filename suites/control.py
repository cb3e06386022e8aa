"""Control: agents make the published updates, and learn where they act (Algorithm 3; Figure 3).

ci decides what can be decided in a minute: the updates, and that an agent earns more than random actions do. Rankings
are in the full and paper profiles, and are findings about a figure (`suites.figure_three`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from algorithms import rules
from algorithms.engines.replayed import ReplayEngine
from algorithms.experience.replay import Transitions
from algorithms.published import PUBLISHED
from algorithms.rule import Rule
from algorithms.streams import generator, generators
from algorithms.targets import CdfTarget, ValueTarget
from harness.compare.agents import learner, run_spec
from harness.judging.claims import Claim, Need, Setting
from harness.judging.statistics import exponential, mean_interval
from harness.judging.verdicts import Finding, below, exactly, largest
from harness.runs.spec import Request
from harness.runs.trial import Trial
from suites import control_updates, control_worlds, figure_three, resuming
from suites.figure_three import final_returns

SOURCE = "Algorithm 3; Figure 3"
PLACE = "cartpole-v0"
EXACT = 1e-10
# Random actions earn 22 on CartPole. Decided on root seeds 103 to 106, see docs/measuring.md.
LEARNS = 40.0
LANES, STEPS, EXPLORE, RATE, BATCH = 12, 8_000, 2_500, 1e-3, 32
AGENTS = ("dqn", "c51", "greedy_gq(0.5)")
DEAF = "cartpole-deaf"


def claims(rule: Rule | None = None) -> list[Claim]:
    """About the paper's agents; a user's rule is held to Algorithm 3's form by the suite `gradients`."""
    if rule is not None:
        return []
    made = [*map(published, AGENTS), *map(learns, AGENTS), bootstraps_through_the_end()]
    made += other_updates() + control_updates.claims() + control_worlds.claims()
    return made + resuming.claims() + figure_three.claims()


# ---------------------------------------------------------------------- the updates


def published(name: str) -> Claim:
    """An agent's directions are its publication's."""
    return Claim(
        id=f"control/published/{name}",
        says=f"{name} moves as it was published: its directions are the gradients of the published loss, by autograd",
        source="Mnih et al. 2015; Bellemare et al. 2017; paper, Algorithm 3",
        check=partial(directions_error, name),
    )


def other_updates() -> list[Claim]:
    """The same check against updates that were never published: each has a fault that our agents do not have."""
    says = {
        ("c51", "own-action"): "C51 bootstraps from the action that it took",
        ("c51", "truncation-as-termination"): "C51 takes an episode that was cut off for one that ended",
        ("c51", "without-gamma"): "C51's projection forgets γ",
        ("dqn", "own-action"): "DQN bootstraps from the action that it took",
        ("dqn", "truncation-as-termination"): "DQN takes an episode that was cut off for one that ended",
    }
    return [
        Claim(
            id=f"control/control/{name}/{fault}/published",
            says=what,
            source="Mnih et al. 2015; Bellemare et al. 2017",
            check=partial(directions_error, name, fault=fault),
            control=True,
        )
        for (name, fault), what in says.items()
    ]


def directions_error(name: str, setting: Setting, fault: str = "") -> Finding:
    """The largest difference over random networks, transitions on and off the grid, ends among them."""
    rng = generator(setting.seed, suite="control", agent=name)
    row = PUBLISHED.get(name)
    target = CdfTarget(0, 10, 7) if row is None or row.target == "cdf" else ValueTarget()
    rule = rules.find_rule(name if row is None else row.rule)
    engine = ReplayEngine(
        rule, (4, 6, 5), target, "cramer" if row is None else row.metric, torch.float64, actions=2, activation="tanh"
    )
    theta, frozen = (engine.start(generators(setting.seed, range(2), suite="control", which=i)) for i in range(2))
    w = rng.normal(size=theta.shape)
    x, x_next = rng.normal(size=(2, 2, 8, 4)).astype(np.float32)
    reward, discount = rng.choice([-0.7, 0.0, 1.0, 2.35, 14.0], (2, 8)), rng.choice([0.0, 0.9], (2, 8))
    action = rng.integers(2, size=(2, 8))
    # Whatever the seed: two with the same reward, of which one ends; and two that lead to one place, by either action.
    # Their reward is one that leaves the law on the grid: beyond it, a law is the same whatever follows.
    reward[:, :4], discount[:, :4] = 1.0, (0.9, 0.0, 0.9, 0.9)
    x_next[:, 3], action[:, 2:4] = x_next[:, 2], (0, 1)
    drawn = Transitions(x, x_next, action, reward, discount)
    g_theta, g_w, _ = engine.gradients(theta, w, drawn, None if row is None else frozen)
    worst = 0.0
    for lane in range(2):
        weights = [part[lane : lane + 1] for part in (theta, w, frozen)]
        expected = _by_autograd(engine, name, weights, drawn, lane, fault)
        pairs = [(g_theta[lane], expected[0]), *([(g_w[lane], expected[1])] if engine.uses_w else [])]
        worst = largest(worst, *(np.abs(ours - theirs) for ours, theirs in pairs))
    return exactly(worst, EXACT, "largest difference of a direction from autograd's")


def _by_autograd(
    engine: ReplayEngine, name: str, weights: list[Any], drawn: Transitions, lane: int, fault: str = ""
) -> tuple[Any, ...]:
    """The published loss, sample by sample, and torch's own gradient of it; or one with a fault, for the controls."""
    theta, w, frozen = (torch.tensor(part) for part in weights)
    theta.requires_grad_()
    total, tangents = torch.zeros(()), torch.zeros_like(w)
    size = drawn.action.shape[1]
    cut_off = int(np.argmax(drawn.discount[lane] > 0))  # the first that goes on may as well be the last of its episode

    def predict(at: torch.Tensor, x: Any) -> torch.Tensor:
        """[actions, n] at one observation."""
        found = engine.predict(_layers(engine, at), torch.tensor(x, dtype=torch.float64)[None, None])
        return found[0, 0]

    for i in range(size):
        x, x_next, action = drawn.x[lane, i], drawn.x_next[lane, i], int(drawn.action[lane, i])
        discount = drawn.discount[lane, i] > 0 if fault == "without-gamma" else drawn.discount[lane, i]
        if fault == "truncation-as-termination" and i == cut_off:
            discount = 0.0
        shift = engine.target.shift(drawn.reward[lane, i], float(discount)).tensors(torch.float64)
        f = predict(theta, x)[action]
        boot = frozen if name in PUBLISHED else theta
        following = predict(boot, x_next)
        best = int(engine.target.mean(following).argmax()) if following.shape[-1] > 1 else int(following[:, 0].argmax())
        g = shift.apply(following[action if fault == "own-action" else best])
        if name == "dqn":
            total = total + 0.5 * (g.detach() - f).square().sum()
        elif name == "c51":
            ends = torch.zeros(1), torch.ones(1)
            m, p = (torch.diff(torch.cat([ends[0], F, ends[1]])) for F in (g.detach(), f))
            total = total - (m * torch.log(p)).sum()
        else:
            at = theta.detach()
            u = torch.func.jvp(lambda point, x=x, action=action: predict(point, x)[action], (at,), (w,))[1]
            p, t, q = engine.rule((g - f).detach(), u, 1.0)
            total = total + (p * f).sum() + (t * g).sum()
            pulled = torch.func.vjp(lambda point, x=x, action=action: predict(point, x)[action], at)[1](q)[0]
            tangents = tangents + pulled
    (total / size).backward()
    assert theta.grad is not None
    return theta.grad[0].numpy(), (tangents / size)[0].numpy()


def _layers(engine: ReplayEngine, flat: torch.Tensor) -> list[torch.Tensor]:
    sizes = [rows * columns for rows, columns in engine.shapes]
    return [part.unflatten(1, each) for part, each in zip(flat.split(sizes, 1), engine.shapes, strict=True)]


# ---------------------------------------------------------------------- learning


def learns(name: str) -> Claim:
    """It earns more than random actions do."""
    return Claim(
        id=f"control/{PLACE}/{name}/learns",
        says=f"{name} learns on {PLACE}: it earns {LEARNS:g} within {STEPS:,} steps, and random actions 22",
        source=SOURCE,
        needs=partial(lanes_of, name, PLACE),
        judge=earns_enough,
    )


def bootstraps_through_the_end() -> Claim:
    """The same check of a DQN to whom nobody says that the pole fell."""
    return Claim(
        id=f"control/control/{DEAF}/dqn/learns",
        says="a DQN that bootstraps through termination learns",
        source=SOURCE,
        needs=partial(lanes_of, "dqn", DEAF),
        judge=earns_enough,
        control=True,
    )


def lanes_of(name: str, world: str, setting: Setting) -> list[Need]:
    """Lanes of one agent."""
    made = learner(name, world, alpha=RATE, cohort=LANES, explore_steps=EXPLORE, batch=BATCH)
    return [Request(run_spec(world, made, STEPS, setting.seed, "control"), LANES)]


def earns_enough(trials: list[Trial], setting: Setting) -> Finding:
    """The geometric mean over lanes: returns are positive, and spread like a factor."""
    final = final_returns(trials[0])
    ratio = exponential(mean_interval(np.log(LEARNS) - np.log(np.maximum(final, 1.0)), setting.false_alarm))
    earned = LEARNS / ratio.estimate
    return below(ratio, 1.0, setting.false_alarm, f"{LEARNS:g} over the returns' geometric mean, {earned:.1f}")
