"""Return distributions of lanes, drawn: the median over seeds, and where most of them lie."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from algorithms.checks import Floats
from harness.report.readings import Reading


def law_quantiles(law: Floats) -> Floats:
    """[3, atoms]: the tenth, fiftieth and ninetieth percentile of laws [lanes, n]; the last atom is always at 1."""
    F = np.concatenate([law, np.ones((len(law), 1))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # where every lane diverged there is no percentile
        found: Floats = np.nanquantile(np.where(np.isfinite(F), F, np.nan), [0.1, 0.5, 0.9], axis=0)
    return found


def law_band(axis: Any, z: Floats, quantiles: Floats, style: dict[str, Any], label: str = "") -> Reading:
    """A step function and the band around it; returns what a page says of it."""
    low, middle, high = quantiles
    axis.step(z, middle, where="post", **style)
    axis.fill_between(z, low, high, step="post", color=style["color"], alpha=0.15, lw=0, gid=style["gid"])
    words = [f"{m:.3g} [{a:.3g}, {b:.3g}]" for a, m, b in zip(low, middle, high, strict=True)]
    return Reading(style["gid"], label or style["label"], z.tolist(), words)
