"""Figure 3: DQN, C51 and distributional Greedy-GQ on CartPole, and on LunarLander where that is installed."""

from importlib.util import find_spec
from typing import Any

from dgtd.harness.judging.claims import Need, Setting
from dgtd.harness.report.drawing import Figure
from dgtd.harness.report.panels import Bundle, Line, means, spreads
from dgtd.harness.report.paper import PaperFigure, Statement
from dgtd.suites.control import figure_three
from dgtd.suites.control.figure_three import CARTPOLE, DOOM, LANDER, SHOWN
from dgtd.suites.figures.search import stated

ON_CARTPOLE, ON_LANDER, ON_DOOM = (f"control/{panel.short}" for panel in (CARTPOLE, LANDER, DOOM))
CARTPOLES = {
    "On CartPole, C51 is better than DQN.": (f"{ON_CARTPOLE}/c51-over-dqn",),
    "On CartPole, distributional Greedy-GQ is better than DQN.": (f"{ON_CARTPOLE}/greedy-gq-over-dqn",),
    "On CartPole, distributional Greedy-GQ is comparable with C51.": (f"{ON_CARTPOLE}/greedy-gq-comparable-with-c51",),
    "The variance of C51 and distributional Greedy-GQ is smaller than DQN's.": (f"{ON_CARTPOLE}/*-steadier-than-dqn",),
    "(Ours: the correction that distributional Greedy-GQ adds to Q-learning is what helps.)": (
        f"{ON_CARTPOLE}/greedy-gq-over-eta-0",
    ),
}
OTHERS = {
    "(Ours: it helps over the whole range of rates.)": (f"{ON_CARTPOLE}/greedy-gq-over-eta-0/at-any-rate",),
    "On LunarLander, C51 and distributional Greedy-GQ are slightly better than DQN.": (f"?{ON_LANDER}/*-over-dqn",),
    "On ViZDoom, they are better than DQN, comparable with each other, and vary less.": (f"?{ON_DOOM}/*",),
}
OURS = (
    f"The paper's panels are CartPole-v0, LunarLander and ViZDoom (defend the center), against episodes. Ours is "
    f"{CARTPOLE.world}, on which returns are not cut off at 200, against steps of the world: two layers of 64 relu "
    "units, 40 atoms, Adam with each agent's rate by a sweep on other seeds, a replay of 20 000. The range of rates, "
    "LunarLander and ViZDoom are judged in the profiles full and paper, the worlds where they are installed."
)


def figure() -> PaperFigure:
    return PaperFigure(3, "distributional Greedy-GQ against DQN and C51", OURS, statements, needs, draw)


def statements(setting: Setting) -> list[Statement]:
    """On CartPole, and in the other worlds where they are installed."""
    return stated(figure_three.claims(), CARTPOLES | OTHERS, setting.profile)


def needs(setting: Setting) -> list[Need]:
    """Every agent on CartPole; in the full profile on LunarLander, too."""
    made = [need for name in CARTPOLE.chosen for need in CARTPOLE.alone(name, setting)]
    if setting.profile == "full" and find_spec(LANDER.extra) is not None:
        made += [need for name in LANDER.chosen for need in LANDER.alone(name, setting)]
    return made


def draw(evidence: list[Any]) -> list[Figure]:
    panels, count, order = [], 0, list(SHOWN)
    for panel in (CARTPOLE, LANDER) if len(evidence) > len(CARTPOLE.chosen) else (CARTPOLE,):
        trials = evidence[count : count + len(panel.chosen)]
        count += len(panel.chosen)
        lanes = [
            Bundle(Line(SHOWN[name], order.index(name)), trial.times, trial.of("return").T)
            for name, trial in zip(panel.chosen, trials, strict=True)
        ]
        panels += [
            means(panel.short, lanes, "return of an episode", "steps of the world"),
            spreads(panel.short, lanes, "standard deviation over lanes", "steps of the world"),
        ]
    seeds = len(evidence[0].died)
    words = f"Mean return over {seeds} lanes with 95 % intervals, and the standard deviation over lanes."
    return [Figure("figure-3", "Control", words, tuple(panels))]
