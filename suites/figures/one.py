"""Figure 1: returns of four forms on both CartPoles, the law of Z(s, a) upright, and the search behind it."""

from typing import Any

import numpy as np

from dgtd.harness.judging.claims import Need, Setting
from dgtd.harness.report.drawing import INK, Figure, Panel, Reading, Readings
from dgtd.harness.report.panels import Bundle, means, spreads
from dgtd.harness.report.paper import PaperFigure, Statement
from dgtd.harness.report.worlds import law_quantiles
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites.figures.search import line, pictures, stated
from dgtd.suites.policy_iteration import figure_one
from dgtd.suites.policy_iteration.search import FINAL_LANES, FINALISTS, FORMS, LANES, SEARCHED, STEPS, V0, V1, shown

WORLDS = (V0, V1)
SENTENCES = {
    "Distributional GTD2 has the best result, followed by distributional TDC.": (
        "*/distributional-gtd2-over-distributional-tdc",
    ),
    "GTD2 and TDC are inferior to their distributional forms.": (
        "*/distributional-gtd2-over-gtd2", "*/distributional-tdc-over-tdc",
    ),
    "Distributional TDC improves faster at the early stage, and then slows down.": (
        "*/distributional-tdc-early-lead",
    ),
    "Standard deviations of the distributional forms are smaller.": ("*/distributional-*-varies-less",),
    "The distributional forms rise steadily, with few oscillations.": ("*/distributional-*-rises-more-steadily",),
    "The right panel shows the law of Z(s, a) at some state, as the algorithm estimates it.": (
        "*/distributional-*-law",
    ),
}  # fmt: skip
OURS = (
    f"Policy iteration as the paper describes it: (s, a) as input, one hidden layer of 30 units for values, of 50 with "
    f"30 atoms for laws, γ = 0.9, returns in [0, 10], a policy frozen for 20 episodes, ε from 0.1 to 0.02. The paper "
    f"gives neither step sizes, activation, replay nor length. Each form was run at the same {SEARCHED} settings with "
    f"{LANES} lanes, its {FINALISTS} best on {FINAL_LANES} more, and the best of these is shown here on fresh lanes of "
    f"{STEPS:,} steps. Settings were chosen on {V0} and are used on {V1} as they are."
)


def figure() -> PaperFigure:
    return PaperFigure(1, "policy iteration on CartPole", OURS, statements, needs, draw)


def statements(setting: Setting) -> list[Statement]:
    """On both worlds; the law on v0."""
    return stated(figure_one.claims(), SENTENCES, setting.profile)


def needs(setting: Setting) -> list[Need]:
    """Every form on every world, then the jobs behind the laws, rule by rule."""
    runs: list[Need] = [figure_one.at_its_best(form, world, setting) for world in WORLDS for form in FORMS]
    for rule in figure_one.RULES:
        runs += figure_one.jobs(rule, setting)
    return runs


def draw(evidence: list[Any]) -> list[Figure]:
    """Returns and their spread, the laws, the search."""
    count = len(WORLDS) * len(FORMS)
    trials, jobs = evidence[:count], evidence[count:]
    each = len(jobs) // len(figure_one.RULES)
    found = {rule: figure_one.joined(jobs[i * each : (i + 1) * each]) for i, rule in enumerate(figure_one.RULES)}
    return [returns(trials), laws(found), *pictures()]


def returns(trials: list[Lanes]) -> Figure:
    made = [Bundle(line(form), t.times, t.of("return").T) for form, t in zip(FORMS * len(WORLDS), trials, strict=True)]
    panels, lanes = [], [made[i : i + len(FORMS)] for i in range(0, len(made), len(FORMS))]
    for make, ylabel in ((means, "return of an episode"), (spreads, "standard deviation over lanes")):
        panels += [make(world, here, ylabel, "steps of the world") for world, here in zip(WORLDS, lanes, strict=True)]
    words = (
        f"Mean return over {lanes[0][0].curves.shape[0]} lanes with 95 % intervals, and the standard deviation over "
        "lanes. Each form is at the setting that its search chose."
    )
    return Figure("figure-1-returns", "Returns on CartPole", words, tuple(panels))


def laws(found: dict[str, Any]) -> Figure:
    """Right: what was learnt against Monte Carlo, a panel per rule."""

    def panel(rule: str, kept: dict[str, Any]) -> Panel:
        def draw_law(axis: Any) -> Readings:
            z, curves = kept["z"], []
            learnt = line((rule, "cdf")).style | {"linestyle": "-"}
            series = (("learnt", "what was learnt", learnt), ("sampled", "Monte Carlo", MONTE_CARLO))
            for name, label, style in series:
                low, middle, high = law_quantiles(kept[name])
                axis.step(z, middle, where="post", **style | {"label": label})
                axis.fill_between(z, low, high, step="post", color=style["color"], alpha=0.15, lw=0)
                words = [f"{m:.3g} [{a:.3g}, {b:.3g}]" for a, m, b in zip(low, middle, high, strict=True)]
                curves.append(Reading(style["gid"], label, z.tolist(), words))
            axis.set(xlabel="discounted return", ylabel="F(z)")
            axis.legend(frameon=False, fontsize="small", loc="upper left")
            return Readings(lambda x: f"return at most {x:.3g}", curves)

        after, before = (np.median(each) for each in figure_one.distances(kept))
        return Panel(
            f"{shown(rule, 'cdf')}: Cramér distance {after:.2f}, at the start {before:.2f}", draw_law, named=True
        )

    words = (
        f"CartPole upright, in the middle and at rest, on {V0}, for the action that the policy prefers there: the law "
        "at the end of an evaluation, and discounted returns of the very policy that was evaluated, "
        f"{figure_one.ROLLOUTS} per lane. Medians over lanes, bands from the tenth to the ninetieth percentile; "
        "distances are medians of the lanes' own."
    )
    return Figure("figure-1-law", "The law of Z(s, a)", words, tuple(panel(*each) for each in found.items()))


MONTE_CARLO: dict[str, Any] = {"color": INK, "lw": 1.6, "gid": "curve-9", "linestyle": ":"}
