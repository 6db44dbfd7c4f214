"""Folders and files that nobody but this user (and root) can have written, and the key that we sign our files with.

Machine code is loaded from files. Who can write such a file, or put another one in its place, can run code as this
user. So the folder, the folders above it and each file are checked for owner and mode, and what a file has in it is
believed only with a signature under a key that is this user's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from pathlib import Path

from windrow.errors import UnsafeFile

KEY_BYTES = 32
SIGNATURE_BYTES = 32
KEY_FILE = "cache.key"
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def signature(key: bytes, purpose: str, content: bytes) -> bytes:
    """HMAC-SHA256 of some content; the purpose, for example a file's name, keeps contents from being swapped."""
    head = purpose.encode()
    return hmac.digest(key, len(head).to_bytes(8, "big") + head + content, hashlib.sha256)


def same(mine: bytes, theirs: bytes) -> bool:
    """Whether two signatures are equal, in a time that tells nothing."""
    return hmac.compare_digest(mine, theirs)


def checked_folder(path: Path) -> Path:
    """The folder without symbolic links, where nobody else can change what is in it; else `UnsafeFile`, by name."""
    real = path.resolve()
    _check(real, os.stat(real), _WRITABLE)
    for parent in real.parents:
        found = os.stat(parent)
        # In a sticky folder, as /tmp is, others cannot rename or remove what is ours. Many systems give each user a
        # group of its own, which may write to the user's folders.
        harmless = found.st_mode & stat.S_ISVTX
        writers = stat.S_IWOTH if found.st_gid == os.getegid() else _WRITABLE
        _check(parent, found, 0 if harmless else writers)
    return real


def read(path: Path) -> bytes | None:
    """What is in a file of ours, None where there is none; `UnsafeFile` where others own it or can write to it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        if path.is_symlink():
            raise UnsafeFile(f"{path} is a symbolic link: remove it") from None
        raise
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UnsafeFile(f"{path} is no ordinary file: remove it")
        _check(path, found, _WRITABLE)
        return file.read()


def write(path: Path, content: bytes, replace: bool = True) -> None:
    """Puts a whole file there, private to this user; without `replace` only where there is none."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        if replace:
            os.replace(fresh, path)
        else:
            with contextlib.suppress(FileExistsError):
                os.link(fresh, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)


def own_folder(variable: str, in_home: str) -> Path | None:
    """A private folder of this user, made where there is none: `$variable/windrow` or `~/in_home/windrow`, else one for
    temporary files; None where neither can be had."""
    home = os.environ.get(variable) or os.path.join(os.path.expanduser("~"), in_home)
    for candidate in (Path(home) / "windrow", Path(tempfile.gettempdir()) / f"windrow-{os.getuid()}"):
        try:
            candidate.mkdir(parents=True, exist_ok=True, mode=0o700)
            if candidate.stat().st_uid == os.getuid():
                candidate.chmod(0o700)
            if os.access(candidate, os.W_OK):
                return checked_folder(candidate)
        except (OSError, UnsafeFile):
            continue
    return None


def own_key() -> bytes | None:
    """The key of this user, made at the first use; None where there is no private place for it."""
    folder = own_folder("XDG_DATA_HOME", ".local/share")
    if folder is None:
        return None
    path = folder / KEY_FILE
    for _ in range(2):
        found = read(path)
        if found is not None and os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise UnsafeFile(f"others can read the key {path}: remove it, a new one will be made")
        if found is not None and len(found) == KEY_BYTES:
            return found
        try:
            write(path, secrets.token_bytes(KEY_BYTES), replace=found is not None)
        except OSError:
            return None
    return read(path)


def _check(path: Path, found: os.stat_result, writers: int) -> None:
    if found.st_uid not in (0, os.getuid()):
        raise UnsafeFile(
            f"{path} belongs to user {found.st_uid}, not to this one ({os.getuid()}): "
            "compiled code is not loaded from there; name another folder in WINDROW_CACHE_DIR"
        )
    if found.st_mode & writers:
        who = "everybody" if found.st_mode & stat.S_IWOTH else f"group {found.st_gid}"
        raise UnsafeFile(
            f"{path} can be written by {who} (mode {stat.S_IMODE(found.st_mode):04o}): "
            f"compiled code is not loaded from there; run `chmod go-w {path}`, or name another folder in "
            "WINDROW_CACHE_DIR"
        )
