"""Lost, torn and reordered writes; bit flips; a full disk; processes killed at any moment: never a wrong answer."""

import collections
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores import faults
from windrow import stores
from windrow.errors import SnapshotError, WindrowError
from windrow.stores.keys import all_of
from windrow.swag import AMTA

HERE = Path(__file__).parent


def run_faults(every: int):
    batches, states = faults.recorded(500)
    seen = collections.Counter()
    for fault in ("lost", "torn", "reordered"):
        for at in range(0, 500, every):
            store = faults.replayed(batches, fault, at, random.Random(at))
            seen[fault, faults.verdict(store, states).split()[0]] += 1
    return seen


def test_writes_that_are_lost_torn_or_reordered():
    seen = run_faults(every=20)
    assert sum(seen.values()) == 75


@pytest.mark.slow
def test_every_write_of_500_lost_torn_or_reordered():
    seen = run_faults(every=1)
    assert sum(seen.values()) == 1500
    print(dict(seen))
    assert seen["lost", "checkpoint"] and seen["lost", "DamagedPage"]  # the faults did hit


def test_the_verdict_tells_a_wrong_answer():
    batches, states = faults.recorded(60)
    store = faults.replayed(batches, "none", 0, random.Random(0))
    assert faults.verdict(store, states).startswith("checkpoint")
    states[max(states)][0] += 1
    with pytest.raises(AssertionError):
        faults.verdict(store, states)


def flipped(value: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return value[: rng.randrange(len(value))]
    i = rng.randrange(8 * len(value))
    return value[: i // 8] + bytes([value[i // 8] ^ 1 << i % 8]) + value[i // 8 + 1 :]


def damaged_values(count: int):
    batches, states = faults.recorded(200)
    seen = collections.Counter()
    for seed in range(count):
        rng = random.Random(seed)
        store = faults.replayed(batches, "none", 0, rng)
        live = list(store.scan(*all_of("window")))
        key, value = rng.choice(live)
        store.put(key, flipped(value, rng))
        seen[faults.verdict(store, states).split()[0]] += 1
    return seen


def test_damaged_values():
    seen = damaged_values(40)
    assert seen["DamagedPage"] or seen["SnapshotError"]


@pytest.mark.slow
def test_500_damaged_values():
    print(damaged_values(500))


def copy_of_a_running_store(source: Path, target: Path) -> None:
    """As it is at one moment: once more where RocksDB has written or removed a file meanwhile."""
    for _ in range(100):
        before = sorted(file.name for file in source.iterdir())
        try:
            shutil.copytree(source, target)
            if before == sorted(file.name for file in source.iterdir()):
                return
        except shutil.Error:
            pass
        shutil.rmtree(target, ignore_errors=True)
    raise AssertionError("the store never rests")


def damaged_files(folder: Path, count: int):
    """Bits flipped and files cut in a RocksDB that was killed, each time in a fresh copy of it."""
    batches, states = faults.recorded(200)
    store = stores.rocksdb(folder / "db", memory=1 << 18)
    for batch in batches:
        store.write(stores.Batch(batch.puts, batch.ranges), durable=True)
    copy_of_a_running_store(folder / "db", folder / "dead")  # as a kill leaves it: with its log
    store.close()
    seen = collections.Counter()
    for seed in range(count):
        rng = random.Random(seed)
        shutil.copytree(folder / "dead", folder / "copy")
        file = rng.choice([f for f in sorted((folder / "copy").iterdir()) if f.stat().st_size and f.name[:3] != "LOG"])
        file.write_bytes(flipped(file.read_bytes(), rng))
        try:
            again = stores.rocksdb(folder / "copy", memory=1 << 18)
            try:
                found = faults.verdict(again, states)
                assert not found.startswith("checkpoint") or int(found.split()[1]) == max(states), "went back"
                seen[found.split()[0]] += 1
            finally:
                with contextlib.suppress(WindrowError):  # what is damaged may not close well, either
                    again.close()
        except WindrowError as error:
            seen[type(error).__name__] += 1
        shutil.rmtree(folder / "copy")
    return seen


def test_damaged_files(tmp_path):
    assert sum(damaged_files(tmp_path, 8).values()) == 8


@pytest.mark.slow
def test_200_damaged_files(tmp_path):
    print(damaged_files(tmp_path, 200))


def python(script: str, *arguments: str, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent.parent), *filter(None, sys.path)])}
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, **options)


def killed(folder: Path, times: int) -> dict:
    done = python("kill_child.py", str(folder), str(times))
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_killed_processes(tmp_path):
    report = killed(tmp_path, 10)
    assert report["kills"] == 10 and report["wrong"] == 0 and report["opened"] > 5


@pytest.mark.slow
def test_200_killed_processes(tmp_path):
    report = killed(tmp_path, 200)
    print(report)
    assert report["kills"] == 200 and report["wrong"] == 0
    assert report["opened"] > 150 and report["went_on"] > 50  # from so many different checkpoints


def test_a_full_disk(tmp_path):
    """A limit for the size of files, as a disk that is full: a clear error, and what was durable is there."""
    done = python("full_child.py", str(tmp_path / "db"))
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["error"] == "StoreError" and "limit for the size" in report["text"]
    store = stores.rocksdb(tmp_path / "db")
    w = AMTA.open(faults.order, store)
    w.check_invariants()
    assert (w.number, len(w), w.query()) == (report["number"], report["rows"], report["hash"])
    store.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small tmpfs")
def test_a_full_tmpfs(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        done = python("full_child.py", str(small / "db"), "tmpfs")
        assert done.returncode == 0, done.stderr[-2000:]
        report = json.loads(done.stdout.splitlines()[-1])
        assert report["error"] == "StoreError" and "disk is full" in report["text"]
        shutil.copytree(small / "db", tmp_path / "db")  # where there is room again
        store = stores.rocksdb(tmp_path / "db")
        w = AMTA.open(faults.order, store)
        assert (w.number, len(w), w.query()) == (report["number"], report["rows"], report["hash"])
        store.close()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_cut_off_checkpoint_is_damaged():
    batches, _ = faults.recorded(60)
    store = faults.replayed(batches, "none", 0, random.Random(0))
    key = all_of("window")[0] + b"c"
    store.put(key, store.get(key)[:-3])
    with pytest.raises(SnapshotError, match=r"checkpoint of window 'window'.* damaged"):
        AMTA.open(faults.order, store)
