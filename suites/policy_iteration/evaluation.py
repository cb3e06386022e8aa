"""A policy is evaluated as it is frozen, evaluation has the right fixed point, and TDC learns: decided in a minute."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dgtd.algorithms import rules
from dgtd.algorithms.agents import Evaluators
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.fast.network_batches import BatchLearner, Lesson, Update
from dgtd.algorithms.fast.small import SmallEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.targets import CdfTarget, Target
from dgtd.harness.experiment.search import iterating_learner, learner_at, run_spec
from dgtd.harness.judging.claims import Claim, Need, Setting
from dgtd.harness.judging.statistics import proportion_interval
from dgtd.harness.judging.verdicts import Finding, below, exactly, largest, unlikely
from dgtd.harness.oracle.mdp import FiniteMDP
from dgtd.harness.oracle.returns import projected_law
from dgtd.harness.plugins import find_problem
from dgtd.harness.runs.lanes import Lanes
from dgtd.harness.runs.spec import Request
from dgtd.harness.runs.trainers.policy_iteration import Iterating, Walk
from dgtd.harness.runs.work import Job
from dgtd.suites.control.learning import LEARNS
from dgtd.suites.policy_iteration.figure_one import SOURCE, EveryStep
from dgtd.suites.policy_iteration.search import V0, chosen, shown
from dgtd.suites.returns import final_returns

EVALUATED = "§ Experimental result"
FINITE, ATOMS = "finite_cartpole", 30
EXACT = 1e-9  # of the mean step at the start; rounding is at 1e-14
LANES, STEPS = 36, 8_000  # on root seeds 0 to 19 no lane of TDC earned less than LEARNS
STILL = 1e-12  # β of a w that never moves
LANES_AT_ONCE = 32  # where a mean step is summed up over all outcomes
EXPLORE, WALK = 0.3, 600  # how much the walk behind `next-action` explores, and its steps


def claims() -> list[Claim]:
    """Which policy and which action, where evaluation rests, and that something is learnt; each with its controls."""
    made = [frozen(3), frozen(20), frozen(3, "every-step"), drawn(), drawn("greedy-next")]
    for name in ("gtd2", "tdc"):
        made += [fixed_point(name, kind) for kind in ("value", "cramer", "nearest")]
    made += [fixed_point("tdc", kind, fault) for kind in ("value", "cramer") for fault in FAULTS]
    return [*made, learns("tdc"), learns("gtd2", "w-never-moves")]


# ---------------------------------------------------------------------- which policy, which action


def frozen(episodes: int, fault: str = "") -> Claim:
    """A lane's policy changes after so many of its episodes, and at no other time."""
    own = f"the policy under evaluation is frozen for {episodes} episodes of its lane, and then is what was learnt"
    says = "a policy that follows θ at every step is frozen" if fault else own
    id_ = "policy_iteration/control/every-step/frozen" if fault else f"policy_iteration/frozen/{episodes}"
    return Claim(id_, says, EVALUATED, partial(changes_out_of_turn, episodes, fault), control=bool(fault))


def changes_out_of_turn(episodes: int, fault: str, setting: Setting) -> Finding:
    """Steps of four lanes at which a policy changed and was not to, or was to and did not become θ."""
    made = iterating_learner("tdc", V0, cohort=4, episodes=episodes)
    run = Iterating.of(run_spec(V0, made, 1, setting.seed, "frozen"))
    walk = Walk(run, range(4), EveryStep if fault else Evaluators)
    ended, wrong, turns = np.zeros(4, dtype=int), 0, 0
    while turns < 4 or walk.steps < 400:
        before, length = walk.lanes.policy.copy(), walk.book.length.copy()
        walk.step()
        over = walk.book.length <= length
        ended += over
        due = over & (ended % episodes == 0)
        expected = np.where(due[:, None, None], walk.lanes.theta, before)
        wrong += int((walk.lanes.policy != expected).any(axis=(1, 2)).sum())
        turns += int(due.sum())
    return exactly(wrong, 0, f"changes out of turn in {walk.steps} steps of 4 lanes with {turns} improvements")


def drawn(fault: str = "") -> Claim:
    """The next action of a transition comes from the policy under evaluation, exploration included."""
    own = "what is bootstrapped from is drawn from the ε-greedy policy under evaluation"
    says = "an evaluation that bootstraps from the greedy action draws it from the policy" if fault else own
    id_ = f"policy_iteration/control/{fault}/next-action" if fault else "policy_iteration/next-action"
    needs = Job.seeded(next_actions, fault=fault)
    return Claim(id_, says, EVALUATED, needs=needs, judge=as_often_as_the_policy, control=bool(fault))


class Counting(Evaluators):
    """Lanes that count how often the next action of a lesson is not the greedy one."""

    other, total = 0, 0

    def learn(self, lesson: Lesson, alpha: float, beta: float, radius: float, now: int) -> None:
        on = lesson.discount[:, 0] > 0
        following = lesson.x_next[:, 0, -self.actions :].argmax(1)
        self.other += int((following != self.greedy(lesson))[on].sum())
        self.total += int(on.sum())
        super().learn(lesson, alpha, beta, radius, now)

    def greedy(self, lesson: Lesson) -> Any:
        """[lanes]: what the policy prefers where the transitions led."""
        return self.values(np.ascontiguousarray(lesson.x_next[:, 0, : -self.actions])).argmax(1)


class GreedyNext(Counting):
    """A control: it acts by the policy, and bootstraps from the greedy action."""

    def learn(self, lesson: Lesson, alpha: float, beta: float, radius: float, now: int) -> None:
        """With another next action."""
        x_next = self.inputs(lesson.x_next[:, 0, : -self.actions], self.greedy(lesson))
        super().learn(lesson._replace(x_next=x_next[:, None]), alpha, beta, radius, now)


def next_actions(seed: int, fault: str) -> list[int]:
    """(next actions that were not greedy, all) along ten lanes."""
    made = iterating_learner("tdc", V0, "cdf", cohort=10, explore=(EXPLORE, EXPLORE))
    walk = Walk(Iterating.of(run_spec(V0, made, 1, seed, "next action")), range(10), GreedyNext if fault else Counting)
    for _ in range(WALK):
        walk.step()
    assert isinstance(walk.lanes, Counting)
    return [walk.lanes.other, walk.lanes.total]


def as_often_as_the_policy(evidence: list[list[int]], setting: Setting) -> Finding:
    """Each step's draw is its own, whatever happened before: a binomial count."""
    other, total = evidence[0]
    p = float(binomtest(other, total, EXPLORE / 2).pvalue)
    words = f"p of {other} actions that are not greedy among {total}, where the policy has a share of {EXPLORE / 2:g}"
    return unlikely(p, setting.false_alarm, total, words)


# ---------------------------------------------------------------------- the fixed point

FAULTS = {
    "greedy-next": "an evaluation whose next action is greedy",
    "through-the-end": "an evaluation that bootstraps through a fall",
}


def fixed_point(name: str, kind: str, fault: str = "") -> Claim:
    """The mean step of policy iteration's own kernel vanishes at the oracle's answer."""
    what = "the action values" if kind == "value" else f"the fixed point of the operator projected with {kind}"
    of = f"policy_iteration/control/{fault}/{kind}" if fault else f"policy_iteration/{FINITE}/{kind}/{name}"
    says = f"{FAULTS[fault] if fault else f'evaluation by {name.upper()}'} rests at {what} on the finite CartPole"
    check = partial(step_at_the_answer, name, kind, fault)
    return Claim(f"{of}/fixed-point", says, "Theorem 2; ours", check, control=bool(fault), seeded=False)


def step_at_the_answer(name: str, kind: str, fault: str, setting: Setting) -> Finding:
    """The largest part of the mean step there, as a share of that from a table of zeros."""
    problem = find_problem(FINITE)
    walked = find_problem(f"{FINITE}(explore=0)").mdp if fault == "greedy-next" else problem.mdp
    target = problem.target("value") if kind == "value" else problem.target("cdf", ATOMS, kind, linear=False)
    answer = table_of(exact_rows(problem.mdp, target))
    through = fault == "through-the-end"
    there, start = (
        largest(*map(np.abs, mean_step(rules.find_rule(name), walked, target, theta, through)))
        for theta in (answer, np.zeros_like(answer))
    )
    return exactly(there / start, EXACT, "the mean step at the oracle's answer, as a share of that at the start")


def exact_rows(mdp: FiniteMDP, target: Target) -> Floats:
    """[pairs, n]: values, or pinned logits of the projected law."""
    if not isinstance(target, CdfTarget):
        return mdp.v[:, None]
    mass = np.diff(projected_law(mdp, target).cdf, axis=1, prepend=0.0, append=1.0)
    logs = np.log(np.maximum(mass, 1e-30))  # a mass of 0 has no logit
    return np.asarray(logs[:, :-1] - logs[:, -1:])


def table_of(rows: Floats) -> Floats:
    """θ [1, d] of a table whose pairs have these rows: differences to the last, and the last as the bias."""
    return np.concatenate([rows[:-1] - rows[-1], rows[-1:]]).reshape(1, -1)


def mean_step(
    rule: Rule, mdp: FiniteMDP, target: Target, theta: Floats, through: bool = False
) -> tuple[Floats, Floats]:
    """E[Δθ] and E[Δw] at θ and w = 0 for steps of size 1: a lane per outcome, weighed by how often it happens."""
    table, inputs = mdp.table, np.eye(mdp.states)[:, :-1]
    learner = BatchLearner(SmallEngine(rule, (mdp.states - 1,), target, pinned=isinstance(target, CdfTarget)))
    discount = np.full(len(table.state), mdp.gamma) if through else table.discount
    total, total_w = np.zeros_like(theta), np.zeros_like(theta)
    for first in range(0, len(table.state), LANES_AT_ONCE):  # a table for each outcome: all of them are half a gigabyte
        some = slice(first, first + LANES_AT_ONCE)
        x, x_next = inputs[table.state[some]], inputs[table.next_state[some]]
        x, x_next, reward, left, rho = (
            part[:, None] for part in (x, x_next, table.reward[some], discount[some], table.rho[some])
        )
        after = np.repeat(theta[None], len(x), axis=0)
        w, ones = np.zeros_like(after), np.ones(len(x))
        update = Update(ones, ones, 0.0, np.inf, 0, np.full(len(x), -1), np.empty((len(x), 1)))
        learner.learn(after, w, Lesson(x, x_next, reward, left, rho), update)
        total += np.einsum("o,oij->ij", mdp.mass[some], after - theta)
        total_w += np.einsum("o,oij->ij", mdp.mass[some], w)
    return total, total_w


def learns(name: str, fault: str = "") -> Claim:
    """It earns more than random actions do."""
    rule = shown(name, "value")
    says = f"{rule} learns on {V0}: half of its lanes earn {LEARNS:g} or more after {STEPS:,} steps; random actions 22"
    id_ = f"policy_iteration/control/{fault}/learns" if fault else f"policy_iteration/{V0}/{name}/learns"
    says, needs = f"{rule} whose w never moves learns" if fault else says, partial(at_its_point, name, bool(fault))
    return Claim(id_, says, SOURCE, needs=needs, judge=half_learn, control=bool(fault))


def at_its_point(name: str, still: bool, setting: Setting) -> list[Need]:
    """Lanes at the point that the rule's search chose."""
    made = learner_at(chosen((name, "value")), name, "value", V0, cohort=LANES)
    made = replace(made, beta=STILL) if still else made
    return [Request(run_spec(V0, made, STEPS, setting.seed, "learns"), LANES)]


def half_learn(trials: list[Lanes], setting: Setting) -> Finding:
    """The share of lanes that do not: of returns that are 10 or 200, a mean says less."""
    final = final_returns(trials[0])
    idle = proportion_interval(int((final < LEARNS).sum()), len(final), 2 * setting.false_alarm)
    words = f"share of lanes that earn less than {LEARNS:g}; median return {np.median(final):.0f}"
    return below(idle, 0.5, setting.false_alarm, words)
