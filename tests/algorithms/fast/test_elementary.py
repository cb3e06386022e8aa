"""exp, sigmoid and tanh of the small engine against the library's."""

import numba as nb
import numpy as np
import pytest

from dgtd.algorithms.fast import elementary
from dgtd.algorithms.fast.elementary import EXACT

X = np.concatenate([np.linspace(-30, 30, 200_001), [1e-300, -1e-12, 3e-5, 707.0, -707.0], np.logspace(-20, 2, 999)])


def over(function):
    """The function on an array, compiled as the kernels compile it."""

    @nb.njit(fastmath=EXACT, error_model="numpy")
    def each(x, out):
        for i in range(x.shape[0]):
            out[i] = function(x[i])

    def call(x):
        out = np.empty_like(x)
        each(x, out)
        return out

    return call


@pytest.mark.parametrize(
    ("name", "expected"),
    [("exp", np.exp), ("tanh", np.tanh), ("sigmoid", lambda x: np.exp(-np.logaddexp(0, -x)))],
)
def test_within_units_of_the_last_digit(name, expected):
    x = X[np.abs(X) < 700] if name == "sigmoid" else X
    found, right = over(getattr(elementary, name))(x), expected(x)
    bound = 4 * np.finfo(float).eps
    if name == "sigmoid":  # the reference itself loses digits where its logarithm is large
        bound = bound * np.maximum(1.0, np.abs(x))
    assert (np.abs(found - right) <= bound * np.abs(right)).all()


def test_edges():
    inf = np.array([np.inf, -np.inf, np.nan, 1e6, -1e6, 0.0])
    exp, tanh = over(elementary.exp)(inf), over(elementary.tanh)(inf)
    assert np.isfinite(exp[:2]).all()
    assert np.isnan(exp[2])
    assert exp[5] == 1.0
    assert tanh.tolist()[:2] == [1.0, -1.0]
    assert np.isnan(tanh[2])
    assert tanh[3:].tolist() == [1.0, -1.0, 0.0]
