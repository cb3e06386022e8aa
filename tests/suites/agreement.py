"""`python -m tests.suites.agreement 10 [FIRST]`: lanes against their exact expectation, every linear rule, ten seeds.

Eight rules on six problems, values and lifts, independent transitions and trajectories, last and averaged iterates, and
Mirror-Prox: every prediction and squared metric at every checkpoint is one simultaneous test. Right engines fail in one
of a thousand such commands, by Bonferroni over all numbers, cases and seeds. That is by Student's quantiles, which are
for lanes that are near normal. So a number counts only where a pilot, on a seed of its own, finds lanes whose skewness
changes the rate by a factor of e at most; early steps, at which few lanes have moved at all, drop out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dgtd.algorithms import rules
from dgtd.algorithms.checks import Floats
from dgtd.algorithms.rule import Rule
from dgtd.harness.oracle.moments import Expected
from dgtd.suites.instrument.curves import Case, exact_curve, expectations, followed, weighed

FALSE_ALARM = 1e-3  # of the whole command
LANES = 4096
PILOT = 1_000_003  # the seed that says what counts
RULES = (*rules.RULES.values(), rules.greedy_gq(0.5), rules.tdrc(0.5))
STEPS = {
    "baird": (0.005, 0.02),
    "boyan": (0.05, 0.1),
    "collision": (0.1, 0.1),
    "random_mdp": (0.02, 0.05),
    "random_walk": (0.1, 0.2),
    "two_state": (0.02, 0.05),
}
PROX = ("boyan", "random_walk")  # where Mirror-Prox is tried too, for rules whose w does not decay


def cases() -> Iterator[tuple[Rule, Case]]:
    """Each with averages: the last iterate is there anyway."""
    for problem, (alpha, beta) in STEPS.items():
        for target in ("value", "cdf"):
            for iid in (True, False):
                for rule in RULES:
                    plain = Case(problem, alpha, beta, target=target, iid=iid, average=True)
                    yield rule, plain
                    if problem in PROX and target == "value" and not rule.w_decay:
                        yield rule, replace(plain, extragradient=True)


@dataclass(frozen=True)
class Summary:
    """Of lanes at the checkpoints: what `weighed` reads, and the skewness [checkpoints, numbers]."""

    evidence: dict[str, Any]
    skew: Floats


def summary(numbers: Iterable[Floats]) -> Summary:
    """Of numbers [lanes, …] at each checkpoint."""
    means, errors, skews, lanes = [], [], [], 0
    for each in numbers:
        lanes, mean = len(each), each.mean(0)
        away = each - mean
        spread = np.sqrt((away**2).mean(0))
        with np.errstate(divide="ignore", invalid="ignore"):
            skews.append(np.nan_to_num((away**3).mean(0) / spread**3))
        means.append(mean)
        errors.append(spread / np.sqrt(lanes - 1))
    return Summary({"means": np.array(means), "errors": np.array(errors), "lanes": lanes}, np.array(skews))


def both(rule: Rule, case: Case, lanes: int, seed: int) -> tuple[Summary, Summary]:
    """The last iterate and the average of one run."""
    of, pairs = case.numbers(), []
    for state in followed(rule, case, lanes, seed):
        pairs.append((of(state.theta), of(state.theta_mean)))
    last, average = zip(*pairs, strict=True)
    return summary(last), summary(average)


def countable(pilot: Summary, exact: Expected, share: float) -> NDArray[np.bool_]:
    """Where the tail at the limit z is within a factor of e: |skewness| z³ ≤ 6√lanes, Edgeworth's first term.

    What does not vary in the pilot, and is not what it must be, is too rare for this number of lanes.
    """
    lanes, z = pilot.evidence["lanes"], stats.norm.isf(share / 2 / pilot.skew.size)
    rare = (pilot.evidence["errors"] == 0) & ~np.isclose(pilot.evidence["means"], expectations(exact), 1e-9, 1e-9)
    return (np.abs(pilot.skew) <= 6 * np.sqrt(lanes) / z**3) & ~rare


@dataclass(frozen=True)
class Test:
    """One case: its two exact curves, and which of their numbers count."""

    rule: Rule
    case: Case
    exact: tuple[Expected, Expected]
    counted: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    share: float

    @staticmethod
    def of(rule: Rule, case: Case, lanes: int, share: float) -> Test:
        """With a pilot."""
        exact = tuple(exact_curve(rule, replace(case, average=average)) for average in (False, True))
        pilots = both(rule, case, lanes, PILOT)
        counted = tuple(countable(pilot, each, share) for pilot, each in zip(pilots, exact, strict=True))
        return Test(rule, case, exact, counted, share)

    def failures(self, lanes: int, seed: int) -> list[str]:
        """What is farther away than chance has it, in words."""
        found = both(self.rule, self.case, lanes, seed)
        return [words for words in map(self.judge, (0, 1), found) if words]

    def judge(self, iterate: int, found: Summary) -> str:
        """Empty if the lanes agree."""
        p, words = weighed(self.exact[iterate], found.evidence, self.counted[iterate])
        return f"{self.name}, {('last', 'average')[iterate]}: {words}" if p <= self.share else ""

    @property
    def name(self) -> str:
        """What is tried."""
        case = self.case
        kind = "mirror-prox " if case.extragradient else ""
        return f"{kind}{self.rule.name} on {case.problem} ({case.target}, {'iid' if case.iid else 'trajectory'})"


def share_of(tried: int, seeds: int) -> float:
    """The false-alarm rate of one iterate of one case on one seed."""
    return FALSE_ALARM / (2 * tried * seeds)


def main(seeds: int, first: int = 0, lanes: int = LANES) -> int:
    """Every case on every seed; 1 if any fails."""
    begin, tried = time.process_time(), list(cases())
    share, wrong, numbers, left_out = share_of(len(tried), seeds), 0, 0, 0
    for rule, case in tried:
        test = Test.of(rule, case, lanes, share)
        numbers += sum(int(mask.sum()) for mask in test.counted)
        left_out += sum(int((~mask).sum()) for mask in test.counted)
        found = [(seed, words) for seed in range(first, first + seeds) for words in test.failures(lanes, seed)]
        for seed, words in found:
            print(f"seed {seed}: {words}", flush=True)
        wrong += len(found)
    limit = stats.norm.isf(share * len(tried) / numbers)
    print(
        f"{2 * len(tried)} curves on {seeds} seeds, {lanes:,} lanes: {wrong} disagree. {numbers:,} means per seed "
        f"count ({left_out:,} are too skewed), limit {limit:.1f} standard errors; a "
        f"false alarm in {FALSE_ALARM:g} of such commands; {time.process_time() - begin:.0f} s of processor time"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
