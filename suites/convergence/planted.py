"""Controls without a learner: curves that are written down, and that the judges of the limits must not let pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgtd.algorithms.checks import Floats
from dgtd.harness.judging.claims import Claim, Setting
from dgtd.harness.judging.verdicts import Finding, Verdict, exactly
from dgtd.harness.runs.lanes import Lanes
from dgtd.suites.convergence.falls import SOURCE
from dgtd.suites.convergence.limits import decades, network_is_near, slope_is_negative

LANES, STEPS, STALL = 64, 1_000_000, 10_000


def controls() -> list[Claim]:
    """A curve that stalls, and lanes that die."""
    says: dict[str, tuple[str, Callable[[Setting], Finding]]] = {
        "slope/stalled": (f"a J that fell like 1/t up to step {STALL:,} and rises since, taken to fall", stalls),
        "limit/lost-lanes": ("a gradient that is small in the eighth of lanes that lived, taken for all", lanes_die),
    }
    return [
        Claim(id=f"convergence/control/{name}", says=words, source=SOURCE, check=check, control=True, seeded=False)
        for name, (words, check) in says.items()
    ]


def trial(**curves: Floats) -> Lanes:
    """Lanes whose metrics are known, each [checkpoints, lanes]."""
    values = np.stack([*curves.values()], axis=-1)
    return Lanes(decades(STEPS), values, np.full(LANES, -1), tuple(curves), np.zeros((LANES, 0)))


def fallen(until: int, after: float) -> Floats:
    """1/t up to a step and t^after from then on, in lanes that differ a little in height."""
    t = np.maximum(decades(STEPS), 1).astype(float)
    height = np.where(t <= until, 1.0 / t, (t / until) ** after / until)
    return height[:, None] * np.linspace(0.9, 1.1, LANES)


def stalls(setting: Setting) -> Finding:
    """Over all steps its slope is negative, over the last two decades it is not."""
    height = fallen(STALL, 0.1)
    tilt = np.maximum(decades(STEPS), 1)[:, None] ** np.linspace(-0.01, 0.01, LANES)  # slopes that differ by lane
    return known(slope_is_negative("J", [trial(J=height * tilt)], setting))


def lanes_die(setting: Setting) -> Finding:
    """Seven of eight lanes are not numbers at the end; the others fell as far as one can wish."""
    gradient, still = fallen(STEPS, 0.0), np.ones((len(decades(STEPS)), LANES))
    gradient[-1, np.arange(LANES) % 8 > 0] = np.nan
    lanes = trial(gradient=gradient, rank=23 * still, condition=1e6 * still)
    return known(network_is_near("gradient", [lanes], setting))


def known(found: Finding) -> Finding:
    """The judge's verdict as an exact one: nothing was sampled, so there is no false alarm."""
    return exactly(float(found.verdict is Verdict.FAIL), 0.0, found.words)
