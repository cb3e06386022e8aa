"""A problem: a FiniteMDP, where it comes from, its distributional lift, and what is exactly true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from algorithms.checks import Floats
from algorithms.digest import digest
from algorithms.fast.module import ModuleEngine
from algorithms.rules import gtd2
from algorithms.targets import Target, ValueTarget, target_class
from harness.oracle.mdp import FiniteMDP
from harness.oracle.metrics import Score
from harness.oracle.objectives import Objective, module

ATOMS = 21
AREA = Score("rmspbe", "auc", "area under RMSPBE")  # tested, with winners


@dataclass(frozen=True)
class Problem:
    """What suites and the command line know of a problem.

    support   a range that holds every return and a little more: where the lift's atoms lie
    network   for a nonlinear problem, a function that makes its torch module (inputs: one-hot states)
    drawing   an ASCII picture, for problems that have a layout
    """

    mdp: FiniteMDP
    summary: str
    source: str
    support: tuple[float, float]
    network: Callable[[], Any] | None = None
    drawing: str = ""
    learner: ClassVar[str] = "linear"  # unless a predictor is named, or it has a network of its own
    acts: ClassVar[bool] = False
    rising: ClassVar[tuple[str, ...]] = ()

    @property
    def returns(self) -> tuple[float, float]:
        return self.support

    @cached_property
    def identity(self) -> str:
        """The arrays behind simulator and evaluator; a network of its own by its source."""
        mdp = self.mdp
        arrays = (
            asdict(mdp.transitions), mdp.gamma, mdp.behaviour, mdp.target, mdp.features, mdp.theta_initial, mdp.start,
            mdp.weights,
        )  # fmt: skip
        return digest(arrays, self.support, self.network)

    @property
    def name(self) -> str:
        """The problem's name."""
        return self.mdp.name

    @property
    def scores(self) -> tuple[Score, ...]:
        """What is tested, then what is described."""
        return (AREA, Score("rmspbe", "final", "RMSPBE at the end"), Score("rmsve", "final", "value error at the end"))

    def target(self, kind: str = "value", atoms: int = ATOMS, projection: str = "cramer") -> Target:
        """The value target, or the CDF target of the lift."""
        return target_class(kind).over(self.support, atoms, projection)

    def theta_initial(self, target: Target) -> Floats:
        """[n, k]: θ₀ of a linear predictor; a lift starts from the same mean."""
        return target.start(self.mdp.theta_initial, self.mdp.features)


def facts_of(problem: Problem) -> dict[str, Any]:
    """Sizes, distribution, values, the linear problem's matrices, and the objectives where the predictor starts."""
    mdp = problem.mdp
    facts: dict[str, Any] = {
        "name": problem.name,
        "states": mdp.states,
        "actions": mdp.actions,
        "features": mdp.features.shape[1],
        "gamma": mdp.gamma,
        "d": mdp.d,
        "v": mdp.v,
    }
    if problem.network is None:
        values = mdp.features @ mdp.theta_initial
        eigenvalues = sorted(np.linalg.eigvals(mdp.A), key=lambda z: (z.real, z.imag))
        facts |= {
            "theta_initial": mdp.theta_initial,
            "theta_td": mdp.theta_td,
            "eigenvalues_A": [(float(z.real), float(z.imag)) for z in eigenvalues],
        }
        mspbe = mdp.mspbe(mdp.theta_initial)
    else:
        engine = ModuleEngine(gtd2, problem.network())
        predictor = module(engine, np.eye(mdp.states))
        theta = np.concatenate([p.detach().numpy().ravel() for p in engine.module.parameters()])
        values = predictor(theta)[:, 0]
        facts |= {"features": predictor.size, "theta_initial": theta, "theta_td": None, "eigenvalues_A": None}
        mspbe = Objective(mdp, ValueTarget(), predictor).value(theta)
    msve = mdp.msve(values)
    return facts | {
        "mspbe_initial": max(mspbe, 0.0),
        "rmspbe_initial": float(np.sqrt(max(mspbe, 0.0))),
        "msve_initial": msve,
        "rmsve_initial": float(np.sqrt(msve)),
    }
