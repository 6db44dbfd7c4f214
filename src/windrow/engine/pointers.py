"""Columns as addresses: what a compiled loop reads and writes without counting references to arrays.

A tuple of arrays that is handed from function to function costs two atomic operations for each array and call, several
times what an algorithm's step costs. So a loop takes the addresses of its columns once, at its beginning, while its
arguments keep the arrays alive.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_TYPES = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}


def _pointer(context: Any, builder: Any, address: Any, index: Any, kind: Any, step: int) -> Any:
    """The place of entry `index` of a column of this type, whose entries are `step` bytes apart."""
    place = builder.add(address, builder.mul(index, ir.Constant(ir.IntType(64), step)))
    return builder.inttoptr(place, context.get_data_type(kind).as_pointer())


@cache
def reader(dtype: str, step: int | None = None) -> Callable:
    """`read(address, i)`: entry i of a column; entries are `step` bytes apart, or side by side."""
    kind, apart = _TYPES[dtype], step or width(dtype)

    @intrinsic
    def read(typingctx, address, i):
        def codegen(context, builder, signature, arguments):
            address, i = arguments
            at = _pointer(context, builder, address, i, kind, apart)
            return context.unpack_value(builder, kind, at)

        return kind(types.int64, types.int64), codegen

    setattr(read, "fingerprint", f"read {dtype} {apart}")  # noqa: B010 - for `engine.fingerprint`
    return read


@cache
def writer(dtype: str, step: int | None = None) -> Callable:
    """`write(address, i, value)`: sets entry i of a column."""
    kind, apart = _TYPES[dtype], step or width(dtype)

    @intrinsic
    def write(typingctx, address, i, value):
        def codegen(context, builder, signature, arguments):
            address, i, value = arguments
            at = _pointer(context, builder, address, i, kind, apart)
            context.pack_value(builder, kind, value, at)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), codegen

    setattr(write, "fingerprint", f"write {dtype} {apart}")  # noqa: B010
    return write


def width(dtype: Any) -> int:
    """The bytes of an entry."""
    return np.dtype(dtype).itemsize
