"""Products of small matrices: whatever the shape, they are numpy's."""

import numba as nb
import numpy as np
import pytest

from dgtd.algorithms.fast.tiles import product

SHAPES = [(1, 1, 1), (4, 3, 16), (5, 7, 16), (9, 2, 31), (3, 65, 33), (8, 1, 12), (65, 8, 80), (2, 5, 7), (6, 4, 2)]


@nb.njit
def multiply(c, a, b, shape, turned, add):
    rows, depth, columns = shape
    a_row, a_column = (1, rows) if turned else (depth, 1)
    product(c, 1, columns + 1, a, 0, a_row, a_column, b, 0, columns, rows, depth, columns, add)


@pytest.mark.slow  # what it compiles is kept nowhere
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(("dtype", "within"), [(np.float32, 1e-5), (np.float64, 1e-14)])
def test_a_product_is_numpys_and_touches_nothing_else(dtype, within, add, turned):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        rows, depth, columns = shape
        a, b = (rng.normal(size=size).astype(dtype) for size in ((rows, depth), (depth, columns)))
        c = rng.normal(size=rows * (columns + 1) + 1).astype(dtype)
        before = c.copy()
        multiply(c, np.ascontiguousarray(a.T if turned else a).ravel(), b.ravel(), shape, turned, add)
        inside, was = (part[1:].reshape(rows, columns + 1) for part in (c, before))
        expected = a.astype(float) @ b + add * was[:, :-1]
        np.testing.assert_allclose(inside[:, :-1], expected, rtol=0, atol=within * depth)
        assert (inside[:, -1] == was[:, -1]).all()
        assert c[0] == before[0]
