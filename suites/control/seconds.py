"""What a distribution costs per update of an agent, and what the correction adds, by the clock. Part of `control`.

Exact counts of a step's work are in the suite `cost`. A replayed batch is one compiled pass, which counts nothing, so
this is time: two agents in turn, in one process, not in ci.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dgtd.algorithms.replay import Replay
from dgtd.algorithms.streams import generator, lane_streams
from dgtd.harness.cost.fits import interleaved
from dgtd.harness.experiment.search import agent_learner, run_spec
from dgtd.harness.judging.claims import FULL, Claim, Setting
from dgtd.harness.judging.statistics import exponential, mean_interval
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.runs.trainers.agent import Acting
from dgtd.harness.runs.work import Job

SOURCE = "Remark 2; Algorithm 3"
PLACE, LANES, BATCH, ATOMS = "cartpole-v1", 10, 32, 40
AGENTS = {"dqn": ("dqn", "value"), "c51": ("c51", "cdf"), "value": ("greedy_gq(0.5)", "value"),
          "cdf": ("greedy_gq(0.5)", "cdf")}  # fmt: skip
GROUPS, ROUNDS = 24, 6  # the fastest of six rounds is hardly disturbed by a busy machine; 24 such are the data
# name: the first agent's time over the second's, at most so much
RATIOS = {
    "c51-over-dqn": ("c51", "dqn", 5.0, f"an update of C51 with {ATOMS} atoms takes at most 5 × DQN's time"),
    "law-over-value": ("cdf", "value", 5.0, f"{ATOMS} atoms cost Greedy-GQ(0.5) at most 5 × a value's time per update"),
    "greedy-gq-over-c51": ("cdf", "c51", 2.0, "distributional Greedy-GQ(0.5) takes at most 2 × C51's time per update"),
}


def claims() -> Iterator[Claim]:
    times = Job.seeded(measured, alone=True)
    for name, (first, second, most, says) in RATIOS.items():
        judge = partial(ratio_of_times, first, second, most)
        yield Claim(f"control/seconds/{name}", says, SOURCE, needs=times, judge=judge, profiles=FULL)


def measured(seed: int) -> dict[str, Any]:
    """Seconds per lane-update [groups, agents], in turn; `seed` names a repeat."""
    calls = [updates(*agent) for agent in AGENTS.values()]
    times = interleaved(calls, GROUPS * ROUNDS).reshape(GROUPS, ROUNDS, -1).min(1) / LANES
    return {"agents": list(AGENTS), "seconds": times.tolist()}


def updates(name: str, target: str) -> Any:
    """An update of every lane: draw from replay, shift, rule, gradients, optimisers."""
    made = agent_learner(name, PLACE, target, 1e-5, 1e-5, ATOMS, batch=BATCH)
    players = Acting.of(run_spec(PLACE, made, 100)).players(range(LANES))
    replay, rng = Replay(lane_streams(0, range(LANES)), 500, 4), generator(0, suite="control", which="seconds")
    for _ in range(500):
        x, x_next = rng.normal(size=(2, LANES, 4)).astype(np.float32)
        replay.add(x, rng.integers(2, size=LANES), np.ones(LANES), rng.choice([0.0, 0.99], LANES), x_next)
    return lambda: players.learn(replay.draw(BATCH), 1)


def ratio_of_times(first: str, second: str, most: float, evidence: list[Any], setting: Setting) -> Finding:
    """The geometric mean over groups of rounds."""
    times = dict(zip(evidence[0]["agents"], np.array(evidence[0]["seconds"]).T, strict=True))
    ratio = exponential(mean_interval(np.log(times[first] / times[second]), setting.false_alarm))
    micros = [1e6 * times[name].min() for name in (first, second)]
    words = f"ratio of times; {micros[0]:.0f} and {micros[1]:.0f} µs per lane and update, fastest"
    return below(ratio, most, setting.false_alarm, words)
