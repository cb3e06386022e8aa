"""Small agents in worlds, and what a cohort of them gives."""

import math
from pathlib import Path

from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.runs.checkpoints import FOLDER, Keeper
from dgtd.harness.runs.spec import PredictorSpec, RunSpec
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.trainers.trainer import train

LANES = 3
NETWORK = PredictorSpec("mlp", (8, 8), "relu")
# The ring is full before the end, a frozen copy is renewed often, w has Adam's state where there is a w.
SETTINGS = {"begin": 64, "batch": 16, "capacity": 300, "explore_steps": 300, "w_optimiser": "adam"}
AGENTS = ("dqn", "c51", "greedy_gq(0.5)")


def agent(name: str, world: str = "cartpole-v0", steps: int = 700, lanes: int = LANES, **rest) -> RunSpec:
    frozen = {} if "gq" in name else {"frozen": 100}
    made = agent_learner(name, world, alpha=1e-3, atoms=11, predictor=NETWORK, cohort=lanes, **SETTINGS | frozen | rest)
    return run_spec(world, made, steps)


def keeper(folder: Path, said: list[str], name: str = "x", **label) -> Keeper:
    """Of a checkpoint that is written at every look at the clock."""
    (folder / "s.sqlite").touch()
    path = folder / f"s.sqlite{FOLDER}" / f"{name}.checkpoint"
    return Keeper(path, {"run": "a run", "seeds": [0, LANES]} | label, 0.0, said.append)


class KilledError(Exception):
    """What a tick raises."""


def cohort(spec: RunSpec, kept: Keeper | None = None, ticks: float = math.inf):
    """(what a cohort gives, how often the clock was looked at); stopped before that many ticks, if so."""
    seen = 0

    def tick():
        nonlocal seen
        seen += 1
        if seen > ticks:
            raise KilledError

    trial = train(Acting.of(spec), range(spec.learner.cohort), tick, kept)
    return trial.curves.tobytes() + trial.died.tobytes() + trial.law.tobytes(), seen
