"""Holm's correction: by hand, against the procedure, and as the closed test over all sets of Bonferroni's."""

from itertools import combinations

import numpy as np
import pytest

from dgtd.harness.judging.statistics import holm


def test_holm_by_hand():
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, and never smaller than the one before."""
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.6, 0.9]), [1.0, 1.0])
    np.testing.assert_allclose(holm([0.02]), [0.02])
    np.testing.assert_allclose(holm([0.01, 0.01, 0.5]), [0.03, 0.03, 0.5])


def test_holms_numbers_are_below_a_level_exactly_where_the_procedure_rejects():
    for seed in range(20):
        p = np.random.default_rng(seed).random(6) ** 3
        for level in (0.01, 0.05, 0.2):
            rejected, order = set(), np.argsort(p)
            for step, which in enumerate(order):
                if p[which] > level / (6 - step):
                    break
                rejected.add(int(which))
            assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected


def is_closed_over_sets(adjust):
    """A set of tests has its smallest p times its size; a test has the largest over the sets that it is in."""
    for n in (1, 3, 6):
        for power in (1, 4):
            p = np.abs(np.sin(np.arange(1, n + 1) ** 2)) ** power
            sets = [each for size in range(1, n + 1) for each in combinations(range(n), size)]
            level = {each: min(1.0, len(each) * min(p[i] for i in each)) for each in sets}
            expected = [max(level[each] for each in sets if i in each) for i in range(n)]
            np.testing.assert_allclose(adjust(p), expected, rtol=0, atol=1e-8)


def test_holms_number_is_the_largest_that_bonferroni_gives_to_any_set_with_the_test_in_it():
    is_closed_over_sets(holm)


def not_monotone(p):
    return np.minimum((len(p) - np.argsort(np.argsort(p))) * p, 1.0)


@pytest.mark.parametrize("wrong", [lambda p: p, lambda p: np.minimum(len(p) * p, 1.0), not_monotone])
def test_uncorrected_numbers_bonferronis_and_a_list_that_is_not_monotone_are_seen(wrong):
    with pytest.raises(AssertionError):
        is_closed_over_sets(wrong)
