"""The sweep behind Figure 3's rates: every agent at the same rates, on a root seed that no verdict uses.

    python -m dgtd.suites.control.sweep cartpole-v1
    python -m dgtd.suites.control.sweep LunarLander-v3

What it finds is written into the panels of `dgtd.suites.control.figure_three`, by hand: they are four numbers.
"""

import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from dgtd.algorithms.names import look_up
from dgtd.harness.judging.claims import Setting
from dgtd.harness.judging.ledger import Workshop
from dgtd.harness.runs.executors import executor_maker
from dgtd.harness.runs.store import Store
from dgtd.suites.control.figure_three import PANELS, SHOWN, Panel
from dgtd.suites.returns import final_returns

SEED, LANES = 103, 10


def swept(panel: Panel, workshop: Workshop) -> dict[str, dict[float, float]]:
    """agent → rate → the mean return over the last fifth of the steps."""
    setting = Setting("full", SEED)
    pairs = list(product(panel.chosen, panel.rates))
    needs = {pair: panel.run(*pair, setting, sweep=True, lanes=LANES) for pair in pairs}
    workshop.gather(needs.values())
    means = {pair: float(final_returns(workshop.evidence(need)).mean()) for pair, need in needs.items()}
    return {name: {rate: means[name, rate] for rate in panel.rates} for name in panel.chosen}


def table(panel: Panel, found: dict[str, dict[float, float]]) -> str:
    """A line for each agent, its best rate last."""
    lines = [f"{panel.short}, {LANES} lanes, {panel.steps:,} steps, root seed {SEED}"]
    for name, means in found.items():
        each = ", ".join(f"{rate:g}: {mean:.0f}" for rate, mean in means.items())
        lines.append(f"{SHOWN[name]}: {each}; best at {max(means, key=lambda rate: means[rate]):g}")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    panel = look_up("panel", words[0] if words else "", {each.short: each for each in PANELS if each.chosen})
    with TemporaryDirectory() as folder, Store(Path(folder) / "sweep.sqlite") as store:
        print(table(panel, swept(panel, Workshop(store, executor_maker("pool", None, None)))))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ValueError as error:
        sys.exit(str(error))
