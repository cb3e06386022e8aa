"""Figure 1, right: the law Z(s, a) that policy iteration learns for CartPole upright and at rest, against Monte Carlo.

A lane's last evaluation is carried to its end: what is learnt by then is of the policy that was frozen for it, and that
very policy, with its exploration, is followed from the same state and action many times.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.streams import generator
from dgtd.algorithms.targets import CdfTarget, cramer_distance
from dgtd.harness.judging.claims import FULL, Claim, Need, Setting
from dgtd.harness.judging.statistics import median_interval
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.runs.spec import Request, RunSpec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.harness.runs.work import Job
from dgtd.suites.policy_iteration.search import V0, shown

SOURCE = "Figure 1, right"
RULES = ("gtd2", "tdc")
ROLLOUTS = 400  # per lane
NEAR = 0.25  # of ∫(F − G)² at the first weights; set before a law was looked at
Evidence = dict[str, Any]


def claims(lanes: Any) -> list[Claim]:
    """One per distributional form; `lanes` says which lanes of Figure 1 a form has in a setting."""
    made = []
    for rule in RULES:
        says = (
            f"{shown(rule, 'cdf')}'s law of Z(s, a) upright is near Monte-Carlo returns of the policy it "
            f"evaluates: learning leaves {NEAR:.0%} of ∫(F − G)² or less on {V0}"
        )
        id_, needs = f"policy_iteration/{V0}/distributional-{rule}-law", partial(jobs, lanes, rule)
        made.append(Claim(id_, says, SOURCE, needs=needs, judge=near, figure=True, profiles=FULL))
    return made


def jobs(lanes: Any, rule: str, setting: Setting) -> list[Need]:
    """One for each cohort of the form's lanes."""
    return per_cohort(laws, lanes((rule, "cdf"), V0, setting))


def per_cohort(function: Callable[..., Any], asked: Request) -> list[Need]:
    """The function of each cohort of the lanes asked for."""
    spec, size = asked.spec.to_json(), asked.spec.learner.cohort
    firsts = range(0, asked.seeds, size)
    return [Job.of(function, spec=spec, first=first, lanes=min(size, asked.seeds - first)) for first in firsts]


# ---------------------------------------------------------------------- the evidence


class Closing(Evaluators):
    """Lanes that keep what they have learnt, of which policy, when the first evaluation after `listen()` is over."""

    open: NDArray[np.bool_] | None = None

    def listen(self) -> None:
        self.open = np.ones(len(self.theta), dtype=np.bool_)
        self.learnt, self.evaluated, self.explored = self.theta.copy(), self.policy.copy(), self.epsilon.copy()

    def close(self, ended: NDArray[np.bool_], epsilon: float) -> None:
        if self.open is not None:
            due = self.open & (self.seen + ended >= self.episodes)
            self.learnt[due], self.evaluated[due] = self.theta[due], self.policy[due]
            self.explored[due] = self.epsilon[due]
            self.open &= ~due
        super().close(ended, epsilon)


def laws(spec: str, first: int, lanes: int, rollouts: int = ROLLOUTS) -> Evidence:
    """CDFs [lanes, atoms − 1] upright, for the policy's own action: learnt, at the first weights, and Monte Carlo's."""
    run = Iterating.of(RunSpec.from_json(spec))
    seeds = range(first, first + lanes)
    walk = Walk(run, seeds, Closing)
    kept = walk.lanes
    assert isinstance(kept, Closing)
    start = kept.theta.copy()
    for _ in range(run.spec.probe.steps):
        walk.step()
    kept.listen()
    while kept.open is not None and kept.open.any():
        walk.step()
    kept.policy[:], kept.epsilon[:] = kept.evaluated, kept.explored
    upright = np.zeros((lanes, run.world.observations))
    action = kept.values(upright).argmax(1)
    found, inputs = monte_carlo(run, kept, action, rollouts, first), kept.inputs(upright, action)[:, None]
    target = run.target
    assert isinstance(target, CdfTarget)
    return {
        "z": target.support.tolist(),
        "learnt": run.predicted(kept.learnt, inputs)[:, 0].tolist(),
        "start": run.predicted(start, inputs)[:, 0].tolist(),
        "sampled": on_atoms(found, target).tolist(),
        "mean": found.mean(1).tolist(),
    }


def monte_carlo(run: Iterating, lanes: Evaluators, action: Integers, rollouts: int, first: int) -> Floats:
    """[lanes, rollouts]: discounted returns of the policies from upright, after `action` [lanes]."""
    rows = len(action) * rollouts
    seeds = range(first * rollouts, first * rollouts + rows)
    world = run.world.make(run.streams(seeds, "monte carlo"))
    assert isinstance(world, CartPole)
    state = world.state()
    world.restore(state | {name: np.zeros_like(state[name]) for name in ("state", "age", "observation")})
    draws = generator(run.spec.root_seed, which="monte carlo", lane_seed=first)
    taken, alive, total, power = np.repeat(action, rollouts), np.ones(rows, dtype=np.bool_), np.zeros(rows), 1.0
    while alive.any():
        moved = world.step(taken)
        total += np.where(alive, power * moved.reward, 0.0)
        alive &= ~(moved.terminated | moved.truncated)
        power *= run.how.gamma
        taken = lanes.act(world.observation / run.scale, *draws.random((2, rows))).action
    return total.reshape(len(action), rollouts)


def on_atoms(values: Floats, target: CdfTarget) -> Floats:
    """[lanes, n]: the CDF of values [lanes, count], each split between its neighbours so that means stay."""
    edges = target.support[1:]
    return np.clip((edges - values[..., None]) / target.spacing, 0.0, 1.0).mean(1)


# ---------------------------------------------------------------------- the verdict


def joined(evidence: list[Evidence]) -> dict[str, Floats]:
    """Of all lanes; z is the same for all."""
    parts = {name: np.concatenate([each[name] for each in evidence]) for name in evidence[0] if name != "z"}
    return parts | {"z": np.array(evidence[0]["z"])}


def distances(found: dict[str, Floats]) -> tuple[Floats, Floats]:
    """[lanes]: of the law that was learnt from Monte Carlo's, and of the one at the first weights."""
    spacing = float(found["z"][1] - found["z"][0])
    after, before = (cramer_distance(found[name], found["sampled"], spacing) for name in ("learnt", "start"))
    return np.where(np.isfinite(after), after, np.inf), before


def near(evidence: list[Evidence], setting: Setting) -> Finding:
    """The median over lanes of the share of ∫(F − G)² that is left."""
    found = joined(evidence)
    after, before = distances(found)
    share = median_interval((after / before) ** 2, 2 * setting.false_alarm)
    words = (
        f"median share of ∫(F − G)² that is left; Cramér distance {np.median(after):.3f}, at the first weights "
        f"{np.median(before):.3f} (medians of {len(after)} lanes); Monte-Carlo mean {np.median(found['mean']):.2f}"
    )
    return below(share, NEAR, setting.false_alarm, words, distances=after.tolist())
