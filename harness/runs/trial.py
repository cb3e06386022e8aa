"""Simulated lanes of a linear predictor with their metrics: what cohorts store and sampled claims look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers
from algorithms.engines.linear import LinearEngine
from algorithms.stepping import Schedule
from harness.oracle.metrics import Metrics

FAR = 1e6  # a lane whose RMS value passes this multiple of its start has diverged, finite or not


@dataclass(frozen=True)
class Trial:
    """times [checkpoints]; curves [checkpoints, lanes, metrics]; died [lanes], the step of an overflow or −1."""

    times: Integers
    curves: Floats
    died: Integers
    names: tuple[str, ...]

    def of(self, name: str) -> Floats:
        """One metric, [checkpoints, lanes]."""
        return self.curves[..., self.names.index(name)]

    def diverged(self, far: float = FAR) -> NDArray[np.bool_]:
        """[lanes]: overflowed, not finite at the end, or ever far beyond the start."""
        size = self.of("size")
        with np.errstate(invalid="ignore"):
            beyond = np.nanmax(size, axis=0) > far * np.maximum(size[0], 1.0)
        return (self.died >= 0) | ~np.isfinite(self.curves[-1]).all(-1) | beyond


def simulate(
    engine: LinearEngine,
    metrics: Metrics,
    theta: Floats,
    streams: NDArray[np.uint64],
    times: Integers,
    alpha: float,
    beta: float,
    *,
    schedule: Schedule | None = None,
    radius: float = np.inf,
    average: bool = False,
    extragradient: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> Trial:
    """Run the lanes from checkpoint to checkpoint; `tick` is called at each, and may raise to stop."""
    state = engine.start(theta, streams)
    curves = np.full((len(times), len(streams), len(metrics.names)), np.nan)
    for i, t in enumerate(times):
        snapshot = engine.run(
            state,
            int(t) - state.steps,
            alpha,
            beta,
            schedule=schedule,
            radius=radius,
            snapshots=[t],
            average=average,
            extragradient=extragradient,
        )
        curves[i] = metrics(snapshot.theta_mean[0] if average and t > 0 else snapshot.theta[0])
        tick()
    return Trial(times, curves, state.died, metrics.names)
