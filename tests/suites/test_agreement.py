"""A sample of the two commands that hold lanes to their exact expectation: right engines agree, faults do not."""

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.rules import gtd2
from dgtd.harness.oracle.moments import Expected
from dgtd.suites.instrument.curves import TIMES, Case
from tests.suites import agreement, planted

SHARE = 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case("boyan", 0.05, 0.1, average=True),
        Case("two_state", 0.02, 0.05, target="cdf", iid=True, average=True),
        Case("random_walk", 0.1, 0.2, iid=True, average=True, extragradient=True),
    ],
)
def test_right_lanes_agree_with_the_exact_curve(case):
    """False alarm of all three: 3 × 2 seeds × 2 iterates × 1e-6."""
    test = agreement.Test.of(gtd2, case, 1024, SHARE)
    assert all(mask.sum() > mask.size / 4 for mask in test.counted)
    for seed in range(2):
        assert test.failures(1024, seed) == []


def test_lanes_of_another_rule_do_not_agree():
    case = Case("boyan", 0.05, 0.1, average=True)
    test = agreement.Test.of(gtd2, case, 1024, SHARE)
    for iterate, found in enumerate(agreement.both(rules.tdc, case, 1024, 0)):
        assert ("last", "average")[iterate] in test.judge(iterate, found)


def test_every_rule_and_both_targets_are_tried_on_six_problems():
    tried = list(agreement.cases())
    plain = [(rule.name, case) for rule, case in tried if not case.extragradient]
    assert len(set(plain)) == len(plain) == 8 * 6 * 2 * 2
    assert {name for name, _ in plain} >= set(rules.RULES)
    assert all(case.average for _, case in tried)


def test_what_few_lanes_have_is_left_out():
    """Of four numbers: a normal one; one lane of 100 differs, a skewness near 10; none has moved, and some should have;
    none moves, as it should be."""
    columns = [np.random.default_rng(0).normal(size=1024), np.arange(1024) % 100 == 0, np.zeros(1024), np.zeros(1024)]
    pilot = agreement.summary([np.column_stack(columns).astype(float)] * len(TIMES))
    mean = np.tile([[[0.0], [0.01], [1e-4], [0.0]]], (len(TIMES), 1, 1))
    exact = Expected(np.array(TIMES), mean, np.zeros((len(TIMES), 0)), (), -1)
    assert agreement.countable(pilot, exact, SHARE)[0].tolist() == [True, False, False, True]


@pytest.mark.slow
@pytest.mark.parametrize("each", range(len(planted.FAULTS) + 1))
def test_a_planted_fault_is_seen_and_the_loop_without_it_agrees(each):
    """False alarm: 7 × 1e-6. All seeds and more lanes: `python -m tests.suites.planted 10`."""
    faults = planted.FAULTS
    trap = planted.Trap(faults[each], 4096, SHARE) if each < len(faults) else planted.Ball(4096, SHARE)
    assert trap.sees(True, 0)
    assert not trap.sees(False, 0)
