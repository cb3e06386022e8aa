"""Contests whose lanes are given: constant curves, one height per lane."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from algorithms.checks import Floats
from harness.compare.comparison import Comparison, compare
from harness.compare.contest import Choice, Contest, Contestant, Grid
from harness.runs.spec import FileRef, RunSpec
from harness.runs.store import Store
from suites.machinery.planted import plant

GTD2, TDC = (Contestant(FileRef(name), "value") for name in ("gtd2", "tdc"))
GTD2_LAW, TDC_LAW = (Contestant(FileRef(name), "cdf") for name in ("gtd2", "tdc"))
POINT = (0.1, 0.1)
BASE = np.linspace(1.0, 2.0, 8)  # heights of eight lanes


def contest(
    *people: Contestant, seeds: int = 8, problems: tuple[str, ...] = ("boyan",), grid: Grid | None = None
) -> Contest:
    """A short one."""
    return Contest(problems, people, steps=100, seeds=seeds, atoms=5, grid=grid or Grid(), sweep_seeds=seeds)


def flat(run: RunSpec, who: Contestant, heights: Floats) -> Floats:
    """Curves [lanes, checkpoints, metrics] whose RMSPBE stays at a height per lane; all else is 1."""
    curves = np.ones((len(heights), len(run.times()), len(who.metrics)))
    curves[..., who.metrics.index("rmspbe")] = heights[:, None]
    return curves


def weighed(
    made: Contest,
    heights: Mapping[tuple[str, Contestant], Floats],
    lost: Collection[int] = (),
    loser: Contestant | None = None,
) -> Comparison:
    """The comparison of lanes at these heights; `lost` are the diverged lanes of the loser."""
    with Store(":memory:") as store:
        for (problem, who), values in heights.items():
            run = made.spec(problem, who, *POINT)
            plant(store, run, who.metrics, flat(run, who, values), lost if who == loser else ())
        return compare(made, store, {pair: Choice(POINT) for pair in made.pairs()}, timed=False)


def winner(ours: Floats, theirs: Floats) -> str | None:
    """Of GTD2's and TDC's lanes."""
    made = contest(GTD2, TDC, seeds=len(ours))
    found = weighed(made, {("boyan", GTD2): ours, ("boyan", TDC): theirs})
    return found.winner("boyan", "rmspbe", "auc")
