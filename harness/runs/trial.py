"""A trial: lanes simulated at a place, with what was measured of them. What cohorts store and claims look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.checks import Floats, Integers
from algorithms.fast.linear import LinearEngine
from harness.runs.learning import Learning
from harness.runs.spec import FAR

# Lanes run in slices of about this many seconds: compiled code hears neither an alarm nor Ctrl-C.
SLICE, SLICE_STEPS = 0.25, 1000


def gone(size: Floats, far: float = FAR) -> NDArray[np.bool_]:
    """[checkpoints, lanes]: which lanes have diverged by then, from the RMS of their values [checkpoints, lanes].

    A lane has diverged once that is not finite, or far beyond its start (or beyond `far`, if it started near 0).
    """
    with np.errstate(invalid="ignore"):
        beyond = ~np.isfinite(size) | (size > far * np.maximum(size[:1], 1.0))
    return np.maximum.accumulate(beyond, axis=0)


@dataclass(frozen=True)
class Trial:
    """times [checkpoints]; curves [checkpoints, lanes, metrics]; died [lanes], the step of an overflow or −1.

    law   [lanes, n]: the last prediction at the most visited state, of a distributional learner
          [lanes, states · actions · n]: of an agent, at the probe's states
    """

    times: Integers
    curves: Floats
    died: Integers
    names: tuple[str, ...]
    law: Floats

    def of(self, name: str) -> Floats:
        """One metric, [checkpoints, lanes]."""
        return self.curves[..., self.names.index(name)]

    def diverged(self, far: float = FAR) -> NDArray[np.bool_]:
        """[lanes]: overflowed, not finite at the end, or ever far beyond the start.

        In a world, what is not known since no episode has ended yet is not lost.
        """
        known = np.isfinite(self.curves[-1]).all(-1)
        if "episodes" in self.names:
            known |= (self.of("episodes")[-1] == 0) & np.isfinite(self.of("w_norm")[-1])
        lost = (self.died >= 0) | ~known
        return lost | gone(self.of("size"), far)[-1] if "size" in self.names else lost


def simulate(learning: Learning, seeds: range, tick: Callable[[], None] = lambda: None) -> Trial:
    """Run lanes from checkpoint to checkpoint; `tick` is called several times a second, and may raise to stop."""
    learner, times = learning.spec.learner, learning.spec.times()
    options = _options(learning)
    state = learning.start(seeds)
    curves = np.full((len(times), len(seeds), len(learning.names)), np.nan)
    length = SLICE_STEPS
    for i, t in enumerate(times):
        while (left := int(t) - state.steps) > 0:
            start = time.perf_counter()
            learning.engine.run(state, min(length, left), learner.alpha, learner.beta, **options)
            seconds = time.perf_counter() - start
            length = max(1, int(length * min(2.0, SLICE / max(seconds, 1e-6))))
            tick()
        averaged = learner.average and t > 0
        theta, w = (state.theta_mean, state.w_mean) if averaged else (state.theta, state.w)
        curves[i] = learning.measure(theta, w)
        tick()
    law = np.zeros((len(seeds), 0))
    if learning.target.form:
        law = learning.predictions(theta)[:, int(np.argmax(learning.mdp.d))].copy()
    return Trial(times, curves, state.died, learning.names, law)


def warm_up(learning: Learning, seeds: range) -> None:
    """One step of lanes that are thrown away: what has to be compiled is compiled before a clock is read."""
    learner = learning.spec.learner
    learning.engine.run(learning.start(seeds), 1, learner.alpha, learner.beta, **_options(learning))


def _options(learning: Learning) -> dict[str, Any]:
    learner = learning.spec.learner
    radius = np.inf if learner.radius is None else learner.radius
    options: dict[str, Any] = {"schedule": learner.schedule.make(), "radius": radius}
    if isinstance(learning.engine, LinearEngine):
        options |= {"average": learner.average, "extragradient": learner.extragradient}
    return options
