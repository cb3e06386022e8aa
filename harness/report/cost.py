"""The picture of cost: work and time of a step against the number of parameters, engines, peers and controls.

python -m dgtd.harness.report.cost docs/cost.png
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rules import gtd2
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.targets import CdfTarget
from dgtd.harness.cost import peers
from dgtd.harness.cost.fits import interleaved
from dgtd.harness.cost.peers import Maker, Network
from dgtd.harness.cost.work import count, count_touches
from dgtd.harness.plugins import find_problem

SIZES = (4, 12, 32, 100, 320, 1000, 3100)  # units of each of two hidden layers
# Name, maker, most parameters, colour (Okabe and Ito's), marker.
SERIES: tuple[tuple[str, Maker, float, str, str], ...] = (
    ("backprop + SGD, eager", peers.backprop, 2e7, "#777777", "s"),
    ("distributional GTD2, mlp engine", partial(peers.mlp_step, gtd2), 2e7, "#0072B2", "o"),
    ("distributional GTD2, module engine", partial(peers.module_step, gtd2), 2e7, "#56B4E9", "^"),
    ("control: explicit Jacobian", peers.explicit_jacobian, 2e6, "#E69F00", "v"),
    ("control: explicit Hessian", peers.explicit_hessian, 3e3, "#D55E00", "D"),
)


def draw(path: Path) -> None:
    """Two panels, log-log: exact operations, and the fastest of several rounds of wall time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 4.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, make, most, colour, marker in SERIES:
        networks = [n for n in (Network(16, (h, h), 51) for h in SIZES) if n.size <= most]
        if name.endswith("Hessian"):
            networks = [Network(4, (h,), 3) for h in (8, 20, 60, 160, 370)]
        calls = [make(network).call for network in networks]
        for call in calls:
            call()
        sizes = [network.size for network in networks]
        style = {"color": colour, "marker": marker, "ms": 5, "lw": 1.6, "label": name}
        left.plot(sizes, [count(call).total for call in calls], **style)
        right.plot(sizes, 1e3 * interleaved(calls, 5).min(0), **style)
    _linear(left, right)
    ends = [100, 1e7]
    left.plot(ends, [12 * d for d in ends], ls=":", color="#999999", lw=1, zorder=0)
    left.annotate("12 d", (2e6, 12 * 2e6), xytext=(4, -12), textcoords="offset points", fontsize=8, color="#777777")
    left.set(xlabel="parameters d", ylabel="operations per step (exact count)", xscale="log", yscale="log")
    right.set(xlabel="parameters d", ylabel="milliseconds per step (fastest of 5 rounds)", xscale="log", yscale="log")
    for axis in (left, right):
        axis.grid(alpha=0.25)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.suptitle("Cost of one step, batch 1, 51 atoms, one thread", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _linear(left: Any, right: Any) -> None:
    """The linear engine, 50 outputs: elements its source touches, and its time for one lane."""
    target, features = CdfTarget(-1, 1, 51), (8, 32, 100, 1000, 10_000, 100_000)
    calls = []
    for k in features:
        table = find_problem("random_mdp(states=3, features=2)").mdp.table
        engine = LinearEngine(gtd2, table, np.random.default_rng(0).normal(size=(3, k)) / k, target)
        state = engine.start(np.zeros((target.outputs, k)), lane_streams(0, range(1)))
        calls.append(partial(engine.run, state, max(10, 100_000 // k), 1e-9, 1e-9, threads=1))
        calls[-1]()
    seconds = interleaved(calls, 5).min(0) / [max(10, 100_000 // k) for k in features]
    style = {"color": "#009E73", "marker": "P", "ms": 5, "lw": 1.6, "label": "distributional GTD2, linear engine"}
    right.plot([target.outputs * k for k in features], 1e3 * seconds, **style)
    counted = features[:4]
    left.plot([target.outputs * k for k in counted], [count_touches(gtd2, target, k) for k in counted], **style)


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    draw(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/cost.png"))
