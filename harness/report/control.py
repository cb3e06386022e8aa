"""The report of a comparison of agents: what they earn over time, in one HTML file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.targets import CdfTarget
from harness.compare.control import ALPHA, CHOICE, ControlComparison, words
from harness.compare.earnings import Earnings, Sweep
from harness.judging.statistics import Interval, median_interval
from harness.report.bands import Line, band
from harness.report.drawing import Figure, Panel, save
from harness.report.figures import law_quantiles
from harness.report.markup import FORMATS, Cell, colophon, document, figure_element, numeral, table, written
from harness.report.panels import at_step
from harness.report.readings import Reading, Readings
from harness.report.styles import COLOURS


def write(found: ControlComparison, command: str, out: Path) -> Path:
    """Write report.html, and the figures next to it; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    for name in written(out):
        for kind in FORMATS:
            (out / "figures" / f"{name}.{kind}").unlink(missing_ok=True)
    body = [
        "<main>", "<header>", "<h1>Agents, compared</h1>",
        "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in words(found)) + "</ul>",
        f'<p class="soft">{found.contest.seeds} paired seeds, {found.contest.steps:,} steps. Lines are means over '
        f"seeds of the returns of episodes between two checkpoints, bands their {1 - ALPHA:.0%} t-intervals. "
        "Agents share their worlds' and their exploration's random numbers lane by lane.</p>",
        "</header>",
    ]  # fmt: skip
    for world in found.contest.worlds:
        body += [f"<section><h2>{escape(world)}</h2>", _summary(found, world)]
        for made in figures(found, world):
            save(made, *(out / "figures" / f"{made.name}.{kind}" for kind in FORMATS))
            body.append(figure_element(made))
        body.append("</section>")
    body += [_sweeps(found), colophon(command), "</main>"]
    path = out / "report.html"
    path.write_text(document(f"dgtd compare: {', '.join(found.contest.worlds)}", body), encoding="utf-8")
    return path


def figures(found: ControlComparison, world: str) -> list[Figure]:
    """What they earn, whether they know it, and the laws of those that have one."""
    made = [returns(found, world), worth(found, world)]
    if any(entry.lanes.law.shape[1] for entry in found.at(world)):
        made.append(laws(found, world))
    return made


def returns(found: ControlComparison, world: str) -> Figure:
    """Returns against steps, and against episodes."""

    def over_steps(axis: Any) -> Readings:
        curves = [_band(axis, entry, entry.lanes.returns, i) for i, entry in enumerate(found.at(world))]
        axis.set(xlabel="steps of the world", ylabel="return of an episode")
        axis.legend(frameon=False, fontsize="small")
        return Readings(at_step, curves)

    def over_episodes(axis: Any) -> Readings:
        curves = [
            band(axis, Line(entry.who.label, i), *entry.over_episodes()) for i, entry in enumerate(found.at(world))
        ]
        axis.set(xlabel="episodes of a lane", ylabel="return of an episode")
        axis.legend(frameon=False, fontsize="small")
        return Readings(lambda x: f"episode {x:,.0f}", curves)

    text = (
        f"Return of an episode in {world} against steps, and against the episodes that a lane has finished, as far as "
        f"every lane has come: means over {found.contest.seeds} seeds."
    )
    panels = (Panel("over steps", over_steps, named=True), Panel("over episodes", over_episodes, named=True))
    return Figure(_name("returns", world), f"Learning in {world}", text, panels)


def worth(found: ControlComparison, world: str) -> Figure:
    """Q against the Monte-Carlo return: a panel per agent."""

    def panel(i: int, entry: Earnings) -> Panel:
        def draw(axis: Any) -> Readings:
            thought = _band(axis, entry, entry.lanes.thought, i, "Q, what was expected")
            earned = _band(axis, entry, entry.lanes.worth, i, "what was earned, discounted", dashed=True)
            axis.set(xlabel="steps of the world", ylabel="worth of an episode")
            axis.legend(frameon=False, fontsize="small")
            return Readings(at_step, [thought, earned])

        return Panel(entry.who.label, draw, named=True)

    text = (
        "Where episodes began: the value of the best action as the agent saw it (solid), and the discounted sum of the "
        "rewards that followed (dashed), exploration included. Means over seeds, with intervals. An episode that was "
        "cut off earned less than it was worth."
    )
    panels = tuple(panel(i, entry) for i, entry in enumerate(found.at(world)))
    return Figure(_name("worth", world), f"Q against the Monte-Carlo return in {world}", text, panels)


def laws(found: ControlComparison, world: str) -> Figure:
    """Z(s, a), a panel per state and action."""
    contest = found.contest
    states = contest.states or ((),)  # none: where every observation is 0
    here = [(i, entry) for i, entry in enumerate(found.at(world)) if entry.lanes.law.shape[1]]
    made = contest.learner(world, here[0][1].who, contest.rates[0], 1)
    how = made.control or made.iteration
    assert how is not None
    z = CdfTarget(how.v_min, how.v_max, made.atoms).support
    actions = here[0][1].lanes.law.shape[1] // (len(z) - 1) // len(states)  # policy iteration keeps the greedy one's

    def panel(state: int, action: int) -> Panel:
        def draw(axis: Any) -> Readings:
            curves = []
            for i, entry in here:
                F = entry.lanes.law.reshape(len(entry.final), len(states), actions, -1)[:, state, action]
                low, middle, high = law_quantiles(F)
                colour, mark = COLOURS[i % len(COLOURS)], f"curve-{i}"
                axis.step(z, middle, where="post", color=colour, lw=1.6, gid=mark, label=entry.who.label)
                axis.fill_between(z, low, high, step="post", color=colour, alpha=0.15, lw=0, gid=mark)
                words = [f"{m:.3g} [{a:.3g}, {b:.3g}]" for a, m, b in zip(low, middle, high, strict=True)]
                curves.append(Reading(mark, entry.who.label, z.tolist(), words))
            axis.set(xlabel="discounted return", ylabel="F(z)")
            axis.legend(frameon=False, fontsize="small")
            return Readings(lambda x: f"return at most {x:.3g}", curves)

        where = f"at ({', '.join(f'{part:g}' for part in states[state])}), " if states[state] else ""
        return Panel(where + (f"action {action}" if actions > 1 else "the greedy action"), draw, named=True)

    place = "at chosen observations" if contest.states else "where every observation is 0"
    upright = " (CartPole upright, in the middle, at rest)" if world.startswith("cartpole") else ""
    text = (
        f"The last law of the return of an action {place}{'' if contest.states else upright}, as cumulative "
        "distribution functions: medians over seeds, bands from the tenth to the ninetieth percentile."
    )
    panels = tuple(panel(state, action) for state in range(len(states)) for action in range(actions))
    return Figure(_name("law", world), f"The law of Z(s, a) in {world}", text, panels)


def _name(kind: str, world: str) -> str:
    return f"{kind}-" + "".join(letter if letter.isalnum() else "-" for letter in world)


def _band(axis: Any, entry: Earnings, curves: Floats, i: int, label: str = "", dashed: bool = False) -> Reading:
    """Means over lanes of curves [lanes, checkpoints], and their intervals, in the agent's colour."""
    return band(axis, Line(label or entry.who.label, i, dashed), entry.times, curves)


def columns(found: ControlComparison, world: str) -> list[str]:
    """The head of the table of a world."""
    reached = f"steps to {numeral(found.threshold(world))}"
    return ["agent", "α", "return, last fifth: median", "mean", "standard deviation", "mean over all steps", reached,
            "diverged", "µs per step"]  # fmt: skip


def cells(found: ControlComparison, world: str) -> list[list[Cell]]:
    """A row per agent: text, sort key, and whether it beat every other."""
    rows: list[list[Cell]] = []
    for entry in found.at(world):
        middle = median_interval(entry.final, ALPHA)
        bounds = f" [{middle.low:.3g}, {middle.high:.3g}]" if np.isfinite(middle.low) else ""
        met = [m for m in found.matches if m.world == world and entry.who.label in (m.a, m.b)]
        won = bool(met) and all(m.winner == entry.who.label for m in met)
        until = median_interval(entry.steps_to(found.threshold(world)), ALPHA)
        plain = (float(entry.final.mean()), entry.deviation, float(entry.lanes.area.mean()))
        rows.append(
            [
                (entry.who.label, entry.who.label, False),
                (f"{entry.sweep.best:g}{' (edge)' if entry.sweep.on_edge else ''}", entry.sweep.best, False),
                (f"{numeral(middle.estimate)}{bounds}", middle.estimate, won),
                *((numeral(value), value, False) for value in plain),
                (_steps(until), until.estimate, False),
                (f"{entry.lanes.diverged} of {len(entry.final)}", float(entry.lanes.diverged), False),
                (f"{entry.microseconds:.3g}", entry.microseconds, False),
            ]
        )  # fmt: skip
    return rows


def _steps(until: Interval) -> str:
    """A median number of steps with its interval; lanes may never come there."""
    if not np.isfinite(until.estimate):
        return "not by half of the lanes"
    low, high = (f"{bound:,.0f}" if np.isfinite(bound) else "∞" for bound in (max(until.low, 0.0), until.high))
    return f"{until.estimate:,.0f} [{low}, {high}]"


def _summary(found: ControlComparison, world: str) -> str:
    asked, chosen = found.threshold(world), found.contest.threshold is not None
    note = (
        f"Steps: medians over seeds until the return of episodes between two checkpoints is {numeral(asked)}"
        + ("." if chosen else ", half-way from where agents begin to what the best earns.")
        if np.isfinite(asked)
        else "No agent earns more at last than agents do at first, so there is no return to count the steps to."
    )
    if any(entry.lanes.diverged for entry in found.at(world)):
        note += " A lane that diverged never arrives; a curve ends where the first lane of its agent diverged."
    words = f'<p class="soft">{note}</p>'
    return table(f"Agents in {world}", columns(found, world), cells(found, world)) + words + _pairs(found, world)


def _pairs(found: ControlComparison, world: str) -> str:
    """Each pair of agents: who earns more, and who varies less."""
    rows: list[list[Cell]] = []
    for m in (each for each in found.matches if each.world == world):
        chance = f"{m.better.estimate:.2f} [{m.better.low:.2f}, {m.better.high:.2f}]"
        spread = ("–", np.nan), ("–", np.nan)
        if m.variance is not None:
            ratio = m.variance.ratio
            spread = (
                (f"{ratio.estimate:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]", ratio.estimate),
                (f"{m.variance.p:.2g}", m.variance.p),
            )
        rows.append(
            [
                (f"{m.a} − {m.b}", m.a, False), (numeral(m.difference), m.difference, m.winner is not None),
                (chance, m.better.estimate, False), (f"{m.p:.2g}", m.p, False),
                *((text, key, False) for text, key in spread),
            ]
        )  # fmt: skip
    if not rows:
        return ""
    head = ["pair", "median difference", "P(higher)", "p (Holm)", "ratio of variances", "p of equal variances"]
    return table(f"Pairs in {world}", head, rows)


def _swept(sweep: Sweep, rate: float) -> str:
    lost = sweep.lost.get(rate, 0)
    return numeral(sweep.means[rate]) + (f" ({lost} diverged)" if lost else "")


def _sweeps(found: ControlComparison) -> str:
    rates = found.contest.rates
    if len(rates) == 1:
        return ""
    rows: list[list[Cell]] = [
        [
            (entry.world, entry.world, False),
            (entry.who.label, entry.who.label, False),
            *((_swept(entry.sweep, rate), entry.sweep.means[rate], rate == entry.sweep.best) for rate in rates),
        ]
        for entry in found.entries
    ]
    head = ["world", "agent", *(f"rate {rate:g}" for rate in rates)]
    return (
        "<section><h2>The sweep</h2>"
        f'<p class="soft">Mean return over the last fifth, {found.contest.sweep_seeds} lanes per rate on seeds of '
        f"their own; ★ is the rate that was chosen: the {CHOICE}.</p>"
        + table("The sweep over rates", head, rows, frozenset({0, 1}))
        + "</section>"
    )
