"""Figure 1: policy iteration on CartPole, GTD2 and TDC against their distributional forms; right, the law Z(s, a).

The paper gives neither step sizes nor activation, replay or length. So every rule and form is compared at the setting
that a search chose for it (`dgtd.suites.policy_iteration.search`), on lanes that the search has not seen.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.streams import generator
from dgtd.algorithms.targets import CdfTarget, cramer_distance
from dgtd.harness.experiment.search import learner_at, run_spec
from dgtd.harness.judging.claims import FULL, Claim, Judge, Need, Setting
from dgtd.harness.judging.statistics import median_interval, paired
from dgtd.harness.judging.verdicts import Finding, below
from dgtd.harness.places.cartpole import CartPole
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request, RunSpec
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.harness.runs.work import Job
from dgtd.suites.policy_iteration import search
from dgtd.suites.policy_iteration.search import STEPS, V0, V1, Form, chosen, shown
from dgtd.suites.returns import NO_ODDS, SMALLER, final_returns, varies_less

SOURCE = "Figure 1"
LANES, COHORT = 30, 10
TENTHS = 10  # of the steps: what a lane's path is looked at in


def claims() -> list[Claim]:
    """What the paper says of the figure, on both worlds; and the search."""
    more, early = "earns more than", "earns more in the first fifth of the steps than"
    varies, rises = f"has at most {SMALLER:g} of the variance over seeds of", "rises more steadily than"
    said: list[tuple[str, Form, Form, str, Judge]] = [
        ("gtd2-over-distributional-tdc", ("gtd2", "cdf"), ("tdc", "cdf"), more, earns_more),
        ("gtd2-over-gtd2", ("gtd2", "cdf"), ("gtd2", "value"), more, earns_more),
        ("tdc-over-tdc", ("tdc", "cdf"), ("tdc", "value"), more, earns_more),
        ("tdc-early-lead", ("tdc", "cdf"), ("gtd2", "cdf"), early, earns_more_early),
    ]
    for rule in RULES:
        said.append((f"{rule}-varies-less", (rule, "cdf"), (rule, "value"), varies, deviates_less))
        said.append((f"{rule}-rises-more-steadily", (rule, "cdf"), (rule, "value"), rises, rises_more_steadily))
    made = [figure(world, *each) for world in (V0, V1) for each in said]
    return [*made, *right(), *search.claims()]


# ---------------------------------------------------------------------- what the paper says


def figure(world: str, name: str, first: Form, second: Form, says: str, judge: Judge) -> Claim:
    """One statement, on paired lanes, each form at the point that its search chose."""

    def needs(setting: Setting) -> list[Need]:
        return [at_its_best(form, world, setting) for form in (first, second)]

    id_, what = f"policy_iteration/{world}/distributional-{name}", f"{shown(*first)} {says} {shown(*second)} on {world}"
    return Claim(id_, what, SOURCE, needs=needs, judge=judge, figure=True, profiles=FULL)


def at_its_best(form: Form, world: str, setting: Setting) -> Request:
    """Thirty lanes, ten for a quick look, on worlds and exploration that all forms share; not those of the search."""
    made = learner_at(chosen(form), *form, world, cohort=COHORT)
    lanes = COHORT if setting.profile == "ci" else LANES
    return Request(run_spec(world, made, STEPS, setting.seed, "figure 1"), setting.lanes(lanes))


def early_returns(trial: Lanes) -> Floats:
    """[lanes]: the mean return over the first fifth of the steps."""
    early = (trial.times > 0) & (trial.times <= 0.2 * trial.times[-1])
    return trial.of("return")[early].mean(0)


def steadiness(trial: Lanes) -> Floats:
    """[lanes]: the rise from a lane's first tenth to its last, as a share of all ways up and down between tenths.

    1 for a path that only rises, 0 for one that ends where it began, −1 for one that only falls.
    """
    parts = np.array_split(trial.of("return")[trial.times > 0], TENTHS)
    path = np.array([part.mean(0) for part in parts])
    ways = np.abs(np.diff(path, axis=0)).sum(0)
    return np.where(ways > 0, (path[-1] - path[0]) / np.where(ways > 0, ways, 1.0), 0.0)


def compare(measure: Callable[[Any], Floats], what: str, trials: list[Any], setting: Setting) -> Finding:
    """The chance that a lane of the first form has less than its pair: below a half if the first has more."""
    first, second = map(measure, trials)
    found = paired(-second, -first, setting.false_alarm)  # of losses: what diverged has less than all
    words = f"chance that a lane {what}; means {first.mean():.3g} and {second.mean():.3g}"
    return below(found.better, 0.5, setting.false_alarm, words, NO_ODDS)


earns_more = partial(compare, final_returns, "earns less in the last fifth")
earns_more_early = partial(compare, early_returns, "earns less in the first fifth")
rises_more_steadily = partial(compare, steadiness, "rises less steadily")


def deviates_less(trials: list[Lanes], setting: Setting) -> Finding:
    """Of the return over the last fifth. What has learnt nothing varies little: the means are said, too."""
    first, second = map(final_returns, trials)
    return varies_less(first, second, f"; means {first.mean():.0f} and {second.mean():.0f}", setting)


class EveryStep(Evaluators):
    """A control: the policy is what has been learnt so far."""

    def close(self, ended: NDArray[np.bool_], epsilon: float) -> None:
        """As if every step ended an evaluation."""
        super().close(ended, epsilon)
        self.policy[:] = self.theta


def every_step() -> Iterator[Claim]:
    """Of both rules on values, at the settings that were chosen for frozen policies."""
    how = f"with a policy that is frozen for 20 episodes than with one that changes at every step, on {V0}"
    source = "ours; the paper evaluates a policy for 20 episodes"
    for rule in RULES:
        id_, says = f"policy_iteration/{V0}/{rule}-frozen-over-every-step", f"{shown(rule, 'value')} earns more {how}"
        needs = partial(both, rule)
        yield Claim(id_, says, source, needs=needs, judge=frozen_earns_more, figure=True, profiles=FULL)


def both(rule: str, setting: Setting) -> list[Need]:
    """The lanes of Figure 1, and the same lanes with a policy that changes all the time."""
    frozen = at_its_best((rule, "value"), V0, setting)
    return [frozen, *per_cohort(returns, frozen)]


def returns(spec: str, first: int, lanes: int) -> list[float]:
    """[lanes]: the mean return over the last fifth, of lanes whose policy is never frozen."""
    run = Iterating.of(RunSpec.from_json(spec))
    walk, times, earned = Walk(run, range(first, first + lanes), EveryStep), run.spec.times(), []
    for t in times:
        while walk.steps < t:
            walk.step()
        seen = walk.book.close(walk.lanes.w[:, 0])[:, 0]  # the first column is the return
        if t > 0.8 * times[-1]:
            earned.append(seen)
    return np.mean(earned, axis=0).tolist()


def frozen_earns_more(evidence: list[Any], setting: Setting) -> Finding:
    frozen, *others = evidence
    pair = [final_returns(frozen), np.concatenate(others)]
    return compare(np.asarray, "earns less in the last fifth", pair, setting)


# ---------------------------------------------------------------------- right: the law, against Monte Carlo
#
# A lane's last evaluation is carried to its end: what is learnt by then is of the policy that was frozen for it, and
# that very policy, with its exploration, is followed from the same state and action many times.

RULES = ("gtd2", "tdc")
ROLLOUTS = 400  # per lane
NEAR = 0.25  # of ∫(F − G)² at the first weights; set before a law was looked at
Evidence = dict[str, Any]


def right() -> Iterator[Claim]:
    """One per distributional form."""
    for rule in RULES:
        says = (
            f"{shown(rule, 'cdf')}'s law of Z(s, a) upright is near Monte-Carlo returns of the policy it "
            f"evaluates: learning leaves {NEAR:.0%} of ∫(F − G)² or less on {V0}"
        )
        id_, needs = f"policy_iteration/{V0}/distributional-{rule}-law", partial(jobs, rule)
        yield Claim(id_, says, f"{SOURCE}, right", needs=needs, judge=near, figure=True, profiles=FULL)


def jobs(rule: str, setting: Setting) -> list[Need]:
    """One for each cohort of the form's lanes."""
    return per_cohort(laws, at_its_best((rule, "cdf"), V0, setting))


def per_cohort(function: Callable[..., Any], asked: Request) -> list[Need]:
    """The function of each cohort of the lanes asked for."""
    spec, size = asked.spec.to_json(), asked.spec.learner.cohort
    firsts = range(0, asked.seeds, size)
    return [Job.of(function, spec=spec, first=first, lanes=min(size, asked.seeds - first)) for first in firsts]


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
