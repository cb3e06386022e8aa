"""Lanes: what was measured of a run's seeds. A row of the store is one `Lane`; whoever judges or draws has `Lanes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.checks import Floats, Integers
from dgtd.harness.runs.spec import FAR, Outcome, Probe


def gone(size: Floats, far: float = FAR) -> NDArray[np.bool_]:
    """[checkpoints, lanes]: which lanes have diverged by then, from the RMS of their values [checkpoints, lanes].

    A lane has diverged once that is not finite, or far beyond its start (or beyond `far`, if it started near 0).
    """
    with np.errstate(invalid="ignore"):
        beyond = ~np.isfinite(size) | (size > far * np.maximum(size[:1], 1.0))
    return np.maximum.accumulate(beyond, axis=0)


@dataclass(frozen=True)
class Lane:
    """One seed's row: curves [checkpoints, metrics] and the last law [n], of float64; `died` as in `Lanes`."""

    seed: int
    outcome: Outcome
    died: int
    curves: Floats
    law: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Lanes:
    """times [checkpoints]; curves [checkpoints, lanes, metrics]; died [lanes], the step of an overflow or −1.

    law       [lanes, n]: the last prediction at the most visited state, of a distributional learner
              [lanes, states · actions · n]: of an agent, at the probe's states
    seconds   of the processor, for their steps; measuring is not counted
    """

    times: Integers
    curves: Floats
    died: Integers
    names: tuple[str, ...]
    law: Floats
    outcomes: tuple[Outcome, ...] = ()
    seconds: float = 0.0

    @staticmethod
    def of_rows(rows: Sequence[Lane], times: Integers, names: tuple[str, ...]) -> Lanes:
        """Of settled rows of one run."""
        return Lanes(
            times, np.stack([row.curves for row in rows], axis=1), np.array([row.died for row in rows]), names,
            np.stack([row.law for row in rows]), tuple(row.outcome for row in rows), sum(row.seconds for row in rows),
        )  # fmt: skip

    def rows(self, seeds: range, probe: Probe) -> list[Lane]:
        """A row per lane, with what became of it."""
        reached = np.zeros(len(seeds), dtype=bool)
        if "rmspbe" in self.names:
            reached = self.of("rmspbe")[-1] < probe.converged_below
        lost, each = self.diverged(probe.diverged_above), self.seconds / len(seeds)
        outcomes = np.where(lost, Outcome.DIVERGED, np.where(reached, Outcome.CONVERGED, Outcome.BUDGET_SPENT))
        return [
            Lane(seed, Outcome(outcomes[i]), int(self.died[i]), self.curves[:, i].copy(), self.law[i].copy(), each)
            for i, seed in enumerate(seeds)
        ]

    def of(self, name: str) -> Floats:
        """One metric, [checkpoints, lanes]."""
        return self.curves[..., self.names.index(name)]

    @property
    def lost(self) -> NDArray[np.bool_]:
        """[lanes]: which are stored as diverged; without stored outcomes, which have."""
        if not self.outcomes:
            return self.diverged()
        return np.array([outcome is Outcome.DIVERGED for outcome in self.outcomes])

    def diverged(self, far: float = FAR) -> NDArray[np.bool_]:
        """[lanes]: overflowed, not finite at the end, or ever far beyond the start.

        In a world, what is not known since no episode has ended yet is not lost.
        """
        known = np.isfinite(self.curves[-1]).all(-1)
        if "episodes" in self.names:
            known |= (self.of("episodes")[-1] == 0) & np.isfinite(self.of("w_norm")[-1])
        lost = (self.died >= 0) | ~known
        return lost | gone(self.of("size"), far)[-1] if "size" in self.names else lost
