"""A trial: lanes simulated on a place, with what was measured of them. What cohorts store and claims look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers
from algorithms.engines.linear import LinearEngine
from algorithms.stepping import Schedule
from harness.oracle.metrics import Metrics
from harness.runs.spec import FAR


def gone(size: Floats, far: float = FAR) -> NDArray[np.bool_]:
    """[checkpoints, lanes]: which lanes have diverged by then, from the RMS of their values [checkpoints, lanes].

    A lane has diverged once that is not finite, or far beyond its start (or beyond `far`, if it started near 0).
    """
    with np.errstate(invalid="ignore"):
        beyond = ~np.isfinite(size) | (size > far * np.maximum(size[:1], 1.0))
    return np.maximum.accumulate(beyond, axis=0)


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
        return (self.died >= 0) | ~np.isfinite(self.curves[-1]).all(-1) | gone(self.of("size"), far)[-1]


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
        curves[i] = metrics.of_linear(snapshot.theta_mean[0] if average and t > 0 else snapshot.theta[0])
        tick()
    return Trial(times, curves, state.died, metrics.names)
