"""`python -m tests.suites.planted 10 [FIRST]`: faults of a whole loop, each planted, each to be seen on every seed.

The loop is written out in numpy, so that a fault is one line of it. Without a fault it must agree with the exact
expectation, by the test of tests/suites/agreement.py; with one it must not. Γ has no exact curve: its expectation is a
sum over every path of a few steps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dgtd.algorithms.checks import Floats, Integers
from dgtd.algorithms.fast.linear import LinearEngine
from dgtd.algorithms.rule import Rule
from dgtd.algorithms.rules import gtd2, tdc
from dgtd.algorithms.stepping import Constant, project_ball
from dgtd.algorithms.streams import lane_streams
from dgtd.algorithms.table import Sampler, TransitionTable
from dgtd.harness.oracle.moments import Expected
from dgtd.suites.instrument.curves import TIMES, Case, exact_curve, weighed
from tests.suites.agreement import PILOT, Summary, countable, summary

LANES = 16_384
FALSE_ALARM = 1e-3  # of the whole command, for the loops without a fault
AVERAGED = Case("boyan", 0.2, 0.2, average=True)
LAST = Case("boyan", 0.05, 0.1)
SCHEDULED = Case("boyan", 0.5, 0.3, average=True, scheduled=True)
PROX = Case("random_walk", 0.2, 0.2, extragradient=True)
WALK = Case("random_walk", 0.1, 0.2)


@dataclass(frozen=True)
class Planted:
    """A fault, the case that must show it, and how many steps that takes."""

    fault: str
    rule: Rule
    case: Case
    until: int = TIMES[-1]


FAULTS = (
    Planted("the average is off by one step", gtd2, AVERAGED, 100),
    Planted("averages without their weights", gtd2, SCHEDULED),
    Planted("the sampler is biased by one per cent", gtd2, LAST),
    Planted("episodes start one state too far", gtd2, WALK, 100),
    Planted("the extragradient takes one sample twice", gtd2, PROX, 100),
    Planted("w steps before theta", gtd2, LAST, 100),
)


def loop(planted: Planted, faulty: bool, lanes: int, seed: int) -> Iterator[Floats]:
    """θ of the lanes, or their average, at each checkpoint."""
    fault, rule, case = planted.fault if faulty else "", planted.rule, planted.case
    _, mdp, schedule = case.place()
    table = _table(mdp.table, fault)
    sampler = Sampler(table, lane_streams(seed, range(lanes), problem=case.problem, purpose="planted"))
    alphas, betas = (schedule or Constant()).factors(0, planted.until)
    theta = np.tile(mdp.theta_initial, (lanes, 1))
    w, mean, mass = np.zeros_like(theta), np.zeros_like(theta), 0.0

    def field(point: tuple[Floats, Floats], outcome: Integers) -> tuple[Floats, Floats]:
        return value_field(rule, table, mdp.features, *point, outcome)

    for t in range(planted.until):
        alpha, beta = case.alpha * alphas[t], case.beta * betas[t]
        outcome, counted = sampler.draw(1)[0], theta
        g_theta, g_w = field((theta, w), outcome)
        if case.extragradient:
            again = outcome if fault == "the extragradient takes one sample twice" else sampler.draw(1)[0]
            counted = theta - alpha * g_theta
            g_theta, g_w = field((counted, w + beta * g_w), again)
        if fault == "w steps before theta":
            g_theta = field((theta, w + beta * g_w), outcome)[0]
        theta, w = theta - alpha * g_theta, w + beta * g_w
        if fault == "the average is off by one step":
            counted = theta
        weight = 1.0 if fault == "averages without their weights" else alpha
        mass += weight
        mean = mean + weight / mass * (counted - mean)
        if t + 1 in TIMES:
            yield (mean if case.average else theta)[:, None]


def value_field(
    rule: Rule, table: TransitionTable, X: Floats, theta: Floats, w: Floats, outcome: Integers
) -> tuple[Floats, Floats]:
    """(G_θ, G_w) [lanes, k] of a value on one transition per lane."""
    x, x_next = X[table.state[outcome]], X[table.next_state[outcome]]
    gamma = table.discount[outcome]
    u, following = (w * x).sum(1), gamma * (theta * x_next).sum(1)
    p, t, q = rule(table.reward[outcome] + following - (theta * x).sum(1), u, table.rho[outcome])
    return p[:, None] * x + (gamma * t)[:, None] * x_next, q[:, None] * x - rule.w_decay * w


def _table(right: TransitionTable, fault: str) -> TransitionTable:
    """The table, or one with the fault."""
    if fault == "the sampler is biased by one per cent":  # towards the first outcome of every state
        first = np.zeros(len(right.probability), dtype=bool)
        first[right.offsets[:-1]] = True
        chance = np.where(first, np.minimum(1.01 * right.probability, 1.0), right.probability)
        rest = np.add.reduceat(np.where(first, 0.0, chance), right.offsets[:-1])
        room = 1.0 - chance[right.offsets[:-1]]
        scale = np.divide(room, rest, out=np.ones_like(room), where=rest > 0)
        return replace(right, probability=np.where(first, chance, chance * scale[right.state]))
    if fault == "episodes start one state too far":
        return replace(right, start=np.roll(right.start, 1))
    return right


def _padded(found: Summary) -> Summary:
    """As many checkpoints as TIMES; those that were not run count for nothing."""
    missing = len(TIMES) - len(found.skew)

    def pad(values: Floats) -> Floats:
        return np.concatenate([values, np.zeros((missing, values.shape[1]))])

    evidence = {name: pad(found.evidence[name]) for name in ("means", "errors")} | {"lanes": found.evidence["lanes"]}
    return Summary(evidence, np.concatenate([found.skew, np.full((missing, found.skew.shape[1]), np.inf)]))


class Trap:
    """The test of one case, with what counts of it by a pilot; `lanes` are with or without the fault."""

    def __init__(self, planted: Planted, lanes: int, share: float) -> None:
        self.planted, self.lanes, self.share = planted, lanes, share
        self.exact = exact_curve(planted.rule, planted.case)
        self.counted = countable(self.run(False, PILOT), self.exact, share)

    def run(self, faulty: bool, seed: int) -> Summary:
        """The loop's numbers."""
        of = self.planted.case.numbers()
        return _padded(summary(of(theta) for theta in loop(self.planted, faulty, self.lanes, seed)))

    def p(self, faulty: bool, seed: int) -> tuple[float, str]:
        """The chance of such means where nothing is wrong, and the farthest in words."""
        return weighed(self.exact, self.run(faulty, seed).evidence, self.counted)

    def sees(self, faulty: bool, seed: int) -> bool:
        """Whether the test fails."""
        return self.p(faulty, seed)[0] <= self.share


# ---------------------------------------------------------------------- Γ


class Ball(Trap):
    """Γ binds from the first step on; the engine's lanes against the sum over all paths of ten steps."""

    STEPS, RADIUS = 10, 1.0

    def __init__(self, lanes: int, share: float) -> None:
        case = Case("boyan", 0.5, 0.5)
        self.planted, self.lanes, self.share = Planted("Γ is ignored", tdc, case, self.STEPS), lanes, share
        self.exact = self._over_paths()
        self.counted = countable(self.run(False, PILOT), self.exact, share)

    def run(self, faulty: bool, seed: int) -> Summary:
        """The engine, with the ball or without."""
        case, of = self.planted.case, self.planted.case.numbers()
        problem, mdp, _ = case.place()
        engine = LinearEngine(self.planted.rule, mdp.table, mdp.features, problem.target())
        streams = lane_streams(seed, range(self.lanes), problem=case.problem, purpose="planted")
        state = engine.start(mdp.theta_initial[None], streams)
        radius, found = np.inf if faulty else self.RADIUS, []
        for t in (t for t in TIMES if t <= self.STEPS):
            engine.run(state, t - state.steps, case.alpha, case.beta, radius=radius)
            found.append(of(state.theta))
        return _padded(summary(found))

    def _over_paths(self) -> Expected:
        """Every path of Boyan's chain, with its chance: steps of one or two states, and state 0 again after the end."""
        case, of = self.planted.case, self.planted.case.numbers()
        problem, mdp, _ = case.place()
        table = mdp.table
        (first,) = np.flatnonzero(table.start)
        state, chance = np.array([first]), np.ones(1)
        theta, w = np.array(mdp.theta_initial[None]), np.zeros((1, mdp.features.shape[1]))
        means: list[Any] = []
        for t in range(1, self.STEPS + 1):
            low, count = table.offsets[state], np.diff(table.offsets)[state]
            parent = np.repeat(np.arange(len(state)), count)
            outcome = np.concatenate([np.arange(a, a + n) for a, n in zip(low, count, strict=True)])
            chance, theta, w = chance[parent] * table.probability[outcome], theta[parent], w[parent]
            g_theta, g_w = value_field(tdc, table, mdp.features, theta, w, outcome)
            theta = np.stack([project_ball(each, self.RADIUS) for each in theta - case.alpha * g_theta])
            w = np.stack([project_ball(each, self.RADIUS) for each in w + case.beta * g_w])
            state = np.where(table.ends[outcome], first, table.next_state[outcome])
            if t in TIMES:
                means.append(chance @ of(theta[:, None]))
        states, rows = mdp.states, np.array(means)
        full = np.concatenate([rows, np.full((len(TIMES) - len(rows), rows.shape[1]), np.nan)])
        names = tuple(problem.target().metrics)
        return Expected(np.array(TIMES), full[:, :states].reshape(len(TIMES), states, 1), full[:, states:], names, -1)


def traps(seeds: int, lanes: int = LANES) -> list[Trap]:
    """One for each fault."""
    share = FALSE_ALARM / ((len(FAULTS) + 1) * seeds)
    return [*(Trap(planted, lanes, share) for planted in FAULTS), Ball(lanes, share)]


def main(seeds: int, first: int = 0) -> int:
    """Each fault on every seed, and the same loop without it; 1 if a fault is missed or a right loop fails."""
    begin, wrong = time.process_time(), 0
    for trap in traps(seeds):
        right, found = ([trap.p(faulty, seed) for seed in range(first, first + seeds)] for faulty in (False, True))
        alarms, seen = (sum(p <= trap.share for p, _ in each) for each in (right, found))
        wrong += alarms + seeds - seen
        weakest = max(found)[1].partition("the farthest is ")[2]
        print(f"{trap.planted.fault}: seen on {seen} of {seeds} seeds (at least {weakest}); without it {alarms} alarms")
    seconds = time.process_time() - begin
    print(f"a false alarm in {FALSE_ALARM:g} of such commands; {seconds:.0f} s of processor time")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
