"""A hint to the processor: these numbers will be needed soon."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from algorithms.compiling import helper

_LINE = 64  # bytes that the processor loads at once
_READ, _KEEP_CLOSE, _DATA = 0, 3, 1


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Load the line of array[index] into the cache. It changes no number, and may point behind the array's end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(start, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, *(ir.Constant(word, each) for each in (_READ, _KEEP_CLOSE, _DATA))])
        return context.get_dummy_value()

    return types.void(array, index), generate


@helper()
def prefetch(first, second, begin, end):
    """Numbers begin … end − 1 of two arrays."""
    for i in range(begin, end, _LINE // first.itemsize):
        _prefetch(first, i)
        _prefetch(second, i)
