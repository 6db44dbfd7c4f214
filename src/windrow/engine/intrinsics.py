"""The compiled forms of `engine.pointers`: each is one instruction to numba. Imported where something is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from windrow.engine.pointers import BASE, ENTRIES, HEAD, LOGS, ROOM, Shape, is_number, width

_TYPES = {"float64": types.float64, "int64": types.int64, "bool": types.boolean}
_INT = ir.IntType(64)


def _pointer(context: Any, builder: Any, address: Any, kind: str) -> Any:
    return builder.inttoptr(address, context.get_data_type(_TYPES[kind]).as_pointer())


def _read(context: Any, builder: Any, address: Any, kind: str) -> Any:
    return context.unpack_value(builder, _TYPES[kind], _pointer(context, builder, address, kind))


def _write(context: Any, builder: Any, address: Any, kind: str, value: Any) -> None:
    context.pack_value(builder, _TYPES[kind], value, _pointer(context, builder, address, kind))


def _entry(builder: Any, address: Any, i: Any, kind: str) -> Any:
    """The address of entry i of a column."""
    return builder.add(address, builder.mul(i, _INT(width(kind))))


def _word(builder: Any, address: Any, word: int) -> Any:
    return builder.add(address, _INT(8 * word))


def _tuple_of(kinds: Sequence[str]) -> Any:
    return types.Tuple([_TYPES[kind] for kind in kinds])


def Addresses(facts: Any) -> Any:
    """The type of `addresses(arrays)`."""

    @intrinsic
    def addresses(typingctx, arrays):
        given = types.UniTuple(types.int64, len(arrays))

        def codegen(context, builder, signature, arguments):
            found = [
                builder.ptrtoint(context.make_array(array)(context, builder, value=value).data, _INT)
                for array, value in zip(arrays, cgutils.unpack_tuple(builder, arguments[0]), strict=True)
            ]
            return context.make_tuple(builder, given, found)

        return given(arrays), codegen

    return _type_of(addresses)


def Get(kinds: Sequence[str]) -> Any:
    """The type of `get(slots, i)`."""
    partial = _tuple_of(kinds)

    @intrinsic
    def get(typingctx, slots, i):
        def codegen(context, builder, signature, arguments):
            columns, i = cgutils.unpack_tuple(builder, arguments[0]), arguments[1]
            found = [
                _read(context, builder, _entry(builder, column, i, kind), kind)
                for column, kind in zip(columns, kinds, strict=False)
            ]
            return context.make_tuple(builder, partial, found)

        return partial(slots, types.int64), codegen

    return _type_of(get)


def Log(kinds: Sequence[str]) -> Any:
    """The type of `put(slots, i, partial)`."""
    n = len(kinds)

    @intrinsic
    def log(typingctx, slots, i, partial):
        def codegen(context, builder, signature, arguments):
            addresses, i = cgutils.unpack_tuple(builder, arguments[0]), arguments[1]
            columns = [_entry(builder, column, i, kind) for column, kind in zip(addresses, kinds, strict=False)]
            at = addresses[n]
            logs = _read(context, builder, _word(builder, at, LOGS), "int64")
            with builder.if_then(builder.icmp_signed("!=", logs, _INT(0))):
                count = _read(context, builder, _word(builder, at, ENTRIES), "int64")
                base = _read(context, builder, _word(builder, at, BASE), "int64")
                place = _entry(builder, _word(builder, at, HEAD), count, "int64")
                _write(context, builder, place, "int64", builder.add(base, i))
                for column, kept, kind in zip(columns, addresses[n + 1 :], kinds, strict=True):
                    before = _read(context, builder, column, kind)
                    _write(context, builder, _entry(builder, kept, count, kind), kind, before)
                _write(context, builder, _word(builder, at, ENTRIES), "int64", builder.add(count, _INT(1)))
            for column, kind, value in zip(columns, kinds, cgutils.unpack_tuple(builder, arguments[2]), strict=True):
                _write(context, builder, column, kind, value)
            return context.get_dummy_value()

        return types.void(slots, types.int64, _tuple_of(kinds)), codegen

    return _type_of(log)


def View(kinds: Sequence[str]) -> Any:
    """The type of `view(slots, base)`."""
    n = len(kinds)

    @intrinsic
    def view(typingctx, slots, base):
        def codegen(context, builder, signature, arguments):
            addresses, base = cgutils.unpack_tuple(builder, arguments[0]), arguments[1]
            if not addresses:
                return arguments[0]
            _write(context, builder, _word(builder, addresses[n], BASE), "int64", base)
            columns = [_entry(builder, column, base, kind) for column, kind in zip(addresses, kinds, strict=False)]
            return context.make_tuple(builder, slots, [*columns, *addresses[n:]])

        return slots(slots, types.int64), codegen

    return _type_of(view)


def Full(kinds: Sequence[str]) -> Any:
    """The type of `full(slots, writes)`."""
    n = len(kinds)

    @intrinsic
    def full(typingctx, slots, writes):
        def codegen(context, builder, signature, arguments):
            addresses = cgutils.unpack_tuple(builder, arguments[0])
            if not addresses:
                return cgutils.false_bit
            entries, logs, room = (
                _read(context, builder, _word(builder, addresses[n], word), "int64") for word in (ENTRIES, LOGS, ROOM)
            )
            more = builder.icmp_signed(">", builder.add(entries, arguments[1]), room)
            return builder.and_(builder.icmp_signed("!=", logs, _INT(0)), more)

        return types.boolean(slots, types.int64), codegen

    return _type_of(full)


def _type_of_shape(shape: Shape) -> Any:
    if is_number(shape):
        return _TYPES[shape[1]]
    parts = [_type_of_shape(part) for part in shape]
    # numba has types of their own for tuples whose parts are all of one type
    return types.BaseTuple.from_types(parts, type(shape) if hasattr(shape, "_make") else None)


def Load(shape: Shape) -> Any:
    """The type of `load(row)`."""
    given = _type_of_shape(shape)

    @intrinsic
    def load(typingctx, row):
        def codegen(context, builder, signature, arguments):
            def made(part, kind):
                if is_number(part):
                    return _read(context, builder, _word(builder, arguments[0], part[0]), part[1])
                return context.make_tuple(builder, kind, [made(*pair) for pair in zip(part, kind, strict=True)])

            return made(shape, given)

        return given(types.int64), codegen

    return _type_of(load)


def Save(shape: Shape) -> Any:
    """The type of `save(row, values)`."""

    @intrinsic
    def save(typingctx, row, values):
        def codegen(context, builder, signature, arguments):
            def put(part, value):
                if is_number(part):
                    _write(context, builder, _word(builder, arguments[0], part[0]), part[1], value)
                    return
                for pair in zip(part, cgutils.unpack_tuple(builder, value, len(part)), strict=True):
                    put(*pair)

            put(shape, arguments[1])
            return context.get_dummy_value()

        return types.void(types.int64, _type_of_shape(shape)), codegen

    return _type_of(save)


def _type_of(function: Any) -> Any:
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(function)
