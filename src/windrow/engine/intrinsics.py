"""The compiled forms of `engine.pointers`. Imported where something is compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_TYPES = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}


def _pointer(context: Any, builder: Any, address: Any, index: Any, kind: Any, step: int) -> Any:
    """The place of entry `index` of a column of this type, whose entries are `step` bytes apart."""
    place = builder.add(address, builder.mul(index, ir.Constant(ir.IntType(64), step)))
    return builder.inttoptr(place, context.get_data_type(kind).as_pointer())


def Reader(dtype: str, step: int) -> Any:
    """The type of `read(address, i)`."""
    kind = _TYPES[dtype]

    @intrinsic
    def read(typingctx, address, i):
        def codegen(context, builder, signature, arguments):
            address, i = arguments
            at = _pointer(context, builder, address, i, kind, step)
            return context.unpack_value(builder, kind, at)

        return kind(types.int64, types.int64), codegen

    return _type_of(read)


def Writer(dtype: str, step: int) -> Any:
    """The type of `write(address, i, value)`."""
    kind = _TYPES[dtype]

    @intrinsic
    def write(typingctx, address, i, value):
        def codegen(context, builder, signature, arguments):
            address, i, value = arguments
            at = _pointer(context, builder, address, i, kind, step)
            context.pack_value(builder, kind, value, at)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind), codegen

    return _type_of(write)


def _type_of(function: Any) -> Any:
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(function)
