"""Compiled code is loaded only from files that nobody else can have written."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from windrow.engine import private
from windrow.engine.kernel import cached, whole
from windrow.errors import UnsafeFile

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
SOMEBODY = 54321


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return use(tmp_path / "kernels", monkeypatch)


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(folder))
    return folder


def kernel(add: int = 1) -> Callable:
    def plus(x):
        return x + add

    return cached(whole("numpy")(plus)).dispatcher


def hits(function: Callable) -> int:
    return sum(function.stats.cache_hits.values())


def used(add: int = 1) -> int:
    """Calls a new kernel; how often it was found on disk."""
    made = kernel(add)
    assert made(3) == 3 + add
    return hits(made)


class Planted:
    """A pickle that runs code when it is read."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.witness),)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    with pytest.raises(UnsafeFile, match=f"{folder} can be written by (everybody|group)"):
        kernel()(3)
    folder.chmod(0o755)
    assert [used(), used()] == [0, 1]


def test_a_query_tells_of_the_folder(folder: Path) -> None:
    folder.chmod(0o777)
    program = (
        "import windrow; from windrow import agg, win\n"
        "windrow.Query(windows=win.trailing(3), aggregates={'n': agg.sum('x')}).run({'x': [1, 2]})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"windrow.errors.UnsafeFile: {folder} can be written by everybody (mode 0777)" in done.stderr


@as_root
def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
    os.chown(folder, SOMEBODY, -1)
    with pytest.raises(UnsafeFile, match=f"{folder} belongs to user {SOMEBODY}"):
        kernel()(3)


def test_folders_above_are_checked(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    above = tmp_path / "above"
    above.mkdir()
    inside = use(above / "inside", monkeypatch)
    above.chmod(0o777)
    with pytest.raises(UnsafeFile, match=f"{above} can be written by everybody"):
        kernel()(3)
    above.chmod(0o1777)  # as /tmp is: others cannot rename what is ours
    assert [used(), used()] == [0, 1]
    above.chmod(0o777)
    link = folder / "link"
    link.symlink_to(inside)
    use(link, monkeypatch)
    with pytest.raises(UnsafeFile, match=f"{above} can be written by everybody"):
        kernel()(3)


def test_files_of_others_are_refused_by_name(folder: Path) -> None:
    used()
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o666)
    with pytest.raises(UnsafeFile, match=f"{file} can be written by everybody"):
        kernel()(3)
    file.chmod(0o600)
    elsewhere = file.rename(folder / "elsewhere")
    file.symlink_to(elsewhere)
    with pytest.raises(UnsafeFile, match=f"{file} is a symbolic link"):
        kernel()(3)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(UnsafeFile, match=f"{file} is no ordinary file"):
        kernel()(3)
    file.unlink()
    elsewhere.rename(file)
    if os.getuid() == 0:
        os.chown(file, SOMEBODY, -1)
        with pytest.raises(UnsafeFile, match=f"{file} belongs to user {SOMEBODY}"):
            kernel()(3)
        os.chown(file, 0, -1)
    assert used() == 1


def test_garbage_is_replaced_and_never_unpickled(folder: Path, tmp_path: Path) -> None:
    used()
    (file,) = folder.iterdir()
    good, witness = file.read_bytes(), tmp_path / "witness"
    planted = pickle.dumps(Planted(witness))
    cut = private.SIGNATURE_BYTES
    for garbage in (
        b"",
        b"x",
        planted,
        good[:cut] + planted,
        good[:-1],
        good + b"\0",
        b"\0" * cut + planted,
        good[:cut],
    ):
        file.write_bytes(garbage)
        assert [used(), used()] == [0, 1]
        assert not witness.exists()
    pickle.loads(planted)
    assert witness.exists()


def test_files_are_signed_under_the_users_key(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [used(), used()] == [0, 1]
    (key,) = (tmp_path / "data").rglob("*.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == private.KEY_BYTES
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other"))
    assert [used(), used()] == [0, 1]


def test_a_file_under_another_name_is_not_taken(folder: Path) -> None:
    used(1)
    (one,) = folder.iterdir()
    used(2)
    (two,) = set(folder.iterdir()) - {one}
    two.write_bytes(one.read_bytes())
    assert used(2) == 0


def test_the_key_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "from windrow.engine.private import own_key; print(own_key().hex())"
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, "-c", program]
    children = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({child.communicate()[0] for child in children}) == 1
    (key,) = (tmp_path / "windrow").iterdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    key.write_bytes(b"short")
    assert len(private.own_key() or b"") == private.KEY_BYTES
    assert private.own_key() == key.read_bytes()
    key.chmod(0o644)
    with pytest.raises(UnsafeFile, match=f"others can read the key {key}"):
        private.own_key()


def test_our_own_folder_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "windrow").mkdir(mode=0o755)
    (tmp_path / "windrow").chmod(0o777)
    assert private.own_folder("XDG_CACHE_HOME", ".cache") == tmp_path / "windrow"
    assert stat.S_IMODE((tmp_path / "windrow").stat().st_mode) == 0o700


def test_a_place_that_cannot_be_had_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for name in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("WINDROW_CACHE_DIR", str(name))
        assert used() == 0
    monkeypatch.setenv("WINDROW_CACHE_DIR", str(tmp_path / "new" / "folder"))
    assert [used(), used()] == [0, 1]


QUERIES = """
import windrow
from windrow import agg, win
table = {"t": [1, 2, 3, 12, 13], "k": [1, 2, 1, 1, 2], "x": [1.5, 2.0, 3.0, 4.0, 5.0]}
class Pairs:
    def __init__(self): self.n = 0
    def discretize(self, row):
        self.n += 1
        return (1, 1) if self.n % 2 and self.n > 1 else (self.n % 2, 0)
kinds = [win.trailing(2), win.tumbling(2), win.session(5, on="t"), win.punctuated("x > 2"), win.user_defined(Pairs),
         win.policy(lambda total, old: total.n > 2, over={"n": agg.count()})]
for windows in kinds[:KINDS]:
    over = windrow.Query(by="k", windows=windows, aggregates={"s": agg.sum("x"), "f": agg.first("x")})
    live = over.open()
    sent = [live.push({c: v[i : i + 2] for c, v in table.items()})["s"].tolist() for i in (0, 2, 4)]
    print(over.run(table)["s"].tolist(), sent, live.close()["s"].tolist())
"""


@pytest.mark.parametrize(("setting", "kinds"), [("NUMBA_OPT=0", 1), ("NUMBA_DISABLE_JIT=1", 6)])
def test_settings_of_numba(tmp_path: Path, setting: str, kinds: int) -> None:
    """Without optimization, and without compilation, all works as ever, with a cache too."""

    def answers(**settings: str) -> list[str]:
        program = QUERIES.replace("KINDS", str(kinds))
        environment = {**os.environ, **settings}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        return [done.stderr, *done.stdout.splitlines()]

    name, value = setting.split("=")
    usual = answers()
    assert len(usual) == 1 + kinds
    assert answers(**{"WINDROW_CACHE_DIR": str(tmp_path), name: value}) == usual
