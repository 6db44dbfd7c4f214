"""Functions that run plain or compiled: one source, and the choice between the two at each call.

A kernel is a function over arrays and numbers. Its plain form is the function itself. numba, which compiles it, is not
even imported before something is compiled: importing it takes longer than a plain run over a few rows.

A kernel compiles, or is loaded from disk, when that is cheaper than to go on interpreting. One call over many rows
waits for the compiler. Many calls over few rows, as a live query makes them, go on plain while a thread compiles.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, cast

import numpy as np

from windrow.errors import WindrowError

ErrorModel = Literal["checked", "numpy"]  # of users' code, of our own
Mode = Literal["auto", "always", "never"]
MODES = ("auto", "always", "never")

#: seconds to compile a kernel without an aggregate, and a loop over an aggregate; to load one from disk; to import
#: numba once a process (measured on 2 cores, where STEPS of the interpreter took USUAL seconds)
COMPILING, COMPILING_LOOP, LOADING, IMPORTING = 0.4, 1.2, 0.03, 0.4
STEPS, USUAL = 2000, 1e-4
#: a kernel that was called before is compiled in the background from this part of its compile time on
EARLY = 0.25
#: seconds per entry of the longest argument in plain code, before a call has shown it
PER_ENTRY, PER_ROW = 2e-6, 20e-6
#: entries from which on a call shows it
ENOUGH = 100


@cache
def pace() -> float:
    """How many times as long this machine takes as the one of the figures above.

    The compiler is Python for the most part, so that it takes as many times as long as plain code does.
    """
    return min(max(min(_some_steps() for _ in range(3)) / USUAL, 0.25), 10.0)


def _some_steps() -> float:
    began, total = time.perf_counter(), 0
    for i in range(STEPS):
        total += i & 3
    return time.perf_counter() - began


def checked_mode(mode: Any) -> Mode:
    """The mode, if it is one."""
    if mode not in MODES:
        raise WindrowError(f"compile is {', '.join(map(repr, MODES[:-1]))} or {MODES[-1]!r}, not {mode!r}")
    return cast(Mode, mode)


class _Choice(threading.local):
    """What this thread wants."""

    mode: Mode | None = None  # None: as WINDROW_COMPILE says
    plain = 0  # plain kernels that are running: what they call is a part of them


_choice = _Choice()
_plain_threads = 0  # about how many threads want no compiled code: mostly none, so that nobody has to ask further
_MAKING = threading.RLock()


def once(memo: dict, key: Any, make: Callable[[], Any]) -> Any:
    """memo[key], made where it is not there; once, whichever of several threads is the first to ask."""
    if key not in memo:
        with _MAKING:
            if key not in memo:
                memo[key] = make()
    return memo[key]


def mode_now() -> Mode:
    """What this thread wants: what `compiling` says, else WINDROW_COMPILE, else "auto"."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return "never"
    return _choice.mode or checked_mode(os.environ.get("WINDROW_COMPILE") or "auto")


def compiling(mode: Mode, action: Callable[..., Any], *arguments: Any) -> Any:
    """Calls `action`. Kernels that it calls are compiled as `mode` says; "auto" leaves it as it is."""
    if mode == "auto":
        return action(*arguments)
    global _plain_threads
    before, _choice.mode = _choice.mode, mode
    _plain_threads += mode == "never"
    try:
        return action(*arguments)
    finally:
        _choice.mode = before
        _plain_threads -= mode == "never"


def rather_plain(rows: int) -> bool:
    """Whether a user's functions over so many rows are done before they are compiled. Nobody has compiled them yet."""
    mode = mode_now()
    return mode == "never" or (mode == "auto" and rows * PER_ROW < COMPILING_LOOP + IMPORTING)


def plain(function: Callable) -> Callable:
    """The `jit` of plain Python: the function as it is."""
    return function


class CompilationFailed(Exception):
    """numba does not take a function."""


class Part:
    """A function that kernels call. From Python it runs plain."""

    def __init__(self, py_func: Callable, targetoptions: dict[str, Any]) -> None:
        # the names are numba's: a part stands where one of its dispatchers would stand
        self.py_func, self.targetoptions = py_func, targetoptions
        self.__name__, self.__doc__ = py_func.__name__, py_func.__doc__
        self._dispatcher: Any = None
        self._callee: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__qualname__}>"

    def _make(self) -> Any:
        from windrow.engine.compiler import dispatcher

        return dispatcher(self)

    @property
    def dispatcher(self) -> Any:
        """What numba makes of it."""
        if self._dispatcher is None:
            with _MAKING:
                self._dispatcher = self._dispatcher or self._make()
        return self._dispatcher

    def compiled(self, *arguments: Any) -> Any:
        """Calls the compiled form."""
        try:
            return self.dispatcher(*arguments)
        except _numba_errors() as error:
            raise CompilationFailed(str(error)) from error

    @property
    def _numba_type_(self) -> Any:
        """How numba takes a part that another one calls: without what Python needs to call it."""
        if self._callee is None:
            from windrow.engine.compiler import dispatcher

            with _MAKING:
                self._callee = self._callee or dispatcher(self, from_python=False)
        return self._callee._numba_type_


def inlined(error_model: ErrorModel) -> Callable[[Callable], Part]:
    """The `jit` of a kernel's parts. Inlined by numba, they are twice as fast as inlined by LLVM (measured)."""
    return lambda function: Part(function, {"inline": "always", "error_model": error_model})


def whole(error_model: ErrorModel) -> Callable[[Callable], Part]:
    """The `jit` of a function that is called, not inlined."""
    return lambda function: Part(function, {"nogil": True, "error_model": error_model})


def cached(part: Part) -> Kernel:
    """A part that Python calls. Compiled, it is kept on disk under a fingerprint of all that it consists of."""
    return Kernel(part, COMPILING, PER_ENTRY)


def cached_loop(part: Any) -> Kernel:
    """The same for a loop over an aggregate, which takes longer to compile, and longer per row."""
    return Kernel(part, COMPILING_LOOP, PER_ROW)


def cached_now(part: Any) -> Kernel:
    """The same for users' code of which it is known that it is to be compiled."""
    return Kernel(part, 0.0, math.inf)


class Kernel(Part):
    """A part that Python calls: see `cached`."""

    def __init__(self, part: Part, compile_seconds: float, per_entry: float) -> None:
        super().__init__(part.py_func, part.targetoptions)
        self.compile_seconds, self.per_entry = compile_seconds, per_entry
        self.spent = 0.0  # seconds of plain runs, as all seconds here at the usual pace
        self.ready = False  # the compiled form is used
        self.queued = False  # a thread compiles it
        self.looked = False  # whether it is on disk was asked

    def _make(self) -> Any:
        from windrow.engine.compiler import kept_on_disk

        return kept_on_disk(super()._make(), self)

    def __call__(self, *arguments: Any) -> Any:
        if self.ready and (not _plain_threads or mode_now() != "never"):
            return self.compiled(*arguments)
        if _choice.plain:
            return self.py_func(*arguments)
        entries = 1 + longest(arguments)
        if self._now(entries * self.per_entry, arguments):
            self.ready = True
            return self.compiled(*arguments)
        return self._plain(arguments, entries)

    def _plain(self, arguments: tuple, entries: int) -> Any:
        began = time.perf_counter()
        _choice.plain += 1
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn
                return self.py_func(*arguments)
        finally:
            _choice.plain -= 1
            seconds = (time.perf_counter() - began) / pace()
            self.spent += seconds
            if entries > ENOUGH:
                self.per_entry = seconds / entries

    def _now(self, ahead: float, arguments: tuple) -> bool:
        """Whether to run compiled at once, where a plain run would take so many seconds."""
        mode = mode_now()
        if mode != "auto":
            return mode == "always"
        if self.queued or self.spent + ahead < (LOADING if "numba" in sys.modules else LOADING + IMPORTING):
            return False
        if ahead > self.compile_seconds:
            return True
        if not self.looked:  # once: to know its name on disk takes longer than many a plain run
            from windrow.engine.compiler import on_disk

            self.looked = True
            if on_disk(self, arguments):
                return True
        if self.spent > EARLY * self.compile_seconds:
            from windrow.engine.background import compile_later

            self.queued = True
            compile_later(self, arguments)
        return False


def _numba_errors() -> type[Exception]:
    from numba.core.errors import NumbaError

    return NumbaError


def tell_a_person() -> None:
    """One line on stderr where compiling took long, for a person who waited for it."""
    if "numba" not in sys.modules:
        return
    from windrow.engine.compiler import waited

    line = waited()
    person = line and "WINDROW_QUIET" not in os.environ and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if person:
        print(line, file=sys.stderr)


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
