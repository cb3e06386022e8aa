"""Laws of cost on counts that are known to follow one, and on counts that do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgtd.harness.cost.fits import exact_law, time_exponent

SIZES = [3, 10, 50, 1000, 10**7]


@given(st.integers(-(10**6), 10**6), st.integers(-(10**9), 10**9))
def test_an_affine_law_is_found_and_fits(slope, level):
    law = exact_law([(d, 1) for d in SIZES], [slope * d + level for d in SIZES])
    assert law.coefficients == (slope, level)
    assert law.residual == 0


@given(st.integers(1, 100))
def test_one_operation_too_many_is_a_residual(extra):
    counts = [12 * d + 5 for d in SIZES]
    counts[3] += extra
    assert exact_law([(d, 1) for d in SIZES], counts).residual == extra


def test_a_quadratic_is_no_affine_law():
    assert exact_law([(d, 1) for d in SIZES], [d * d for d in SIZES]).residual > 10**6


def test_fractions_of_an_operation_are_no_law():
    assert exact_law([(2 * d, 1) for d in SIZES], SIZES).residual > 0


def test_too_few_sizes_say_so():
    with pytest.raises(ValueError, match="leave no size to check"):
        exact_law([(1, 1), (2, 1)], [1, 2])
    with pytest.raises(ValueError, match="determine 1 of 2"):
        exact_law([(1, 1), (2, 2), (3, 3)], [1, 2, 3])


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_the_exponent_of_time_is_found_under_an_overhead(p):
    sizes = np.geomspace(1e3, 1e7, 9)
    seconds = 1e-4 + 1e-2 * (sizes / 1e7) ** p
    np.testing.assert_allclose(time_exponent(sizes, [seconds, 3 * seconds]), p, atol=1e-3)
