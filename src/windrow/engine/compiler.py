"""numba, and the disk cache of compiled kernels.

numba's own cache cannot serve here: it looks at closures by pickling them, which gives other bytes in every process,
and does not look at what a global function does at all. `cached` keeps a kernel under its `fingerprint` instead
(`kernel_files`).

A kernel consists of several machine-code functions, and the linker knows a function by its name alone. So names must
differ between kernels, also between those that different processes have compiled.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import cpu_target

from windrow.engine import checked  # registers the error model "checked"
from windrow.engine.background import BACKGROUND
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.kernel import Part
from windrow.engine.kernel_files import KernelFiles, cache_directory


def number_functions_apart() -> None:
    """From now on this process numbers compiled functions as no other process does.

    The number is what tells two compiled functions of one qualified name and signature apart. numba counts from 1 in
    every process. So two kernels on disk, say `max` and `sum`, could both have a `recompute` number 59, and a process
    that loaded both ran one of them for both: a wrong answer without an error.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


number_functions_apart()
os.register_at_fork(after_in_child=number_functions_apart)


#: seconds of compiling that somebody waits for without a word
SILENT = 1.0


class _Watch(event.Listener):
    """How much was compiled, and how long it took; a thread in the background is not waited for."""

    def __init__(self) -> None:
        self.seconds, self.kernels, self.depth, self.began = 0.0, 0, 0, 0.0

    def on_start(self, happened: Any) -> None:
        if threading.current_thread().name != BACKGROUND:
            self.depth += 1
            self.began = time.perf_counter() if self.depth == 1 else self.began

    def on_end(self, happened: Any) -> None:
        if threading.current_thread().name != BACKGROUND:
            self.depth -= 1
            if not self.depth:
                self.seconds += time.perf_counter() - self.began
                self.kernels += 1


_watch = _Watch()
event.register("numba:compile", _watch)


def waited() -> str | None:
    """What was compiled since this was last asked, where that took long."""
    seconds, kernels = _watch.seconds, _watch.kernels
    _watch.seconds, _watch.kernels = 0.0, 0
    if seconds < SILENT:
        return None
    kept = cache_directory()
    where = f"Kept in {kept} for the next time" if kept else "Set WINDROW_CACHE_DIR to keep them"
    return f"windrow compiled {kernels} kernels in {seconds:.1f} s. {where}. WINDROW_QUIET=1 hides this line."


def dispatcher(part: Part, from_python: bool = True) -> Any:
    """numba's form of a part. Nobody calls it from C, and some parts are not called from Python either."""
    options: Any = {**part.targetoptions, "no_cfunc_wrapper": True, "no_cpython_wrapper": not from_python}
    return numba.njit(**options)(part.py_func)


def return_type(function: Callable, *arguments: Any) -> Any:
    """The numba type that a function gives for arguments of these numba types."""
    compiled: Any = function.dispatcher if isinstance(function, Part) else numba.njit(function)
    compiled.compile(tuple(arguments))
    return compiled.overloads[tuple(arguments)].signature.return_type


def kept_on_disk(compiled: Any, kernel: Part) -> Any:
    """numba's form of a kernel, kept on disk under the fingerprint of all that it consists of."""
    found = _files_of(kernel)
    if found is not None:
        compiled._cache = found
    return compiled


def on_disk(kernel: Part, arguments: tuple) -> bool:
    """Whether it was compiled before, for arguments of these types."""
    found = _files_of(kernel)
    types = tuple(numba.typeof(argument) for argument in arguments)
    return found is not None and found.has(types, cpu_target.target_context.codegen())


def _files_of(kernel: Part) -> KernelFiles | None:
    if os.environ.get("WINDROW_CACHE_DIR") == "":
        return None
    with contextlib.suppress(Unhashable):
        key = fingerprint(kernel, numba.__version__, sys.implementation.cache_tag, f"checked {checked.VERSION}")
        return KernelFiles(kernel.py_func.__name__, key)
    return None
