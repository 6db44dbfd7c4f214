"""Functions that run plain or compiled: one source, and the choice between the two at each call.

A kernel is a function over arrays and numbers. Its plain form is the function itself. numba, which compiles it, is not
even imported before something is compiled: importing it takes longer than a plain run over a few rows.

A kernel compiles (or is loaded from disk) when that is cheaper than to go on interpreting: `Tier` has the constants.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

ErrorModel = Literal["checked", "numpy"]  # of users' code, of our own
Mode = Literal["auto", "always", "never"]

MODES = ("auto", "always", "never")

#: seconds. What a kernel without an aggregate takes to compile, what a loop over an aggregate takes, and what
#: numba's import takes once a process (measured on a 2-core machine, cold)
COMPILING, COMPILING_LOOP, IMPORTING = 0.4, 2.0, 0.4
#: seconds to load a kernel from disk
LOADING = 0.03
#: seconds per entry of the longest argument, before a first call has shown it
PER_ENTRY = 2e-6
PER_ROW = 20e-6


class _Choice(threading.local):
    """What this thread wants."""

    mode: Mode = os.environ.get("WINDROW_COMPILE", "auto")  # type: ignore[assignment]
    plain = 0  # plain kernels that are running: what they call is a part of them


_choice = _Choice()
_MAKING = threading.RLock()


def once(memo: dict, key: Any, make: Callable[[], Any]) -> Any:
    """memo[key], made where it is not there; once, whichever of several threads is the first to ask."""
    if key not in memo:
        with _MAKING:
            if key not in memo:
                memo[key] = make()
    return memo[key]


@contextlib.contextmanager
def compiling(mode: Mode) -> Iterator[None]:
    """Kernels that this thread calls inside are compiled as `mode` says."""
    before, _choice.mode = _choice.mode, mode
    try:
        yield
    finally:
        _choice.mode = before


def plain(function: Callable) -> Callable:
    """The `jit` of plain Python: the function as it is."""
    return function


class CompilationFailed(Exception):
    """numba does not take a function."""


class Part:
    """A function that kernels call. From Python it runs plain."""

    def __init__(self, py_func: Callable, targetoptions: dict[str, Any]) -> None:
        # the names are numba's: a part stands where a dispatcher stood
        self.py_func, self.targetoptions = py_func, targetoptions
        self._dispatcher: Any = None
        self.__name__, self.__doc__ = py_func.__name__, py_func.__doc__

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__qualname__}>"

    @property
    def dispatcher(self) -> Any:
        """numba's."""
        if self._dispatcher is None:
            from windrow.engine.compiler import dispatcher

            self._dispatcher = dispatcher(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """How numba takes a part that another one calls."""
        from numba import types

        return types.Dispatcher(self.dispatcher)


def inlined(error_model: ErrorModel) -> Callable[[Callable], Part]:
    """The `jit` of a kernel's parts. Inlined by numba, they are twice as fast as inlined by LLVM (measured)."""
    return lambda function: Part(function, {"inline": "always", "error_model": error_model})


def whole(error_model: ErrorModel) -> Callable[[Callable], Part]:
    """The `jit` of a function that is called, not inlined."""
    return lambda function: Part(function, {"nogil": True, "error_model": error_model})


class Kernel(Part):
    """A part that Python calls, kept on disk once compiled."""

    def __init__(self, part: Part, compile_seconds: float, per_entry: float) -> None:
        super().__init__(part.py_func, part.targetoptions)
        self.compile_seconds, self.per_entry = compile_seconds, per_entry
        self.spent = 0.0  # seconds of plain runs
        self.run: Callable | None = None  # the compiled function, once it is there

    def __call__(self, *arguments: Any) -> Any:
        if self.run is not None:
            return self._compiled(arguments)
        if _choice.plain:
            return self.py_func(*arguments)
        return self._first(arguments)

    def _compiled(self, arguments: tuple) -> Any:
        assert self.run is not None
        try:
            return self.run(*arguments)
        except _numba_errors() as error:
            raise CompilationFailed(str(error)) from error

    def _first(self, arguments: tuple) -> Any:
        """A call before anything is compiled."""
        entries = 1 + longest(arguments)
        if self._wait_for_compiler(self.spent + entries * self.per_entry):
            with _MAKING:
                self.run = self.dispatcher
            return self._compiled(arguments)
        began = time.perf_counter()
        _choice.plain += 1
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn
                return self.py_func(*arguments)
        finally:
            _choice.plain -= 1
            seconds = time.perf_counter() - began
            self.spent += seconds
            if entries > 100:
                self.per_entry = seconds / entries

    def _wait_for_compiler(self, seconds: float) -> bool:
        """Whether to compile now, where going on plain has cost or will cost so many seconds."""
        if _choice.mode != "auto":
            return _choice.mode == "always"
        if seconds < (LOADING if "numba" in sys.modules else LOADING + IMPORTING):
            return False
        if seconds > self.compile_seconds:
            return True
        from windrow.engine.compiler import on_disk

        return on_disk(self)

    @property
    def dispatcher(self) -> Any:
        if self._dispatcher is None:
            from windrow.engine.compiler import cached, dispatcher

            self._dispatcher = cached(dispatcher(self), self)
        return self._dispatcher


def _numba_errors() -> type[Exception]:
    from numba.core.errors import NumbaError

    return NumbaError


def longest(arguments: tuple) -> int:
    """The length of the longest array."""
    most = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if argument.ndim == 1 and len(argument) > most:
                most = len(argument)
        elif isinstance(argument, tuple):
            most = max(most, longest(argument))
    return most


def cached(function: Any) -> Kernel:
    """A function that Python calls: plain, or compiled and kept on disk under a fingerprint of all it consists of."""
    return Kernel(function, COMPILING, PER_ENTRY)


def cached_loop(function: Any) -> Kernel:
    """The same for a loop over an aggregate, which takes longer to compile and longer per row."""
    return Kernel(function, COMPILING_LOOP, PER_ROW)
