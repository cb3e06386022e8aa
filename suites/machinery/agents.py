"""A comparison of agents: which rate a sweep chooses, and what is made of lanes' returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rules import PUBLISHED
from harness.compare.control import ControlContest, Entrant, Sweep, choose, weigh
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from harness.runs.acting import NAMES, Acting
from harness.runs.spec import RunSpec
from harness.runs.store import Store
from suites.machinery.cases import all_hold, exact
from suites.machinery.planted import plant

PLACE, STEPS, LANES = "cartpole-v0", 100, 8
DQN, C51 = (Entrant(name, PUBLISHED[name].target) for name in ("dqn", "c51"))
TD = Entrant("td", "value")
BASE = np.linspace(50.0, 60.0, LANES)  # what eight lanes earn
RATE = 1e-3


def claims() -> list[Claim]:
    """The choice, what a lane has earned, and who earns more."""
    return [
        exact(
            "agents/choice",
            "agents get the rate that earns most in the last fifth, of those that lose the fewest lanes",
            "definitions",
            most_is_chosen,
        ),
        exact(
            "agents/grid",
            "where an agent's choice lies on the edge of the rates, all agents try one more",
            "definitions",
            edges_are_extended,
        ),
        exact("agents/sweep-seeds", "no world that chose a rate is among those reported", "definitions", own_worlds),
        exact(
            "agents/returns",
            "final returns, areas, steps to a return and returns over episodes are those of the curves",
            "definitions",
            returns_are_of_the_curves,
        ),
        exact(
            "agents/unknown",
            "what an agent earns is not known before an episode has ended, and counts nowhere",
            "definitions",
            nothing_is_known_at_first,
        ),
        exact(
            "agents/winner",
            "an agent earns more only if paired tests say so after Holm; a lost lane is worse than any other",
            "Wilcoxon 1945, Holm 1979",
            winners_earn_more,
        ),
    ]


def contest(*people: Entrant, rates: tuple[float, ...] = (RATE,), seeds: int = LANES) -> ControlContest:
    """A short one."""
    return ControlContest((PLACE,), people, STEPS, seeds, rates=rates, sweep_seeds=seeds)


def planted(store: Store, run: RunSpec, late: Floats, early: float = 0.0, lost: int = 0, first: int = 0) -> None:
    """Lanes that earn `early`, then `late` in the last fifth; so many are lost. Episodes end after step `first`."""
    curves = np.zeros((len(late), len(run.times()), len(NAMES)))
    of_return, of_episodes = NAMES.index("return"), NAMES.index("episodes")
    curves[..., of_return] = np.where(run.times() > 0.8 * STEPS, late[:, None], early)
    curves[..., of_episodes] = np.maximum(run.times() - first, 0)
    curves[:, run.times() <= first, of_return] = np.nan
    plant(store, run, NAMES, curves, range(lost))


# ---------------------------------------------------------------------- the choice


def most_is_chosen(setting: Setting) -> Finding:
    """Means, not medians nor what came before; lost lanes."""
    few = np.array([200.0] * 3 + [0.0] * 5)  # 75 on average
    return all_hold([
        ("the mean and not the median", chosen({1e-3: (BASE, 0.0, 0), 2e-3: (few, 0.0, 0)}) == 2e-3),
        ("the last fifth", chosen({1e-3: (BASE, 0.0, 0), 2e-3: (BASE - 1, 900.0, 0)}) == 1e-3),
        ("a rate that lost a lane", chosen({1e-3: (BASE, 0.0, 0), 2e-3: (BASE + 9, 0.0, 1)}) == 1e-3),
        ("all lost some", chosen({1e-3: (BASE + 9, 0.0, 3), 2e-3: (BASE, 0.0, 2), 4e-3: (BASE + 1, 0.0, 2)}) == 4e-3),
        ("all are lost", chosen({1e-3: (BASE, 0.0, LANES), 2e-3: (BASE, 0.0, LANES)}) in (1e-3, 2e-3)),
    ])  # fmt: skip


def chosen(sweep: Mapping[float, tuple[Floats, float, int]]) -> float:
    """What a sweep chooses whose lanes are these, by rate."""
    made = contest(DQN, rates=tuple(sweep))
    with Store(":memory:") as store:
        for rate, lanes in sweep.items():
            planted(store, made.spec(PLACE, DQN, rate, sweep=True), *lanes)
        return choose(made, store)[PLACE, DQN].best


def edges_are_extended(setting: Setting) -> Finding:
    """Three rates by factors of two, and what was chosen."""
    made = contest(DQN, rates=(1e-3, 2e-3, 4e-3))

    def beyond(*best: float) -> tuple[float, ...]:
        return made.beyond(Sweep(rate, {}) for rate in best).rates

    return all_hold([
        ("inside", beyond(2e-3) == made.rates),
        ("above", beyond(2e-3, 4e-3) == (*made.rates, 8e-3)),
        ("below", beyond(1e-3) == (5e-4, *made.rates)),
        ("both", beyond(4e-3, 1e-3) == (5e-4, *made.rates, 8e-3)),
    ])  # fmt: skip


def own_worlds(setting: Setting) -> Finding:
    """Streams of 32 lanes' worlds, of a sweep and of what is reported."""
    made = contest(DQN, C51, rates=(1e-3, 2e-3))
    swept, reported = (
        {
            tuple(stream)
            for who in made.entrants
            for stream in Acting.of(made.spec(PLACE, who, RATE, sweep)).streams(range(32), "world").tolist()
        }
        for sweep in (True, False)
    )
    return all_hold([
        ("agents share their worlds", (len(swept), len(reported)) == (32, 32)),
        ("no world does both", not swept & reported),
    ])  # fmt: skip


# ---------------------------------------------------------------------- what lanes have earned


def weighed(
    finals: Mapping[Entrant, Floats], early: float = 0.0, lost: Mapping[Entrant, int] | None = None, first: int = 0
) -> Any:
    """The comparison of agents whose lanes earn so much."""
    made = contest(*finals, seeds=len(next(iter(finals.values()))))
    with Store(":memory:") as store:
        for who, late in finals.items():
            planted(store, made.spec(PLACE, who, RATE), late, early, (lost or {}).get(who, 0), first)
        return weigh(made, store, {(PLACE, who): Sweep(RATE, {}) for who in finals})


def returns_are_of_the_curves(setting: Setting) -> Finding:
    """Little for four fifths, then what a lane earns; one lane is lost."""
    (entry,) = weighed({DQN: BASE}, early=10.0, lost={DQN: 1}).entries
    until, (at, over) = entry.steps_to(BASE[3]), entry.over_episodes(STEPS)
    return all_hold([
        ("final returns", bool(np.allclose(entry.final[1:], BASE[1:]))),
        ("areas", bool(np.allclose(entry.lanes.area[1:], 0.8 * 10 + 0.2 * BASE[1:]))),
        ("a lost lane", bool(np.isneginf(entry.final[0]) and np.isneginf(entry.lanes.area[0]))),
        ("steps to a return", until.tolist() == [np.inf] * 3 + [82.0] * 5),
        ("the first checkpoint", entry.steps_to(10.0).tolist() == [np.inf] + [2.0] * 7),
        ("episodes", at[-1] == STEPS),
        ("over episodes", bool(np.allclose(over[1:, -1], BASE[1:]) and np.allclose(over[:, 0], 10.0))),
    ])  # fmt: skip


def nothing_is_known_at_first(setting: Setting) -> Finding:
    """Returns below 0, and forty steps in which no episode ends: a 0 there would be more than was ever earned."""
    found = weighed({DQN: BASE - 100}, early=-100.0, first=40)
    (entry,), half = found.entries, found.threshold(PLACE)
    worse = weighed({DQN: BASE - 100}, early=-10.0)
    return all_hold([
        ("half-way from the first known return", bool(np.isclose(half, (-100 + np.median(BASE) - 100) / 2))),
        ("steps to a return", entry.steps_to(half).tolist() == [82.0] * LANES),
        ("areas", bool(np.allclose(entry.lanes.area, (2 * -100 + BASE - 100) / 3))),
        ("no agent rose", bool(np.isnan(worse.threshold(PLACE)))),
        ("so that none arrives", bool(np.isinf(worse.entries[0].steps_to(worse.threshold(PLACE))).all())),
    ])  # fmt: skip


def winners_earn_more(setting: Setting) -> Finding:
    """Six and eight lanes, two and three agents; lanes that are lost."""
    more = {DQN: BASE, C51: BASE + 5}
    three = {DQN: BASE[:6], C51: BASE[:6] + 5, TD: BASE[:6] + np.array([1, -1, 2, -2, 3, -3])}
    return all_hold([
        ("every lane earns more", winner(more) == "C51"),
        ("every lane earns less", winner({DQN: BASE, C51: BASE - 5}) == "DQN"),
        ("as many more as less", winner({DQN: BASE, C51: BASE + 5 * np.resize([1, -1], LANES)}) is None),
        ("half of its lanes are lost", winner(more, {C51: 4}) is None),
        ("all of them are", winner(more, {C51: LANES}) == "DQN"),
        ("six lanes decide one test", winner({who: late[:6] for who, late in more.items()}) == "C51"),
        ("and not three", all(match.winner is None for match in weighed(three).matches)),
    ])  # fmt: skip


def winner(finals: Mapping[Entrant, Floats], lost: Mapping[Entrant, int] | None = None) -> str | None:
    """Of two agents."""
    (match,) = weighed(finals, lost=lost).matches
    found: str | None = match.winner
    return found
