"""Where a local stream is: one file, replaced as a whole, that says which rows are in which results."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windrow.cli.ending import Usage
from windrow.engine.snapshot import opened, sealed
from windrow.errors import SnapshotError, WindrowError

FILE, LOCK = "checkpoint", "lock"
LAYOUT = 1


@dataclass
class Place:
    """What has been read and written so far.

    Args:
        form: of the results.
        schema: the input's columns, as Arrow bytes.
        live: the query's snapshot.
        done: the files that have been read, with their sizes.
        current: a file in which the stream stopped, its size, and how many of its rows have been read.
        parts: how many files of results there are.
        results: the results' columns, as Arrow bytes.
        closed: the rest of the results was asked for; nothing comes after it.
    """

    form: str
    schema: bytes
    live: bytes = b""
    done: dict[str, int] = field(default_factory=dict)
    current: tuple[str, int, int] | None = None
    parts: int = 0
    results: bytes = b""
    closed: bool = False


def load(folder: Path) -> Place | None:
    """What the folder says; None where nothing has been saved there yet."""
    file = folder / FILE
    if not file.exists():
        others = [entry.name for entry in folder.iterdir() if entry.name != LOCK] if folder.is_dir() else []
        if others:
            raise Usage(f"--checkpoint {folder}: holds {min(others)}, and no checkpoint of a stream of this command")
        return None
    try:
        kind, layout, state = opened(file.read_bytes())
        if (kind, layout) != ("stream of files", LAYOUT):
            raise SnapshotError(f"it is a {kind} of layout {layout}, not a stream of files of layout {LAYOUT}")
        parts = dict(state)
        return Place(**{**parts, "done": dict(parts["done"])})
    except (SnapshotError, OSError, ValueError, TypeError, KeyError) as error:
        raise WindrowError(f"--checkpoint {folder}: cannot be read: {error}") from error


def save(folder: Path, place: Place) -> None:
    """Replaces the checkpoint; what it says is on the disk when this returns."""
    state = [(name, value) for name, value in vars(place).items() if name != "done"]
    state.append(("done", [(name, size) for name, size in place.done.items()]))
    new = folder / f".{FILE}.new"
    with new.open("wb") as file:
        file.write(sealed(("stream of files", LAYOUT, state)))
        file.flush()
        os.fsync(file.fileno())
    new.rename(folder / FILE)
    sync(folder)


def sync(folder: Path) -> None:
    """Names in the folder are on the disk, too."""
    if os.name == "nt":  # folders are no files there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder is ours until the block ends: two streams on one checkpoint would write everything twice."""
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        lock: Any = (folder / LOCK).open("w")
    except OSError as error:
        raise Usage(f"--checkpoint {folder}: cannot be used: {error.strerror or error}") from None
    try:
        _lock(lock, folder)
        yield
    finally:
        lock.close()
        if not (folder / FILE).exists():  # nothing was saved
            (folder / LOCK).unlink(missing_ok=True)
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _lock(file: Any, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Usage(f"--checkpoint {folder}: another process is running on it") from None
