"""Kernels in one file: made here, used there, and only from a file that nobody else could have written."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

import windrow
from windrow import win
from windrow.engine import kernel_pack
from windrow.engine.kernel import cached, whole
from windrow.errors import UnsafeFile, WindrowError

#: loads kernels for any CPU, and says how many had to be compiled
ELSEWHERE = """
import sys
from pathlib import Path
from windrow.engine.kernel import cached, whole
from windrow.engine.kernel_pack import pack, unpack

def halved(x):
    return x / 2

made = cached(whole("numpy")(halved)).dispatcher
if sys.argv[1] == "pack":
    assert made(3.0) == 1.5
    pack(Path(sys.argv[2]))
else:
    unpack(Path(sys.argv[2]))
    assert made(3.0) == 1.5
print(sum(made.stats.cache_misses.values()))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def test_a_pack_for_any_cpu_is_used_by_another_user(tmp_path: Path) -> None:
    def elsewhere(user: str, what: str, **settings: str) -> str:
        own = {"WINDROW_CACHE_DIR": str(tmp_path / user), "XDG_DATA_HOME": str(tmp_path / f"{user} data")}
        command = [sys.executable, "-c", ELSEWHERE, what, str(tmp_path / "pack.tar.gz")]
        done = subprocess.run(command, env={**os.environ, **own, **settings}, capture_output=True, text=True)
        assert not done.stderr
        return done.stdout.strip()

    assert elsewhere("one", "pack", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == "1"
    assert elsewhere("other", "unpack") == "0"


def some_pack(place: Path) -> Path:
    made = cached(whole("numpy")(lambda x: x + 7)).dispatcher
    assert made(1) == 8
    target = place / "pack.tar.gz"
    assert kernel_pack.pack(target) == 1
    return target


def test_a_pack_that_others_can_write_to_is_refused(place: Path) -> None:
    target = some_pack(place)
    target.chmod(0o666)
    with pytest.raises(UnsafeFile, match="can be written by everybody"):
        kernel_pack.unpack(target)


def rewritten(target: Path, changes: dict[str, bytes]) -> None:
    with tarfile.open(target) as tar:
        content = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    with tarfile.open(target, "w:gz") as tar:
        for name, data in {**content, **changes}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


@pytest.mark.parametrize("name", ["../kernel.kernel", "/etc/passwd", "x.kernel", "run-" + "0" * 40 + ".py"])
def test_other_files_in_a_pack_are_refused(place: Path, name: str) -> None:
    target = some_pack(place)
    rewritten(target, {name: b"x"})
    with pytest.raises(WindrowError, match="no pack of kernels, or it is damaged: it has an entry"):
        kernel_pack.unpack(target)
    assert len(list((place / "kernels").iterdir())) == 1


def test_a_pack_for_another_numba_is_refused(place: Path) -> None:
    target = some_pack(place)
    rewritten(target, {kernel_pack.MANIFEST: b'{"layout": 1, "python": "cpython-27"}'})
    with pytest.raises(WindrowError, match="was made for python 'cpython-27'; here it is"):
        kernel_pack.unpack(target)


@pytest.mark.parametrize("content", [b"", b"no pack", b"\x1f\x8b\x08"])
def test_garbage_is_refused(place: Path, content: bytes) -> None:
    target = place / "pack.tar.gz"
    target.write_bytes(content)
    target.chmod(0o600)
    with pytest.raises(WindrowError, match="no pack of kernels"):
        kernel_pack.unpack(target)


def test_a_query_is_warmed(place: Path) -> None:
    own = windrow.Aggregate(lambda x: 31.25 * x, lambda a, b: a + b, identity=0.0)  # no other test has compiled it
    query = windrow.Query(windows=win.tumbling(2), aggregates={"s": own("x")})
    windrow.warm(query, {"x": np.arange(4.0)})
    assert list((place / "kernels").glob("*.kernel"))
    with pytest.raises(WindrowError, match="a few rows of the query's data"):
        windrow.warm(query)
