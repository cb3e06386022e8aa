"""All problems of a comparison at once: each lane's area as a share of its start, over problems with equal weight."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.experiment.comparison import ALPHA, Comparison, tidy
from dgtd.harness.experiment.experiment import Entrant
from dgtd.harness.judging.statistics import Interval, iqm_interval, paired


@dataclass(frozen=True)
class Improvement:
    """How often B's share is below A's on the same seed and problem, ties counted half."""

    a: str
    b: str
    chance: Interval


@dataclass(frozen=True)
class Across:
    """shares   contestant → [problems, lanes]; infinity for a lane that diverged."""

    shares: dict[str, Floats]
    middles: dict[str, Interval]
    improvements: list[Improvement]

    def profile(self, label: str, levels: Floats) -> Floats:
        """The share of lanes at or below each level, problems weighing the same."""
        return (self.shares[label][..., None] <= levels).mean((0, 1))

    def levels(self) -> Floats:
        """From the smallest share to the largest that is finite."""
        values = np.concatenate([each.ravel() for each in self.shares.values()])
        fine = values[np.isfinite(values)]
        return np.geomspace(max(fine.min(), 1e-12), max(fine.max(), 1e-12), 200) if len(fine) else np.ones(1)


def across(found: Comparison) -> Across | None:
    """None if there is one problem only; returns of two worlds have no common scale."""
    experiment = found.experiment
    if len(experiment.places) < 2 or experiment.seeds < 2 or experiment.in_worlds:
        return None
    shares = {who.label: np.stack([_shares(found, problem, who) for problem in experiment.places])
              for who in experiment.entrants}  # fmt: skip
    middles = {label: iqm_interval(values, ALPHA) for label, values in shares.items()}
    # Clopper and Pearson's interval: chances that differ between problems only make the sum of wins less variable.
    flat = {label: tidy(values.ravel()) for label, values in shares.items()}
    chances = {(a, b): paired(flat[b], flat[a], ALPHA).better for a, b in combinations(shares, 2)}
    return Across(shares, middles, [Improvement(*pair, chance) for pair, chance in chances.items()])


def _shares(found: Comparison, problem: str, who: Entrant) -> Floats:
    """Areas over the height at which the lane started: forms that start elsewhere are compared by how they fall."""
    score = found.experiment.score(problem)
    (entry,) = [each for each in found.at(problem) if each.who == who]
    start = entry.of(score.metric)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = entry.tested / start
    return np.where(np.isnan(share), np.inf, share)


def as_dict(found: Across | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "score": "area under RMSPBE as a share of the lane's start; problems weigh the same",
        "iqm": {label: each.bounds for label, each in found.middles.items()},
        "improvement": [{"a": each.a, "b": each.b, "b_lower": each.chance.bounds} for each in found.improvements],
    }
