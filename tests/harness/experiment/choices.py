"""`python -m tests.harness.experiment.choices`: do the exact and the sampled sweep choose step sizes that are as good?

On the problems of `dgtd compare`, with its grid: the sampled sweep chooses by 16 lanes per setting, the exact one by
the area under √E MSPBE. What is compared is the exact area at both choices.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dgtd.harness.experiment.exact import Setting, column_jobs, map_of
from dgtd.harness.experiment.experiment import Entrant, Experiment
from dgtd.harness.experiment.search import Grid
from dgtd.harness.runs.driver import execute
from dgtd.harness.runs.executors import InProcess
from dgtd.harness.runs.rule_files import reference
from dgtd.harness.runs.store import Store

STEPS = {"baird": 20_000, "boyan": 20_000, "random_walk": 20_000, "grid_world": 2_000}
RULES = ("gtd2", "tdc")
MARGIN = 0.02


@dataclass(frozen=True)
class Chosen:
    """(α, β) of both sweeps, and the exact area at each."""

    sampled: tuple[float, float]
    exact: tuple[float, float]
    sampled_area: float
    exact_area: float

    @property
    def loss(self) -> float:
        """How much larger the exact area is at what the sampled sweep chose."""
        return self.sampled_area / self.exact_area - 1


def chosen(problem: str, rule: str, steps: int, folder: Path, seed: int = 0, grid: Grid | None = None) -> Chosen:
    """Both sweeps of a rule's values on a problem."""
    who, grid = Entrant(reference(rule), "value"), grid or Grid()
    contest = Experiment((problem,), (who,), steps=steps, grid=grid, root_seed=seed)
    setting = Setting(problem, steps=steps)
    jobs = column_jobs(who.rule, setting, grid)
    with Store(folder / f"{problem}-{rule}-{seed}.sqlite") as store:
        execute(contest.sweep_requests(), store, InProcess, jobs=jobs)
        sampled = contest.choose(store)[problem, who].best
        found = map_of(grid, [store.job(job.hash)[1] for job in jobs])
    at = found.area.ravel()[grid.points().index(sampled)]
    return Chosen(sampled, found.best, float(at), float(np.min(found.area)))


def main() -> int:
    """One line each; 1 if any loses more than the margin."""
    worst, begin = 0.0, time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for problem, steps in STEPS.items():
            for rule in RULES:
                found = chosen(problem, rule, steps, Path(folder))
                worst = max(worst, found.loss)
                at, best = ("α = {:g}, β = {:g}".format(*pair) for pair in (found.sampled, found.exact))
                print(
                    f"{rule} on {problem}, {steps:,} steps: sampled {at}, exact area {found.sampled_area:.4g}; "
                    f"exact {best}, {found.exact_area:.4g}: {found.loss:.2%} more",
                    flush=True,
                )
    print(f"at most {worst:.2%} more; {time.process_time() - begin:.0f} s of processor time")
    return int(not worst < MARGIN)


if __name__ == "__main__":
    sys.exit(main())
