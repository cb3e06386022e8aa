"""`python -m tests.suites.margins 100 103`: what the stability suite's margins are decided on, seeds of their own.

For each place and rule: the largest growth of a lane's RMS value, and the largest geometric mean of the objective's end
over its start.
"""

import sys

import numpy as np

from dgtd.algorithms.targets import target_class
from dgtd.harness.judging.claims import Setting
from dgtd.harness.runs.trainers.trainer import train, trainer_of
from dgtd.suites.stability.lanes import RULES, STEPS, Watched

LANES = 64


def measured(lanes: Watched, seed: int) -> tuple[float, float]:
    """(growth, fall) of one run."""
    trial = train(trainer_of(lanes.run(Setting("ci", seed)).spec), range(LANES))
    size, curve = trial.of("size"), trial.of(target_class(lanes.target).objective)
    fall = np.log(np.maximum(curve[-1] / curve[0], 1e-300)).mean()
    return float((size.max(0) / np.maximum(size[0], 1.0)).max()), float(np.exp(fall))


if __name__ == "__main__":
    first, last = (int(word) for word in sys.argv[1:3])
    for problem, steps in STEPS.items():
        for target in ("value", "cdf"):
            for rule in RULES:
                for alpha, beta in steps:
                    lanes = Watched(rule, problem, target, alpha, beta)
                    found = np.array([measured(lanes, seed) for seed in range(first, last)])
                    growth, fall = found.max(0)
                    print(f"{lanes.id}: growth {growth:.3g}, fall {fall:.3g}", flush=True)
