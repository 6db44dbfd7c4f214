"""numba, and the disk cache of compiled kernels.

numba's own cache cannot serve here: it looks at closures by pickling them, which gives other bytes in every process,
and does not look at what a global function does at all. `cached` keeps a kernel under its `fingerprint` instead.

A kernel consists of several machine-code functions, and the linker knows a function by its name alone. So names must
differ between kernels, also between those that different processes have compiled.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle  # numba's own format for machine code; no state of ours
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event
from numba.core.bytecode import FunctionIdentity

from windrow.engine import checked  # registers the error model "checked"
from windrow.engine.background import BACKGROUND
from windrow.engine.fingerprint import Unhashable, fingerprint
from windrow.engine.kernel import Part


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


def dispatcher(part: Part) -> Any:
    """numba's form of a part."""
    options: Any = part.targetoptions  # numba's types know its own error models only
    return numba.njit(**options)(part.py_func)


def return_type(function: Callable, *arguments: Any) -> Any:
    """The numba type that a function gives for arguments of these numba types."""
    compiled: Any = function.dispatcher if isinstance(function, Part) else numba.njit(function)
    compiled.compile(tuple(arguments))
    return compiled.overloads[tuple(arguments)].signature.return_type


def cache_directory() -> Path | None:
    """Where kernels are kept: WINDROW_CACHE_DIR ("": nowhere), else the user's cache, else a private temporary one."""
    named = os.environ.get("WINDROW_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for candidate in (Path(home) / "windrow", Path(tempfile.gettempdir()) / f"windrow-{os.getuid()}"):
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        # machine code is loaded from there: it must be ours alone
        if os.access(candidate, os.W_OK) and candidate.stat().st_uid == os.getuid():
            return candidate
    return None


class _Locator(caching._CacheLocator):
    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key

    def get_cache_path(self) -> str:
        return str(self.path)

    def get_source_stamp(self) -> str:
        return self.key

    def get_disambiguator(self) -> str:
        return self.key[:24]

    @classmethod
    def from_function(cls, py_func: Any, py_file: Any) -> None:  # pragma: no cover - never looked for
        return None


class _Implementation(caching.CompileResultCacheImpl):
    def __init__(self, py_func: Any, locator: _Locator) -> None:
        self._lineno = py_func.__code__.co_firstlineno
        self._locator = locator
        self._filename_base = self.get_filename_base(py_func.__name__, getattr(sys, "abiflags", ""))


class _KernelCache(caching.FunctionCache):
    def __init__(self, py_func: Any, path: Path, key: str) -> None:
        self._name, self._py_func, self._key = repr(py_func), py_func, key
        self._impl = _Implementation(py_func, _Locator(path, key))
        self._cache_path = str(path)
        self._cache_file = caching.IndexDataCacheFile(str(path), self._impl.filename_base, key)
        self.enable()

    def _index_key(self, sig: Any, codegen: Any) -> tuple:
        return sig, codegen.magic_tuple(), self._key

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a torn or foreign file: compile again, and write it anew
            return None
        # Two processes that save two signatures at once can write index and code for each other's.
        return found if found is not None and found.signature.args == tuple(sig) else None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next process a compilation, no more
            try:
                super().save_overload(sig, data)
            except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError):
                self._cache_file.flush()  # the index was torn
                super().save_overload(sig, data)


def kept_on_disk(compiled: Any, kernel: Part) -> Any:
    """numba's form of a kernel, kept on disk under the fingerprint of all that it consists of."""
    found = _cache_of(kernel)
    if found is not None:
        compiled._cache = found
    return compiled


def on_disk(kernel: Part) -> bool:
    """Whether it was compiled before, for whatever types."""
    found = _cache_of(kernel)
    return found is not None and os.path.exists(found._cache_file._index_path)


def _cache_of(kernel: Part) -> _KernelCache | None:
    directory = cache_directory()
    if directory is None:
        return None
    try:
        key = fingerprint(kernel, numba.__version__, sys.version, f"checked {checked.VERSION}")
    except Unhashable:
        return None
    return _KernelCache(kernel.py_func, directory, key)
