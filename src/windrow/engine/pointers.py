"""Columns as addresses: what a loop reads and writes without counting references to arrays.

In compiled code a tuple of arrays that is handed from function to function costs two atomic operations for each array
and call, several times what an algorithm's step costs. So a loop takes the addresses of its columns once, at its
beginning, while its arguments keep the arrays alive. The plain form reads and writes the same memory.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

_C: dict[str, Any] = {"float64": ctypes.c_double, "int64": ctypes.c_int64, "bool": ctypes.c_bool}
_NUMPY: dict[str, Any] = {"float64": np.float64, "int64": np.int64, "bool": bool}
_PYTHON: dict[str, Any] = {"float64": float, "int64": int, "bool": bool}


class _Pointer:
    """A function over an address, which numba takes for one of its intrinsics.

    `own`: for a user's functions, which get Python's numbers in plain code. Ours get NumPy's, which round, wrap and
    divide as compiled code does.
    """

    def __init__(self, dtype: str, step: int | None, own: bool) -> None:
        self.dtype, self.step, self.own = dtype, step or width(dtype), own
        self._at = _C[dtype].from_address
        self._intrinsic: Any = None

    @property
    def fingerprint(self) -> str:
        """For `engine.fingerprint`."""
        return f"{type(self).__name__} {self.dtype} {self.step}"

    @property
    def _numba_type_(self) -> Any:
        if self._intrinsic is None:
            from windrow.engine import intrinsics

            self._intrinsic = getattr(intrinsics, type(self).__name__)(self.dtype, self.step)
        return self._intrinsic


class Reader(_Pointer):
    """`read(address, i)`: entry i of a column."""

    def __init__(self, dtype: str, step: int | None, own: bool) -> None:
        super().__init__(dtype, step, own)
        self._number = (_PYTHON if own else _NUMPY)[dtype]

    def __call__(self, address: int, i: int) -> Any:
        return self._number(self._at(int(address) + int(i) * self.step).value)


class Writer(_Pointer):
    """`write(address, i, value)`: sets entry i of a column."""

    def __call__(self, address: int, i: int, value: Any) -> None:
        if self.own and self.dtype == "int64" and not -(2**63) <= value < 2**63:
            raise OverflowError("an int does not fit 64 bits")
        self._at(int(address) + int(i) * self.step).value = value


@cache
def reader(dtype: str, step: int | None = None, own: bool = False) -> Reader:
    """Reads entries that are `step` bytes apart, or side by side."""
    return Reader(dtype, step, own)


@cache
def writer(dtype: str, step: int | None = None, own: bool = False) -> Writer:
    """Writes entries that are `step` bytes apart, or side by side."""
    return Writer(dtype, step, own)


def width(dtype: Any) -> int:
    """The bytes of an entry."""
    return np.dtype(dtype).itemsize
