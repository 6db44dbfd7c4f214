"""Compiled kernels on disk: one signed file for each kernel and signature.

numba keeps machine code as pickles, and a pickle can run code when it is read. So a file begins with a signature, under
a key that is private to the user (`engine.private`), of its name and of all that follows. Nothing is unpickled before
that is checked. A file that is damaged, or signed by somebody else, is compiled and written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle  # numba's own format for machine code; no state of ours
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core import config as numba_config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from windrow.engine import private

SUFFIX = ".kernel"
config: Any = numba_config  # its settings are made as it is imported


def cache_directory() -> Path | None:
    """Where kernels are kept: WINDROW_CACHE_DIR ("": nowhere), else the user's cache, else a private temporary one.

    `UnsafeFile` where WINDROW_CACHE_DIR names a folder that others can write to.
    """
    named = os.environ.get("WINDROW_CACHE_DIR")
    if named is None:
        return private.own_folder("XDG_CACHE_HOME", ".cache")
    return _named(named) if named else None


def _named(folder: str) -> Path | None:
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return private.checked_folder(path)
    except OSError:  # it cannot be made, or is none: kernels are not kept
        return None


@cache
def _place(*environment: str | None) -> tuple[Path, bytes] | None:
    """The folder and the key, looked for once in each environment."""
    folder = cache_directory()
    key = None if folder is None else private.own_key()
    return None if folder is None or key is None else (folder, key)


def _place_now() -> tuple[Path, bytes] | None:
    return _place(*map(os.environ.get, ("WINDROW_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME", "TMPDIR")))


class KernelFiles(caching._Cache):
    """What numba asks where it compiles a kernel: the files of one kernel, known by its fingerprint."""

    def __init__(self, name: str, fingerprint: str) -> None:
        self.name, self.fingerprint = name if name.isidentifier() else "kernel", fingerprint

    @property
    def cache_path(self) -> str:
        place = _place_now()
        return "" if place is None else str(place[0])

    def _files(self, sig: Any, codegen: Any) -> list[str]:
        """The names of files for a signature: for this machine's CPU, and for any of its architecture."""
        own = codegen.magic_tuple()
        return [self._file(sig, own), self._file(sig, (own[0], "generic", ""))]

    def _file(self, sig: Any, target: tuple) -> str:
        """The name of the file for a signature and a CPU, with these settings of numba."""
        parts = (self.fingerprint, tuple(sig), target, str(config.OPT), config.BOUNDSCHECK)
        return f"{self.name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:40]}{SUFFIX}"

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether there is a file for a signature, whatever is in it."""
        place = _place_now()
        return place is not None and any(os.path.exists(place[0] / name) for name in self._files(sig, codegen))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        place = _place_now()
        if place is None:
            return None
        for name in self._files(sig, target_context.codegen()):
            found = _loaded(*place, name, target_context)
            if found is not None and found.signature.args == tuple(sig):
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        place = _place_now()
        # without optimization, kernels hold addresses of this process
        if place is None or data.library.has_dynamic_globals or any(not loop.can_cache for loop in data.lifted):
            return
        (folder, key), name = place, self._file(sig, data.codegen.magic_tuple())
        body = dumps(data._reduce())
        with contextlib.suppress(OSError):  # a full or read-only disk costs the next process a compilation, no more
            private.write(folder / name, private.signature(key, name, body) + body)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...


def _loaded(folder: Path, key: bytes, name: str, target_context: Any) -> Any:
    """The kernel in a file of ours; None where there is none, or it is of no use."""
    try:
        content = private.read(folder / name)
    except OSError:
        return None
    if content is None:
        return None
    signature, body = content[: private.SIGNATURE_BYTES], content[private.SIGNATURE_BYTES :]
    if not private.same(signature, private.signature(key, name, body)):
        return None
    try:
        return CompileResult._rebuild(target_context, *pickle.loads(body))
    except Exception:  # written by a numba that differs in more than its version: compile again
        return None
