"""Columns and rows as addresses: what a loop reads and writes without counting references to arrays.

In compiled code a tuple of arrays that is handed from function to function costs two atomic operations for each array
and call, several times what an algorithm's step costs. So a loop takes the addresses of its columns once, at its
beginning, while its arguments keep the arrays alive. The plain form reads and writes the same memory.

What is read or written at once is one function here, and one instruction to numba (`engine.intrinsics`), however many
numbers a partial has: numba's time to compile a loop goes with the number of its instructions.

Slots are a tuple of addresses: those of n columns, that of the log's positions, those of the log's n columns. Where an
algorithm has no slots of a sort, the tuple is empty.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_C: dict[str, Any] = {"float64": ctypes.c_double, "int64": ctypes.c_int64, "bool": ctypes.c_bool}
_NUMPY: dict[str, Any] = {"float64": np.float64, "int64": np.int64, "bool": bool}
_PYTHON: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}
#: the head of a log: entries, whether to log, the base of the block that is written to, room; then positions
ENTRIES, LOGS, BASE, ROOM = range(4)
HEAD = 4
#: counted up where a compiled form changes: no fingerprint sees into it
VERSION = 2


def width(dtype: Any) -> int:
    """The bytes of an entry."""
    return np.dtype(dtype).itemsize


class _Pointer:
    """A function over addresses, which numba takes for one of its intrinsics.

    `own`: for a user's functions, which get Python's numbers in plain code. Ours get NumPy's, which round, wrap and
    divide as compiled code does.
    """

    def __init__(self, facts: Any, own: bool = False) -> None:
        self.facts, self.own = facts, own
        self._intrinsic: Any = None

    @property
    def fingerprint(self) -> str:
        """For `engine.fingerprint`."""
        return f"{type(self).__name__} {VERSION} {self.facts}"

    @property
    def _numba_type_(self) -> Any:
        if self._intrinsic is None:
            from windrow.engine import intrinsics

            self._intrinsic = getattr(intrinsics, type(self).__name__)(self.facts)
        return self._intrinsic

    def _read(self, kind: str, address: int) -> Any:
        return (_PYTHON if self.own else _NUMPY)[kind](_C[kind].from_address(address).value)

    def _write(self, kind: str, address: int, value: Any) -> None:
        if self.own and kind == "int64" and not -(2**63) <= value < 2**63:
            raise OverflowError("an int does not fit 64 bits")
        _C[kind].from_address(address).value = value


class Addresses(_Pointer):
    """`addresses(arrays)`: those of their first entries."""

    def __call__(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        return tuple(array.ctypes.data for array in arrays)


class Get(_Pointer):
    """`get(slots, i)`: entry i of the columns, which are of these types."""

    def __call__(self, slots: tuple, i: int) -> tuple:
        i = int(i)
        return tuple(self._read(kind, slots[j] + i * width(kind)) for j, kind in enumerate(self.facts))


class Log(_Pointer):
    """`put(slots, i, partial)`: sets entry i of the columns, and logs what was there."""

    def __call__(self, slots: tuple, i: int, partial: tuple) -> None:
        i, log = int(i), slots[len(self.facts)]
        if self._read("int64", log + 8 * LOGS):
            n = int(self._read("int64", log + 8 * ENTRIES))
            self._write("int64", log + 8 * (HEAD + n), int(self._read("int64", log + 8 * BASE)) + i)
            for kind, column, kept in zip(self.facts, slots, slots[len(self.facts) + 1 :], strict=False):
                self._write(kind, kept + n * width(kind), self._read(kind, column + i * width(kind)))
            self._write("int64", log + 8 * ENTRIES, n + 1)
        for kind, column, value in zip(self.facts, slots, partial, strict=False):
            self._write(kind, column + i * width(kind), value)


class View(_Pointer):
    """`view(slots, base)`: the slots of the block that begins there."""

    def __call__(self, slots: tuple, base: int) -> tuple:
        if not slots:
            return slots
        base, n = int(base), len(self.facts)
        self._write("int64", slots[n] + 8 * BASE, base)
        return (*(slots[j] + base * width(kind) for j, kind in enumerate(self.facts)), *slots[n:])


class Full(_Pointer):
    """`full(slots, writes)`: whether the log may not have room for so many more."""

    def __call__(self, slots: tuple, writes: int) -> bool:
        if not slots:
            return False
        log = slots[len(self.facts)]
        entries, logs, _, room = (int(self._read("int64", log + 8 * j)) for j in range(HEAD))
        return logs != 0 and entries + int(writes) > room


#: what lies in a row of 8-byte words, as the nested tuples that are made of it: (word, type) is a number
Shape = Any


class Load(_Pointer):
    """`load(row)`: what lies in the row at this address, as the shape says."""

    def __call__(self, row: int) -> tuple:
        row = int(row)
        return shaped(self.facts, lambda leaf: self._read(leaf[1], row + 8 * leaf[0]))


class Save(_Pointer):
    """`save(row, values)`: puts values of the shape there."""

    def __call__(self, row: int, values: tuple) -> None:
        self._put(self.facts, int(row), values)

    def _put(self, shape: Shape, row: int, values: Any) -> None:
        if is_number(shape):
            self._write(shape[1], row + 8 * shape[0], values)
            return
        for part, value in zip(shape, values, strict=True):
            self._put(part, row, value)


def is_number(shape: Shape) -> bool:
    """Whether it is (word, type)."""
    return len(shape) == 2 and isinstance(shape[1], str)


def shaped(shape: Shape, number: Callable[[tuple[int, str]], Any]) -> Any:
    """The nested tuples of a shape, with `number` of each (word, type)."""
    if is_number(shape):
        return number(shape)
    parts = [shaped(part, number) for part in shape]
    return type(shape)._make(parts) if hasattr(shape, "_make") else tuple(parts)
