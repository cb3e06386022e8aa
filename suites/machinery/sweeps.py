"""Sweeps over step sizes, and the numbers that they compare: areas and first arrivals."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from algorithms.checks import Floats
from harness.compare.comparison import compare
from harness.compare.contest import Choice, Grid, NoStableStepError, areas, choose, steps_to_share
from harness.judging.claims import Claim, Setting
from harness.judging.verdicts import Finding
from harness.runs.learning import Learning
from harness.runs.store import Store
from suites.machinery.cases import all_hold, exact
from suites.machinery.contests import BASE, GTD2, GTD2_LAW, POINT, TDC, contest, flat
from suites.machinery.planted import plant

Point = tuple[float, float]


def claims() -> list[Claim]:
    """The choice, and what it rests on."""
    return [
        exact(
            "compare/sweep-seeds",
            "no lane that chose step sizes is among the lanes that are reported",
            "definitions",
            sweeps_have_their_own_lanes,
        ),
        exact(
            "compare/grid",
            "a sweep tries every α with every β/α, and one step beyond each edge that was chosen",
            "definitions",
            ratios_are_of_alpha,
        ),
        exact(
            "compare/choice",
            "a sweep chooses the smallest mean area, and never a setting that lost a lane",
            "definitions",
            smallest_mean_is_chosen,
        ),
        exact(
            "compare/area",
            "the area of a curve is the integral of its straight pieces over the steps, as a mean height",
            "definitions",
            areas_are_trapezoids,
        ),
        exact(
            "compare/steps",
            "steps to a target are the first checkpoint there, and their median counts lanes that never arrive",
            "definitions",
            first_arrivals_count,
        ),
    ]


# ---------------------------------------------------------------------- the choice


def sweeps_have_their_own_lanes(setting: Setting) -> Finding:
    """Streams of 32 lanes, of every run of a contest."""
    made = contest(GTD2, TDC, GTD2_LAW, grid=Grid((0.1, 0.2), (1.0,)))
    sweep = [request.spec for request in made.sweep_requests()]
    final = [request.spec for request in made.final_requests({pair: Choice(POINT) for pair in made.pairs()})]
    swept, reported = (
        {tuple(each) for run in runs for each in Learning.of(run).streams(range(32)).tolist()}
        for runs in (sweep, final)
    )
    return all_hold([
        ("six runs choose and three are reported", (len(sweep), len(final)) == (6, 3)),
        ("rules and settings share their lanes", (len(swept), len(reported)) == (32, 32)),
        ("no lane does both", not swept & reported),
    ])  # fmt: skip


def ratios_are_of_alpha(setting: Setting) -> Finding:
    """Two by two settings, and the grids beyond the smallest and the largest of them."""
    grid = Grid((0.5, 0.25), (4.0, 1.0))
    lower, higher = (set(grid.beyond([point]).points()) for point in ((0.25, 0.25), (0.5, 2.0)))
    points = {(0.5, 2.0), (0.5, 0.5), (0.25, 1.0), (0.25, 0.25)}
    return all_hold([
        ("the grid", set(grid.points()) == points),
        ("beyond its smallest setting", lower == pairs_of((0.5, 0.25, 0.0625), (4.0, 1.0, 0.25)) > points),
        ("beyond its largest setting", higher == pairs_of((0.5, 0.25, 2.0), (4.0, 1.0, 16.0)) > points),
    ])  # fmt: skip


def pairs_of(alphas: tuple[float, ...], ratios: tuple[float, ...]) -> set[Point]:
    """(α, β) of each α with each β/α."""
    return {(alpha, alpha * ratio) for alpha in alphas for ratio in ratios}


def smallest_mean_is_chosen(setting: Setting) -> Finding:
    """A small median with a large mean; low curves with a lost lane; nothing that is stable; ties."""
    few_high = np.array([0.1] * 5 + [5.0] * 3)
    means: dict[Point, Floats] = {(0.1, 0.1): 1.2 * np.ones(8), (0.2, 0.2): np.ones(8), (0.4, 0.4): few_high}
    square = Grid((0.5, 0.25), (4.0, 1.0))
    return all_hold([
        ("the mean and not the median", chosen(means) == (0.2, 0.2)),
        ("a setting that lost a lane", chosen(means, lost=[(0.2, 0.2)]) == (0.1, 0.1)),
        ("every setting lost a lane", chosen(means, lost=means) is None),
        ("ties go to the smaller steps", chosen(dict.fromkeys(square.points(), BASE), grid=square) == (0.25, 0.25)),
    ])  # fmt: skip


def chosen(sweep: Mapping[Point, Floats], lost: Collection[Point] = (), grid: Grid | None = None) -> Point | None:
    """What a sweep with these heights chooses; None if it finds nothing stable. One lane of a lost setting is lost."""
    made = contest(GTD2, grid=grid or Grid(tuple(alpha for alpha, _ in sweep), (1.0,)))
    with Store(":memory:") as store:
        for point, heights in sweep.items():
            run = made.spec("boyan", GTD2, *point, sweep=True)
            plant(store, run, GTD2.metrics, flat(run, GTD2, heights), [3] if point in lost else ())
        try:
            return choose(made, store)["boyan", GTD2].best
        except NoStableStepError:
            return None


# ---------------------------------------------------------------------- curves


def areas_are_trapezoids(setting: Setting) -> Finding:
    """Lines have the mean of their ends, whatever the checkpoints; a fall in the first step is a hundredth of it."""
    times = np.array([0, 1, 10, 100])
    curves = np.array([[2.0, 2.0, 2.0, 2.0], [0.0, 1.0, 10.0, 100.0], [1.0, 0.0, 0.0, 0.0], [9.0, 9.0, 0.0, 0.0]])
    expected = [2.0, 50.0, 0.005, (9 + 40.5) / 100]
    found = areas(times, curves)
    cases = [(f"curve {shown}", bool(np.isclose(area, known))) for shown, area, known in zip(
        ("at 2", "t", "that falls at once", "that falls at 10"), found, expected, strict=True
    )]  # fmt: skip
    for lost in (np.nan, np.inf):
        cases.append((f"a curve with {lost}", bool(np.isinf(areas(times, np.array([[1.0, lost, 1.0, 1.0]])))[0])))
    return all_hold(cases)


def first_arrivals_count(setting: Setting) -> Finding:
    """Five lanes at a tenth of their start at checkpoints 10, 1, 100, never, and there but lost at the end."""
    times = np.array([0, 1, 10, 100])
    curves = np.array([[1, 1, 0.1, 0.1], [1, 0.05, 1, 1], [2, 2, 2, 0.2], [1, 1, 1, 1], [1, 0, 0, np.nan]])
    cases = [("first checkpoints", steps_to_share(times, curves, 0.1).tolist() == [10, 1, 100, np.inf, np.inf])]
    made = contest(GTD2, seeds=4)
    for arrived, expected in ((4, 100.0), (3, 100.0), (2, np.inf), (1, np.inf)):
        with Store(":memory:") as store:
            run = made.spec("boyan", GTD2, *POINT)
            lanes = flat(run, GTD2, np.ones(4))
            lanes[:arrived, -1, GTD2.metrics.index("rmspbe")] = 0.01
            plant(store, run, GTD2.metrics, lanes)
            found = compare(made, store, {("boyan", GTD2): Choice(POINT)}, timed=False)
        cases.append((f"{arrived} of 4 lanes arrive", found.entries[0].median_steps_to_target == expected))
    return all_hold(cases)
