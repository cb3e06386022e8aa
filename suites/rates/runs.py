"""What claims about rates share: places, their saddle-point problems, runs of the averaged, projected iterate."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from algorithms.checks import Floats
from algorithms.rule import Rule
from harness.judging.claims import Setting
from harness.oracle.saddle import Saddle
from harness.plugins import find_problem
from harness.runs.lanes import Lanes
from harness.runs.spec import Request
from suites.means import request

SOURCE = "Proposition 2, corrected (docs/reading-the-paper.md, 1–4)"
PLACES = {
    "random_walk": ("random_walk", "value", 0),
    "random_walk_dependent": ("random_walk_dependent", "value", 0),
    "random_mdp": ("random_mdp(gamma=0.5)", "value", 0),
    "random_walk-cdf": ("random_walk", "cdf", 4),
    "random_walk_dependent-cdf": ("random_walk_dependent", "cdf", 5),
    "random_mdp-cdf": ("random_mdp(gamma=0.5)", "cdf", 5),
}
WHERE = PLACES | {"boyan": ("boyan", "value", 0)}
# The walk with a behaviour policy that goes left with this chance, where π does with 0.4: ρ of a step to the right.
FAR = {"rho=1.2": 0.5, "rho=3": 0.8, "rho=12": 0.95}
WHERE |= {f"random_walk-{name}": (f"random_walk(left={left})", "value", 0) for name, left in FAR.items()}


@lru_cache(maxsize=32)
def saddle_of(place: str) -> Saddle:
    """The saddle-point problem of a place, on balls a tenth larger than the solution needs."""

    name, kind, atoms = WHERE[place]
    problem = find_problem(name)
    return Saddle(problem.mdp.with_(weights=problem.mdp.d), problem.target(kind, atoms or 21), slack=1.1)


def runs_of(
    rule: Rule, place: str, horizons: list[int], lanes: int, setting: Setting, *, extragradient: bool = False,
    average: bool = True, step: float | None = None,
) -> list[Request]:  # fmt: skip
    """Err of the averaged, projected iterate; each horizon is a run of its own, with its step.

    `step` holds it constant, and average=False judges the last iterate: what a control does.
    """
    saddle, (problem, target, atoms) = saddle_of(place), WHERE[place]
    made = []
    for n in horizons:
        size = saddle.step(n) if step is None else step
        made.append(
            request(
                rule,
                problem,
                lanes,
                setting,
                "rates",
                (n,),
                size,
                size,
                metrics=("err",),
                iid=True,
                axes=(("horizon", n),),
                target=target,
                atoms=atoms or 21,
                radius=saddle.R,
                start="zeros",
                average=average,
                extragradient=extragradient,
            )
        )
    return made


def errors_of(evidence: list[Lanes]) -> tuple[list[int], Floats]:
    """Horizons, and Err [lanes, horizons]."""
    return [int(trial.times[-1]) for trial in evidence], np.stack([trial.of("err")[-1] for trial in evidence], axis=1)


def shown(horizons: list[int], errors: Floats, name: str = "median Err of the average") -> dict[str, Any]:
    return {"x": horizons, "y": np.median(errors, axis=0).tolist(), "x_name": "n, steps", "y_name": name}
