"""Figure 3: DQN, C51 and distributional Greedy-GQ on CartPole, and on LunarLander where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from harness.judging.claims import Need, Setting
from harness.report.bands import Lanes, Line, means, spreads
from harness.report.drawing import Figure
from harness.report.paper import PaperFigure, Statement
from suites import figure_three
from suites.figure_three import C51, CARTPOLE, DOOM, DQN, GREEDY, LANDER, SHOWN, short
from suites.figures.claims import stated

ETA_0 = "greedy_gq(0)"
AGENTS = {DQN: SHOWN[DQN], C51: SHOWN[C51], GREEDY: SHOWN[GREEDY], ETA_0: "the same with η = 0"}
CARTPOLES = {
    "On CartPole, C51 is better than DQN.": (f"control/{CARTPOLE}/c51-over-dqn",),
    "On CartPole, distributional Greedy-GQ is better than DQN.": (f"control/{CARTPOLE}/greedy-gq-over-dqn",),
    "On CartPole, distributional Greedy-GQ is comparable with C51.": (
        f"control/{CARTPOLE}/greedy-gq-comparable-with-c51",
    ),
    "The variance of C51 and distributional Greedy-GQ is smaller than DQN's.": (
        f"control/{CARTPOLE}/*-steadier-than-dqn",
    ),
    "(Ours: the correction that distributional Greedy-GQ adds to Q-learning is what helps.)": (
        f"control/{CARTPOLE}/greedy-gq-over-eta-0",
    ),
}
OTHERS = {
    "On LunarLander, C51 and distributional Greedy-GQ are slightly better than DQN.": (
        f"?control/{short(LANDER)}/*-over-dqn",
    ),
    "On ViZDoom, they are better than DQN, comparable with each other, and vary less.": (f"?control/{DOOM}/*",),
}
OURS = (
    f"The paper's panels are CartPole-v0, LunarLander and ViZDoom (defend the center), against episodes. Ours is "
    f"{CARTPOLE}, on which returns are not cut off at 200, against steps of the world: two layers of 64 relu units, 40 "
    "atoms, Adam with rate 5e-4, a replay of 20 000. Statements on LunarLander and ViZDoom are judged in the profiles "
    "full and paper, where those worlds are installed."
)


def figure() -> PaperFigure:
    """For the page."""
    return PaperFigure(3, "distributional Greedy-GQ against DQN and C51", OURS, statements, needs, draw)


def statements(setting: Setting) -> list[Statement]:
    """A quick look has CartPole only: a lane of LunarLander takes as long as all of its lanes."""
    made = figure_three.claims()
    if setting.profile == "ci":
        return stated(made, CARTPOLES) + [Statement(says, ()) for says in OTHERS]
    made = [claim for claim in made if setting.profile in claim.profiles and claim.figure]
    return stated(made, CARTPOLES | OTHERS)


def needs(setting: Setting) -> list[Need]:
    """Every agent on CartPole; in the full profile on LunarLander, too."""
    made = [figure_three.pair_of(name, DQN, setting)[0] for name in AGENTS]
    if setting.profile == "full" and find_spec("Box2D") is not None:
        made += [figure_three.at_one_rate(name, setting)[0] for name in (DQN, C51, GREEDY)]
    return made


def draw(evidence: list[Any]) -> list[Figure]:
    """Returns and their spread."""
    worlds = {CARTPOLE: list(AGENTS)} | ({short(LANDER): [DQN, C51, GREEDY]} if len(evidence) > len(AGENTS) else {})
    panels, count = [], 0
    for world, names in worlds.items():
        trials = evidence[count : count + len(names)]
        count += len(names)
        lanes = [
            Lanes(Line(AGENTS[name], list(AGENTS).index(name)), trial.times, trial.of("return").T)
            for name, trial in zip(names, trials, strict=True)
        ]
        panels += [
            means(world, lanes, "return of an episode", "steps of the world"),
            spreads(world, lanes, "standard deviation over lanes", "steps of the world"),
        ]
    seeds = len(evidence[0].died)
    words = f"Mean return over {seeds} lanes with 95 % intervals, and the standard deviation over lanes."
    return [Figure("figure-3", "Control", words, tuple(panels))]
