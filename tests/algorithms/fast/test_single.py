"""The small engine in float32: the double one's numbers to single precision, with its own deaths and checks."""

import numpy as np
import pytest

from dgtd.algorithms import rules
from dgtd.algorithms.fast.small import SmallEngine, SmallLoop
from dgtd.algorithms.streams import generators, lane_streams
from dgtd.algorithms.targets import CdfTarget, ValueTarget
from tests.algorithms.fast.test_conformance import INPUTS, LANES, every_rule, random_batch
from tests.problems import walk

pytestmark = pytest.mark.slow  # the first run compiles two kernels
SINGLE = 2e-4  # some hundred steps' rounding, relative to weights of about 1


def loops(target, each=rules.gtd2, hidden=(4, 3)):
    """The same lanes in double and in single."""
    made = []
    for dtype in (np.float64, np.float32):
        engine = SmallEngine(each, (5, *hidden), target, dtype)
        loop = SmallLoop(engine, walk(), np.eye(5))
        theta = engine.init(generators(0, range(LANES)))
        assert theta.dtype == dtype
        made.append((loop, loop.start(theta, lane_streams(0, range(LANES)))))
    return made


@every_rule
def test_directions_are_the_double_ones(each):
    target = CdfTarget(-2, 2, 6)
    batch = random_batch(target)
    found = []
    for dtype in (np.float64, np.float32):
        engine = SmallEngine(each, (INPUTS, 4), target, dtype)
        theta, w = (engine.init(generators(seed, range(LANES))) for seed in (0, 1))
        found.append(engine.directions(theta, w, batch))
    for double, single in zip(*found, strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)
        assert np.array_equal(single, double) == (not double.any())  # rules without w have G_w = 0


@pytest.mark.parametrize("target", [CdfTarget(-2, 2, 6), ValueTarget()], ids=["cdf", "value"])
def test_a_run_is_the_double_one(target):
    curves = [
        loop.run(state, 200, 0.05, 0.1, snapshots=[100, 200], average=True, keep_w=True)
        for loop, state in loops(target)
    ]
    for name in ("theta", "w", "theta_mean", "w_mean"):
        double, single = (getattr(each, name) for each in curves)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=SINGLE, atol=SINGLE)


def test_a_lane_that_overflows_is_dated_and_disturbs_no_neighbour():
    """Single precision ends at 3e38, long before double does."""
    (_, _), (loop, state) = loops(ValueTarget(), rules.td)
    (_, _), (other, alone) = loops(ValueTarget(), rules.td)
    loop.run(state, 400, [1e3, 0.05, 0.05], 0.1)
    other.run(alone, 400, 0.05, 0.1)
    assert 0 <= state.died[0] < 400
    assert np.isnan(state.theta[0]).all()
    assert (state.died[1:] == -1).all()
    assert np.array_equal(state.theta[1:], alone.theta[1:])


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="dtype must be float64 or float32, got float16"):
        SmallEngine(rules.gtd2, (5, 4), ValueTarget(), np.float16)
    (_, state), (loop, _) = loops(ValueTarget())
    with pytest.raises(ValueError, match="theta must be of type float32, got float64"):
        loop.run(state, 1, 0.1, 0.1)
