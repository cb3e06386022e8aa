"""What is exactly true of a problem, as `dgtd problem show` prints it."""

from __future__ import annotations

from typing import Any

import numpy as np

from algorithms.fast.module import ModuleEngine
from algorithms.rules import gtd2
from algorithms.targets import ValueTarget
from harness.oracle.objectives import Objective, module
from harness.oracle.problem import Problem


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
