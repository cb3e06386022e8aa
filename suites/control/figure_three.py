"""Figure 3: which agent earns more, on CartPole, LunarLander and ViZDoom. The suite `control` holds these claims.

What the paper says of a panel is a finding. That agents learn at all is a claim of ours. A world whose extra is not
installed has no claims. The full profile uses rates that `dgtd.suites.control.sweep` found; the paper profile
sweeps itself.
"""

from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.claims import FULL, Claim, Need, Setting
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request
from dgtd.suites import returns
from dgtd.suites.returns import SMALLER, Judgement, average, final_returns

SOURCE = "Figure 3"
DQN, C51, GREEDY, ETA_0 = "dqn", "c51", "greedy_gq(0.5)", "greedy_gq(0)"
SHOWN = {DQN: "DQN", C51: "C51", GREEDY: "distributional Greedy-GQ(0.5)", ETA_0: "the same with η = 0"}
LAWS = {"c51": C51, "greedy-gq": GREEDY}
COHORT, SWEEP_LANES = 10, 5
SWEPT = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)  # the paper's rate, 5e-4, is among them


@dataclass(frozen=True)
class Panel:
    """One world of the figure.

    rates    of Adam: what a sweep may choose from, the same for every agent
    chosen   by the sweep of `python -m dgtd.suites.control.sweep WORLD`, on a root seed of its own
    same     returns that differ by less are comparable, where that is asked
    matters  returns that differ by less do not differ in a way that matters, in their mean
    """

    world: str
    extra: str
    lanes: int
    steps: int
    rates: tuple[float, ...]
    chosen: dict[str, float]
    same: float = 0.0
    matters: float = 10.0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The world's name in an id."""
        return self.world.removeprefix("gym:")

    def run(self, name: str, rate: float, setting: Setting, sweep: bool = False, lanes: int = 0) -> Request:
        """Lanes of an agent at a rate. A sweep has streams of its own; a quick look has a third of the lanes."""
        seeds = lanes or (SWEEP_LANES if sweep else COHORT if setting.profile == "ci" else self.lanes)
        lanes = seeds if sweep else setting.lanes(seeds)
        made = agent_learner(name, self.world, alpha=rate, cohort=min(COHORT, seeds), **self.settings)
        longer = 4 if setting.profile == "paper" and self is CARTPOLE else 1
        spec = run_spec(self.world, made, longer * self.steps, setting.seed, "sweep" if sweep else "ranking")
        return Request(spec, lanes)

    def alone(self, name: str, setting: Setting) -> list[Need]:
        """An agent at its chosen rate."""
        return [self.run(name, self.chosen[name], setting)]

    def pair(self, first: str, second: str, setting: Setting) -> list[Need]:
        """Two agents on the same worlds and exploration; in the paper profile at every rate, with the sweep's lanes."""
        if setting.profile != "paper":
            return [self.run(name, self.chosen[name], setting) for name in (first, second)]
        return [
            self.run(name, rate, setting, sweep)
            for name in (first, second) for sweep in (True, False) for rate in self.rates
        ]  # fmt: skip

    def judged(self, judge: Judgement, trials: list[Lanes], setting: Setting) -> Finding:
        """Each agent's returns at the rate that its sweep chose. Nothing was chosen on the lanes that are judged."""
        lost = sum(int((trial.died >= 0).sum()) for trial in trials)
        words = f"; {lost} lanes diverged, and count as what they earned last" if lost else ""
        if setting.profile != "paper":
            return judge(final_returns(trials[0]), final_returns(trials[1]), words, setting)
        count, chosen = len(self.rates), []
        for start in (0, 2 * count):
            swept = [final_returns(trial).mean() for trial in trials[start : start + count]]
            chosen.append(int(np.argmax(swept)))
        ours, theirs = (final_returns(trials[(2 * i + 1) * count + at]) for i, at in enumerate(chosen))
        words += f"; rates {' and '.join(f'{self.rates[at]:g}' for at in chosen)} by sweep"
        return judge(ours, theirs, words, setting)


CARTPOLE = Panel(
    "cartpole-v1", "", 30, 50_000, SWEPT,
    {DQN: 2.5e-4, C51: 2e-3, GREEDY: 1e-3, ETA_0: 1e-3}, 50.0,
)  # fmt: skip
LANDER = Panel(
    "gym:LunarLander-v3", "Box2D", 50, 60_000, SWEPT, {DQN: 2e-3, C51: 1e-3, GREEDY: 1e-3},
    settings={"every": 1, "batch": 32},
)  # fmt: skip
DOOM = Panel(
    "vizdoom-defend-the-center", "vizdoom", 10, 200_000, (2.5e-4, 5e-4, 1e-3), {}, 1.0, 1.0, {"atoms": 50},
)  # fmt: skip
PANELS = (CARTPOLE, LANDER, DOOM)
SPREAD = (2.5e-4, 1e-3, 4e-3)  # rates over which the correction is judged as a whole
# What agents earn on CartPole-v1, and by how much they rise on LunarLander, from the first tenth to the last fifth.
# Set before the rates were swept.
EARNS = 200.0
RISES = {DQN: 50.0, C51: 100.0, GREEDY: 100.0}


def claims() -> list[Claim]:
    """CartPole's, then those of the worlds that can be run here."""
    made = []
    for name in (DQN, C51, GREEDY):
        says = f"{SHOWN[name]} earns {EARNS:g} on {CARTPOLE.short}, over the last fifth of {CARTPOLE.steps:,} steps"
        id_, needs = f"control/{CARTPOLE.short}/{name}/earns", partial(CARTPOLE.alone, name)
        made.append(Claim(id_, says, SOURCE, needs=needs, judge=earns_enough, profiles=("full",)))
    made += [
        *over_dqn(CARTPOLE, returns.earns_more, FULL),
        finding(CARTPOLE, "greedy-gq-over-eta-0", GREEDY, ETA_0, returns.earns_more, FULL),
    ]
    low, *_, high = SPREAD
    id_, says = f"control/{CARTPOLE.short}/greedy-gq-over-eta-0/at-any-rate", f"{SHOWN[GREEDY]} earns more than"
    says = f"{says} {SHOWN[ETA_0]} on {CARTPOLE.short}, in the mean over rates from {low:g} to {high:g}"
    judge = earns_more_over_rates
    made.append(Claim(id_, says, SOURCE, needs=over_the_range, judge=judge, figure=True, profiles=FULL))
    made += comparable_and_steadier(CARTPOLE, FULL)
    if find_spec(LANDER.extra) is not None:
        for name, least in RISES.items():
            says = f"{SHOWN[name]}'s return on {LANDER.short} rises by {least:g} within {LANDER.steps:,} steps"
            id_, needs = f"control/{LANDER.short}/{name}/rises", partial(LANDER.alone, name)
            made.append(Claim(id_, says, SOURCE, needs=needs, judge=partial(rises_enough, least), profiles=("full",)))
        made += over_dqn(LANDER, partial(returns.earns_more_on_average, LANDER.matters), FULL)
    if find_spec(DOOM.extra) is not None:
        made += over_dqn(DOOM, partial(returns.earns_more_on_average, DOOM.matters), ("paper",))
        made += comparable_and_steadier(DOOM, ("paper",))
    return made


# ---------------------------------------------------------------------- what the figure says


def finding(
    panel: Panel, name: str, first: str, second: str, judge: Judgement, profiles: tuple[str, ...], says: str = ""
) -> Claim:
    """One statement about two agents in a world."""
    said = says or f"{SHOWN[first]} earns more than {SHOWN[second]} on {panel.short}"
    needs, seen = partial(panel.pair, first, second), partial(panel.judged, judge)
    id_ = f"control/{panel.short}/{name}"
    return Claim(id_, said, SOURCE, needs=needs, judge=seen, figure=True, profiles=profiles)


def over_dqn(panel: Panel, judge: Judgement, profiles: tuple[str, ...]) -> list[Claim]:
    return [finding(panel, f"{word}-over-dqn", name, DQN, judge, profiles) for word, name in LAWS.items()]


def comparable_and_steadier(panel: Panel, profiles: tuple[str, ...]) -> list[Claim]:
    """Distributional Greedy-GQ and C51; and both agents' variance against DQN's."""
    says, same = f"{SHOWN[GREEDY]} and C51 earn the same on {panel.short}", partial(returns.earns_the_same, panel.same)
    says = f"{says}, within {panel.same:g}"
    made = [finding(panel, "greedy-gq-comparable-with-c51", GREEDY, C51, same, profiles, says)]
    for word, name in LAWS.items():
        says = f"the variance over seeds of {SHOWN[name]}'s return on {panel.short} is at most {SMALLER:g} of DQN's"
        made.append(finding(panel, f"{word}-steadier-than-dqn", name, DQN, returns.varies_less, profiles, says))
    return made


def over_the_range(setting: Setting) -> list[Need]:
    """Both at every rate: one cohort each, and all lanes in the paper profile, whose sweep needs them anyway."""
    lanes = 0 if setting.profile == "paper" else COHORT
    return [CARTPOLE.run(name, rate, setting, lanes=lanes) for name in (GREEDY, ETA_0) for rate in SPREAD]


def earns_more_over_rates(trials: list[Lanes], setting: Setting) -> Finding:
    """Lanes are pairs at every rate; each is one number, the mean over rates."""
    earned = np.stack([final_returns(trial) for trial in trials]).reshape(2, len(SPREAD), -1)
    each = "; ".join(
        f"{rate:g}: {ours:.0f} and {theirs:.0f}" for rate, (ours, theirs) in zip(SPREAD, earned.mean(2).T, strict=True)
    )
    ours, theirs = earned.mean(1)
    return returns.earns_more_on_average(CARTPOLE.matters, ours, theirs, f"; at each rate {each}", setting)


def earns_enough(trials: list[Lanes], setting: Setting) -> Finding:
    final = final_returns(trials[0])
    words = f"{EARNS:g} less the return, {final.mean():.0f} on average, sd {final.std(ddof=1):.0f}"
    return below(average(EARNS - final, setting.false_alarm), 0.0, setting.false_alarm, words)


def rises_enough(least: float, trials: list[Lanes], setting: Setting) -> Finding:
    """From each lane's mean return over the first tenth of the steps to that over the last fifth."""
    trial = trials[0]
    early = (trial.times > 0) & (trial.times <= 0.1 * trial.times[-1])
    first, last = trial.of("return")[early].mean(0), final_returns(trial)
    words = f"{least:g} less the rise, from {first.mean():.0f} to {last.mean():.0f}"
    return below(average(least - (last - first), setting.false_alarm), 0.0, setting.false_alarm, words)
