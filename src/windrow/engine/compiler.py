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
from collections.abc import Callable
from typing import Any, Literal

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.errors import NumbaError

from windrow.engine import checked  # registers the error model "checked"
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.kernel_files import KernelFiles, config

CompilationFailed = NumbaError
ErrorModel = Literal["checked", "numpy"]  # of users' code, of our own
#: with NUMBA_DISABLE_JIT, functions stay as they are, and all aggregates run in plain Python
COMPILES = not config.DISABLE_JIT


def number_functions_apart() -> None:
    """From now on this process numbers compiled functions as no other process does.

    The number is what tells two compiled functions of one qualified name and signature apart. numba counts from 1 in
    every process. So two kernels on disk, say `max` and `sum`, could both have a `recompute` number 59, and a process
    that loaded both ran one of them for both: a wrong answer without an error.
    """
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


number_functions_apart()
os.register_at_fork(after_in_child=number_functions_apart)


_MAKING = threading.RLock()


def once(memo: dict, key: Any, make: Callable[[], Any]) -> Any:
    """memo[key], made where it is not there; once, whichever of several threads is the first to ask."""
    if key not in memo:
        with _MAKING:
            if key not in memo:
                memo[key] = make()
    return memo[key]


def plain(function: Callable) -> Callable:
    """The `jit` of plain Python: the function as it is."""
    return function


def inlined(error_model: ErrorModel) -> Callable[[Callable], Callable]:
    """The `jit` of a kernel's parts. Inlined by numba, they are twice as fast as inlined by LLVM (measured)."""
    model: Any = error_model  # numba's types know its own models only
    return numba.njit(inline="always", error_model=model)


def whole(error_model: ErrorModel) -> Callable[[Callable], Callable]:
    """The `jit` of a function that is called, not inlined."""
    model: Any = error_model
    return numba.njit(nogil=True, error_model=model)


def return_type(function: Callable, *arguments: Any) -> Any:
    """The numba type that a function gives for arguments of these numba types."""
    dispatcher: Any = function if hasattr(function, "py_func") else numba.njit(function)
    dispatcher.compile(tuple(arguments))
    return dispatcher.overloads[tuple(arguments)].signature.return_type


def cached(dispatcher: Any) -> Any:
    """The compiled function, kept on disk under the fingerprint of all that it consists of."""
    if os.environ.get("WINDROW_CACHE_DIR") == "" or not COMPILES:
        return dispatcher
    with contextlib.suppress(Unhashable):
        key = fingerprint(dispatcher, numba.__version__, sys.version, f"checked {checked.VERSION}")
        dispatcher._cache = KernelFiles(dispatcher.py_func.__name__, key)
    return dispatcher
