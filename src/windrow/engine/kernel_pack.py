"""Compiled kernels in one file, to be taken to other machines.

A pack is a tar file: first a manifest, then kernels without signatures. Who takes one in vouches for it: machine code
is not checked, but only run. So the file must be one that nobody else could have written (`engine.private`), and each
kernel is signed anew with the user's own key.
"""

from __future__ import annotations

import io
import json
import re
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from windrow.engine import private
from windrow.engine.kernel_files import SUFFIX, cache_directory
from windrow.errors import WindrowError

MANIFEST = "manifest.json"
LAYOUT = 1
#: a kernel has some 50 kB
MOST_BYTES = 1 << 26
_NAME = re.compile(rf"[A-Za-z_]\w{{0,80}}-[0-9a-f]{{40}}{re.escape(SUFFIX)}")


def pack(target: Path) -> int:
    """Writes all kernels of the cache into a file; how many there are."""
    folder, key = _place()
    kernels: dict[str, bytes] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        content = private.read(path)
        if content is None:
            continue
        signature, body = content[: private.SIGNATURE_BYTES], content[private.SIGNATURE_BYTES :]
        if private.same(signature, private.signature(key, path.name, body)):
            kernels[path.name] = body
    manifest = json.dumps(_facts()).encode()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in {MANIFEST: manifest, **kernels}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    private.write(target, made.getvalue())
    return len(kernels)


def unpack(source: Path) -> int:
    """Takes the kernels of a file into the cache; how many there are."""
    folder, key = _place()
    private.checked_folder(source.parent)
    content = private.read(source)
    if content is None:
        raise WindrowError(f"there is no file {source}")
    try:
        kernels = _read(content)
        manifest = json.loads(kernels.pop(MANIFEST))
    except (tarfile.TarError, OSError, EOFError, KeyError, ValueError) as error:
        raise WindrowError(f"{source} is no pack of kernels, or it is damaged: {error}") from error
    _check(source, manifest)
    for name, body in kernels.items():
        private.write(folder / name, private.signature(key, name, body) + body)
    return len(kernels)


def _read(content: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
        for entry in tar:
            known = entry.name == MANIFEST or _NAME.fullmatch(entry.name)
            if not known or not entry.isreg() or entry.size > MOST_BYTES:
                raise ValueError(f"it has an entry {entry.name!r}")
            file = tar.extractfile(entry)
            assert file is not None
            found[entry.name] = file.read()
    return found


def _facts() -> dict[str, Any]:
    """What a pack must have in common with the machine that uses it."""
    import platform

    import numba

    return {
        "layout": LAYOUT,
        "python": sys.implementation.cache_tag,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "system": platform.system(),
    }


def _check(source: Path, manifest: Mapping[str, Any]) -> None:
    for name, mine in _facts().items():
        theirs = manifest.get(name) if isinstance(manifest, dict) else None
        if theirs != mine:
            raise WindrowError(f"{source} was made for {name} {theirs!r}; here it is {mine!r}: compile anew")


def _place() -> tuple[Path, bytes]:
    folder = cache_directory()
    key = None if folder is None else private.own_key()
    if folder is None or key is None:
        raise WindrowError("there is no folder for kernels: set WINDROW_CACHE_DIR")
    return folder, key
