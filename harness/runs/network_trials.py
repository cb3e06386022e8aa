"""Simulated lanes of networks, with exact numbers along the way: the objective, or the error of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers
from algorithms.engines.loop import run
from algorithms.engines.mlp import MlpEngine
from algorithms.experience.table import Sampler
from algorithms.rule import Rule
from algorithms.stepping import Schedule
from algorithms.streams import generators, lane_streams
from algorithms.targets import Target
from harness.oracle.mdp import FiniteMDP
from harness.oracle.metrics import Metrics
from harness.oracle.objectives import Objective, flat, mlp


@dataclass(frozen=True)
class Descent:
    """[checkpoints, lanes]: J(θ_t), ‖∇J(θ_t)‖, and ‖w_t − w*(θ_t)‖_C; `rank` of E Σφφᵀ at the start, of `size`."""

    times: Integers
    J: Floats
    gradient: Floats
    w_gap: Floats
    died: Integers
    rank: int
    size: int


def descend(
    rule: Rule,
    mdp: FiniteMDP,
    target: Target,
    *,
    lanes: int,
    times: Integers,
    alpha: float,
    beta: float,
    schedule: Schedule,
    radius: float,
    seed: int,
    hidden: tuple[int, ...] = (),
    inputs: Floats | None = None,
) -> Descent:
    """A table of pinned logits, or a network with `hidden` layers on `inputs` [states, k], projected onto a ball.

    The last state is the origin and the bias its row, so that a table has one row of logits per state and none too
    many: E Σφφᵀ is then nonsingular, as Theorem 2 asks.
    """
    if inputs is None:
        inputs = np.eye(mdp.states)[:, : mdp.states - 1]
    engine = MlpEngine(rule, (inputs.shape[1], *hidden), target, pinned=True)
    theta = [0.5 * part for part in engine.init(generators(seed, range(lanes), purpose="start"))]
    w = engine.zeros(theta)
    objective = Objective(mdp, target, mlp(engine, inputs))
    size, rank = objective.predictor.size, objective.rank(flat(theta))
    sampler = Sampler(mdp.table, lane_streams(seed, range(lanes), problem=mdp.name, purpose="descent"))
    curves = run(
        engine, theta, w, sampler, inputs, target, int(times[-1]), alpha, beta,
        schedule=schedule, radius=radius, snapshots=times,
    )  # fmt: skip
    J, slope, gap = (np.full((len(times), lanes), np.nan) for _ in range(3))
    for i, (at, aux) in enumerate(zip(curves.theta, curves.w, strict=True)):
        for lane in range(lanes):
            point = flat(at, lane)
            if not np.isfinite(point).all():
                continue
            J[i, lane] = objective.value(point)
            slope[i, lane] = np.linalg.norm(objective.gradient(point))
            gap[i, lane] = objective.distance_to_optimal_w(point, flat(aux, lane))
    return Descent(curves.steps, J, slope, gap, curves.died, rank, size)


def follow(
    rule: Rule,
    mdp: FiniteMDP,
    target: Target,
    hidden: tuple[int, ...],
    streams: NDArray[np.uint64],
    times: Integers,
    alpha: float,
    beta: float,
    seed: int,
) -> Floats:
    """[checkpoints, lanes]: RMSPBE, in the problem's own features, of what a network on one-hot states predicts."""
    inputs = np.eye(mdp.states)
    engine = MlpEngine(rule, (mdp.states, *hidden), target)
    theta = engine.init(generators(seed, range(len(streams)), purpose="start"))
    curves = run(
        engine, theta, engine.zeros(theta), Sampler(mdp.table, streams), inputs, target, int(times[-1]), alpha, beta,
        snapshots=times,
    )  # fmt: skip
    metrics, x = Metrics(mdp, target), torch.eye(mdp.states, dtype=torch.float64).expand(len(streams), -1, -1)
    with torch.no_grad(), np.errstate(all="ignore"):
        return np.stack([metrics.rmspbe(target.mean(engine.predict(at, x).numpy())) for at in curves.theta])
