"""A claim as a picture: its curve with the fit, or its estimate beside the margin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness.judging.ledger import Entry
from harness.judging.verdicts import Finding

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def draw_all(entries: list[Entry], folder: Path, progress: Callable[[int, int], None]) -> list[Path]:
    """One PNG per claim that has a finding, named after its id."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for i, entry in enumerate(entries):
        progress(i, len(entries))
        if entry.finding is not None:
            path = folder / (entry.claim.id.replace("/", "__").replace("=", "-") + ".png")
            _draw(entry, entry.finding, path)
            drawn.append(path)
    return drawn


def _draw(entry: Entry, finding: Finding, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    if "x" in finding.evidence:
        _curve(axis, finding.evidence, entry.claim.id.endswith(("exponent", "exact-operator")))
    else:
        _gauge(axis, finding)
    # Wrapping takes two dollars for a formula even with parse_math=False, so they are escaped.
    axis.set_title(f"{entry.status}: {entry.claim.says}".replace("$", r"\$"), fontsize=9, wrap=True)
    figure.text(0.01, 0.005, finding.words[:110], fontsize=7, color=GREY, parse_math=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _curve(axis: Any, evidence: dict[str, Any], power_law: bool) -> None:
    x, y = np.asarray(evidence["x"], dtype=float), np.asarray(evidence["y"], dtype=float)
    shown = np.isfinite(y) & (x > 0)
    axis.plot(x[shown], y[shown], "o-", color=BLUE, label=evidence["y_name"])
    positive = shown & (y > 0)
    if power_law and positive.sum() >= 2:
        slope, level = np.polyfit(np.log(x[positive]), np.log(y[positive]), 1)
        axis.plot(x[positive], np.exp(level) * x[positive] ** slope, "--", color=ORANGE, label=f"fit: n^{slope:.2f}")
    axis.set(xlabel=evidence["x_name"], ylabel=evidence["y_name"], xscale="log")
    if positive.sum() == shown.sum() and positive.any() and y[positive].max() > 5 * y[positive].min():
        axis.set_yscale("log")
    axis.legend(fontsize=8)


def _gauge(axis: Any, finding: Finding) -> None:
    low, high = finding.low, finding.high
    axis.errorbar(
        [finding.estimate], [0], xerr=[[finding.estimate - low], [high - finding.estimate]], fmt="o", color=BLUE
    )
    axis.axvline(finding.margin, color=ORANGE, ls="--", label=f"margin {finding.margin:.3g}")
    numbers = [v for v in (finding.estimate, finding.margin) if np.isfinite(v)]
    if len(numbers) == 2 and min(numbers) > 0 and max(numbers) > 100 * min(numbers):
        axis.set_xscale("log")
    axis.set(xlabel="estimate, with its interval", yticks=[])
    axis.legend(fontsize=8)
