"""Figure 3: which agent earns more, on CartPole, LunarLander and ViZDoom. The suite `control` holds these claims.

What the paper says of a panel is a finding. That agents learn on LunarLander at all is a claim of ours. A world whose
extra is not installed has no claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.compare.agents import ALPHA, learner, run_spec
from harness.judging.claims import Claim, Need, Setting
from harness.judging.statistics import Interval, mean_interval, paired, variance_ratio
from harness.judging.verdicts import Finding, below
from harness.runs.spec import Request
from harness.runs.trial import Trial

SOURCE = "Figure 3"
CARTPOLE, LANDER, DOOM = "cartpole-v1", "gym:LunarLander-v3", "vizdoom-defend-the-center"
DQN, C51, GREEDY = "dqn", "c51", "greedy_gq(0.5)"
SHOWN = {DQN: "DQN", C51: "C51", GREEDY: "distributional Greedy-GQ(0.5)"}
LANES, COHORT, STEPS = {LANDER: 30, DOOM: 10}, 10, {LANDER: 60_000, DOOM: 200_000}
SETTINGS: dict[str, dict[str, Any]] = {LANDER: {"every": 1}, DOOM: {"atoms": 50}}
# The paper profile sweeps Adam's rate, on lanes of its own; the paper's rate is in the middle.
RATES, SWEEP_LANES = (ALPHA / 2, ALPHA, 2 * ALPHA), 5
# Looked at on root seed 103, which also decided the number of lanes: see docs/worlds.md.
RISES = {DQN: 50.0, C51: 100.0, GREEDY: 100.0}
COMPARABLE = {DOOM: 1.0, CARTPOLE: 50.0}  # returns that differ by less: one kill, a tenth of the longest episode
FULL = ("full", "paper")
SMALLER = 0.9  # the variance ratio must be below, as in the suite `evaluation`
Returns = Callable[[Floats, Floats, str, Setting], Finding]  # judges two agents' final returns [lanes], of pairs
Agents = Callable[[str, str, Setting], list[Need]]  # the runs of two agents


def claims() -> list[Claim]:
    """CartPole's, then those of the worlds that can be run here."""
    made = [
        ranking("c51-over-dqn", C51, DQN, "C51 earns more than DQN"),
        ranking("greedy-gq-over-dqn", GREEDY, DQN, "distributional Greedy-GQ(0.5) earns more than DQN"),
        ranking("greedy-gq-over-eta-0", GREEDY, "greedy_gq(0)", "the correction earns more than η = 0"),
        comparable(CARTPOLE, pair_of, *FULL),
        *(steadier(CARTPOLE, name, pair_of, *FULL) for name in (C51, GREEDY)),
    ]
    if find_spec("Box2D") is not None:
        made += [rises(name) for name in RISES] + over_dqn(LANDER, "full", "paper")
    if find_spec("vizdoom") is not None:
        in_doom = partial(agents_in, DOOM)
        made += [*over_dqn(DOOM, "paper"), comparable(DOOM, in_doom, "paper")]
        made += [steadier(DOOM, name, in_doom, "paper") for name in (C51, GREEDY)]
    return made


# ---------------------------------------------------------------------- CartPole


def ranking(name: str, first: str, second: str, says: str) -> Claim:
    """One statement of Figure 3, on paired lanes."""
    return Claim(
        id=f"control/{CARTPOLE}/{name}",
        says=f"{says} on {CARTPOLE}",
        source=SOURCE,
        needs=partial(pair_of, first, second),
        judge=earns_more,
        figure=True,
        profiles=FULL,
    )


def pair_of(first: str, second: str, setting: Setting) -> list[Need]:
    """Thirty lanes of each, a third of them for a quick look, on the same worlds and exploration."""
    steps = 200_000 if setting.profile == "paper" else 50_000
    lanes = COHORT if setting.profile == "ci" else 30
    return [
        Request(run_spec(CARTPOLE, learner(name, CARTPOLE), steps, setting.seed, "ranking"), lanes)
        for name in (first, second)
    ]


def final_returns(trial: Trial) -> Floats:
    """[lanes]: the mean return over the last fifth of the steps; what a lane that diverged earned last counts."""
    late = trial.times > 0.8 * trial.times[-1]
    return trial.of("return")[late].mean(0)


def earns_more(trials: list[Trial], setting: Setting) -> Finding:
    """The chance that a lane of the first earns less than its pair: below a half if it earns more."""
    first, second = map(final_returns, trials)
    found = paired(first, second, setting.false_alarm)
    words = f"chance that a lane earns less; medians {np.median(first):.0f} and {np.median(second):.0f}"
    return below(Interval(found.better.estimate, found.better.low, found.better.high, found.n), 0.5,
                 setting.false_alarm, words)  # fmt: skip


# ---------------------------------------------------------------------- LunarLander and ViZDoom


def rises(name: str) -> Claim:
    """An agent learns on LunarLander."""
    return Claim(
        id=f"control/{short(LANDER)}/{name}/rises",
        says=f"{SHOWN[name]}'s return on {short(LANDER)} rises by {RISES[name]:g} within {STEPS[LANDER]:,} steps",
        source=SOURCE,
        needs=partial(at_one_rate, name),
        judge=partial(rises_enough, RISES[name]),
        profiles=("full",),
    )


def over_dqn(world: str, *profiles: str) -> list[Claim]:
    """The distributional agents earn more."""
    return [
        Claim(
            id=f"control/{short(world)}/{word}-over-dqn",
            says=f"{SHOWN[name]} earns more than DQN on {short(world)}",
            source=SOURCE,
            needs=partial(agents_in, world, name, DQN),
            judge=partial(on_chosen, earns_more_on_average),
            figure=True,
            profiles=profiles,
        )
        for word, name in (("c51", C51), ("greedy-gq", GREEDY))
    ]


def comparable(world: str, agents: Agents, *profiles: str) -> Claim:
    """Distributional Greedy-GQ and C51."""
    margin = COMPARABLE[world]
    return Claim(
        id=f"control/{world}/greedy-gq-comparable-with-c51",
        says=f"{SHOWN[GREEDY]} and C51 earn the same on {world}, within {margin:g}",
        source=SOURCE,
        needs=partial(agents, GREEDY, C51),
        judge=partial(on_chosen, partial(earns_the_same, margin)),
        figure=True,
        profiles=profiles,
    )


def steadier(world: str, name: str, agents: Agents, *profiles: str) -> Claim:
    """A distributional agent's variance against DQN's."""
    return Claim(
        id=f"control/{world}/{'c51' if name == C51 else 'greedy-gq'}-steadier-than-dqn",
        says=f"the variance over seeds of {SHOWN[name]}'s return on {world} is at most {SMALLER:g} of DQN's",
        source=SOURCE,
        needs=partial(agents, name, DQN),
        judge=partial(on_chosen, varies_less),
        figure=True,
        profiles=profiles,
    )


def short(world: str) -> str:
    """A world's name in an id."""
    return world.removeprefix("gym:")


def lanes_of(name: str, world: str, rate: float, setting: Setting, sweep: bool = False) -> Request:
    """An agent at a rate; lanes of a sweep have streams of their own."""
    lanes = SWEEP_LANES if sweep else LANES[world]
    made = learner(name, world, alpha=rate, cohort=min(COHORT, lanes), **SETTINGS[world])
    return Request(run_spec(world, made, STEPS[world], setting.seed, "sweep" if sweep else "ranking"), lanes)


def at_one_rate(name: str, setting: Setting) -> list[Need]:
    """An agent on LunarLander at the paper's rate."""
    return [lanes_of(name, LANDER, ALPHA, setting)]


def agents_in(world: str, first: str, second: str, setting: Setting) -> list[Need]:
    """Two agents on the same worlds and exploration; in the paper profile at every rate, with the sweep's lanes."""
    if setting.profile != "paper":
        return [lanes_of(name, world, ALPHA, setting) for name in (first, second)]
    return [
        lanes_of(name, world, rate, setting, sweep)
        for name in (first, second) for sweep in (True, False) for rate in RATES
    ]  # fmt: skip


def on_chosen(judge: Returns, trials: list[Trial], setting: Setting) -> Finding:
    """Judge each agent's returns at the rate that its sweep chose. Nothing was chosen on the lanes that are judged."""
    if len(trials) == 2:
        return judge(final_returns(trials[0]), final_returns(trials[1]), "", setting)
    count, chosen = len(RATES), []
    for start in (0, 2 * count):
        swept = [final_returns(trial).mean() for trial in trials[start : start + count]]
        chosen.append(int(np.argmax(swept)))
    ours, theirs = (final_returns(trials[(2 * i + 1) * count + at]) for i, at in enumerate(chosen))
    rates = f"; rates {RATES[chosen[0]]:g} and {RATES[chosen[1]]:g} by sweep"
    return judge(ours, theirs, rates, setting)


def rises_enough(least: float, trials: list[Trial], setting: Setting) -> Finding:
    """From each lane's mean return over the first tenth of the steps to that over the last fifth."""
    trial = trials[0]
    early = (trial.times > 0) & (trial.times <= 0.1 * trial.times[-1])
    first, last = trial.of("return")[early].mean(0), final_returns(trial)
    missing = mean_interval(least - (last - first), setting.false_alarm)
    return below(
        missing, 0.0, setting.false_alarm, f"{least:g} less the rise, from {first.mean():.0f} to {last.mean():.0f}"
    )


def earns_more_on_average(ours: Floats, theirs: Floats, rates: str, setting: Setting) -> Finding:
    """Ten pairs can't decide by signs at such an error rate, so this takes differences for normal."""
    words = f"DQN's return less the other's, {theirs.mean():.3g} and {ours.mean():.3g} on average{rates}"
    return below(mean_interval(theirs - ours, setting.false_alarm), 0.0, setting.false_alarm, words)


def earns_the_same(margin: float, ours: Floats, theirs: Floats, rates: str, setting: Setting) -> Finding:
    """The mean difference, whichever way."""
    gap = mean_interval(ours - theirs, setting.false_alarm)
    nearest = 0.0 if gap.low <= 0 <= gap.high else min(abs(gap.low), abs(gap.high))
    away = Interval(abs(gap.estimate), nearest, max(-gap.low, gap.high), gap.n)
    words = f"how far apart the returns are, {ours.mean():.3g} and {theirs.mean():.3g} on average{rates}"
    return below(away, margin, setting.false_alarm, words)


def varies_less(ours: Floats, theirs: Floats, rates: str, setting: Setting) -> Finding:
    """Over lanes that are pairs."""
    found = variance_ratio(ours, theirs, 2 * setting.false_alarm)
    words = f"variance ratio; sd over seeds {ours.std(ddof=1):.3g} and {theirs.std(ddof=1):.3g}{rates}"
    return below(found.ratio, SMALLER, setting.false_alarm, words)
