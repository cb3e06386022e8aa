"""What an agent's lanes have earned in a world: returns, how long they took, and what was chosen for them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from algorithms.checks import Floats, Integers
from harness.compare.agents import shown
from harness.compare.contest import settled_lanes
from harness.runs.acting import NAMES
from harness.runs.spec import Outcome, RunSpec
from harness.runs.store import Store

LAST = 0.2  # the share of all steps over which the final return is the mean: one number per lane, and it is tested


@dataclass(frozen=True)
class Entrant:
    """An agent by name; a published one has a target of its own."""

    name: str
    target: str

    @property
    def label(self) -> str:
        """As tables and legends show it."""
        return shown(self.name, self.target)


@dataclass(frozen=True)
class Sweep:
    """rate → mean final return of the sweep's lanes that did not diverge, and how many did; empty without a choice."""

    best: float
    means: dict[float, float]
    lost: dict[float, int] = field(default_factory=dict)

    @property
    def on_edge(self) -> bool:
        """Whether a better rate may lie outside."""
        return len(self.means) > 1 and self.best in (min(self.means), max(self.means))


@dataclass(frozen=True)
class Earned:
    """Lanes in a world. Returns, what episodes were thought to be worth and were, and how many had ended: [lanes,
    checkpoints]. NaN before the first episode has ended, and from where a lane diverged.

    final, area   [lanes]: means over the last fifth and over all, −∞ for lanes that diverged
    law           [lanes, states · actions · n]; nothing for a value
    """

    returns: Floats
    thought: Floats
    worth: Floats
    episodes: Floats
    final: Floats
    area: Floats
    law: Floats
    diverged: int
    seconds: float


def earned(store: Store, spec: RunSpec, seeds: int) -> Earned:
    """From the store."""
    lanes = settled_lanes(store, spec, seeds)
    returns, thought, worth, episodes = (
        np.stack([lane.curves[:, NAMES.index(name)] for lane in lanes])
        for name in ("return", "value", "earned", "episodes")
    )
    late = spec.times() > (1 - LAST) * spec.probe.steps
    lost = np.array([lane.outcome is Outcome.DIVERGED for lane in lanes])
    ends = np.array([lane.died if lane.died >= 0 else spec.probe.steps for lane in lanes])
    gone = lost[:, None] & (spec.times() >= ends[:, None])
    if not (lost | (episodes[:, -1] > 0)).all():
        name = f"{spec.learner.rule.name} on {spec.place.problem}"
        raise ValueError(f"a lane of {name} finished no episode within {spec.probe.steps} steps: take more")
    final, area = (np.where(lost, -np.inf, _known(part)) for part in (returns[:, late], returns[:, 1:]))
    returns, thought, worth = (np.where(gone, np.nan, part) for part in (returns, thought, worth))
    law, seconds = np.stack([lane.law for lane in lanes]), sum(lane.seconds for lane in lanes)
    return Earned(returns, thought, worth, episodes, final, area, law, int(lost.sum()), seconds)


def _known(curves: Floats) -> Floats:
    """[lanes]: means over the checkpoints at which something is known; NaN if there is none."""
    known = np.isfinite(curves)
    with np.errstate(invalid="ignore"):
        return np.where(known, curves, 0.0).sum(1) / known.sum(1)


@dataclass(frozen=True)
class Earnings:
    """What an agent earned in a world, at the rate that was chosen."""

    world: str
    who: Entrant
    sweep: Sweep
    times: Integers
    lanes: Earned
    microseconds: float

    @property
    def final(self) -> Floats:
        """[lanes]: what is tested."""
        return self.lanes.final

    @property
    def deviation(self) -> float:
        """The standard deviation of the final return over lanes; NaN if a lane diverged."""
        return float("nan") if self.lanes.diverged else float(self.final.std(ddof=1))

    def steps_to(self, threshold: float) -> Floats:
        """[lanes]: the first checkpoint whose return is at least so much; ∞ if none is, or if the lane diverged."""
        there = (self.lanes.returns >= threshold) & (self.times > 0) & np.isfinite(self.final)[:, None]
        return np.where(there.any(1), self.times[there.argmax(1)], np.inf)

    def over_episodes(self, count: int = 50) -> tuple[Integers, Floats]:
        """(episodes, returns [lanes, episodes]) as far as every lane has come; between checkpoints, straight lines."""
        at = np.unique(np.linspace(1, max(self.lanes.episodes[:, -1].min(), 1), count).astype(int))
        there = np.isfinite(self.lanes.returns) & (self.lanes.episodes > 0)
        lanes = [
            (ended[known], one[known])
            for ended, one, known in zip(self.lanes.episodes, self.lanes.returns, there, strict=True)
        ]
        nowhere = np.full(len(at), np.nan)  # beyond where a lane diverged nothing is known
        return at, np.stack([np.interp(at, *one, right=np.nan) if one[0].size else nowhere for one in lanes])
