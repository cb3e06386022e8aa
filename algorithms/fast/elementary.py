"""exp, expm1 and tanh in arithmetic that LLVM vectorises: the library's, one by one, take several times as long.

exp(x) = 2ⁿ exp(r) with |r| ≤ ½ ln 2, and exp(r) − 1 from its Taylor series: within four times the precision of a
float. Nothing here may be reordered: that would cancel the addition that rounds x / ln 2.
"""

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dgtd.algorithms.fast.compiling import inlined

EXACT = {"contract", "nsz"}  # fastmath flags that keep the rounding trick
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: a number added to it is rounded, and stands in its last bits
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


@intrinsic
def _power_of_two(typing_context: Any, rounded: Any) -> Any:
    """2ⁿ from n + _ROUND: its last bits, moved to where a float keeps its exponent."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        bits = builder.shl(builder.bitcast(arguments[0], word), ir.Constant(word, 52))
        return builder.bitcast(builder.add(bits, ir.Constant(word, 1023 << 52)), ir.DoubleType())

    return types.float64(types.float64), generate


@inlined(EXACT)
def _parts(x):
    """(2ⁿ, exp(r) − 1). Beyond ±708 the result is that of the edge: no number of ours is meant to be infinite."""
    x = 708.0 if x > 708.0 else (-708.0 if x < -708.0 else x)  # a NaN stays one
    rounded = x * 1.4426950408889634 + _ROUND
    n = rounded - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    q = 0.0
    for coefficient in _TAYLOR:
        q = q * r + coefficient
    return _power_of_two(rounded), q * r * r + r


# The following are called from Python too, where the work of a step is counted.
@inlined(EXACT, no_cpython_wrapper=False)
def exp(x):
    power, q = _parts(x)
    return power * q + power


@inlined(EXACT, no_cpython_wrapper=False)
def sigmoid(x):
    return 1.0 / (1.0 + exp(-x))


@inlined(EXACT, no_cpython_wrapper=False)
def tanh(x):
    """expm1(2x) / (expm1(2x) + 2), which keeps its relative precision near 0; 1 − tanh(20) is below rounding."""
    x = 20.0 if x > 20.0 else (-20.0 if x < -20.0 else x)
    power, q = _parts(2.0 * x)
    grown = power * q + (power - 1.0)
    return grown / (grown + 2.0)
