"""A stream whose whole process group is killed at random moments: nothing is lost, nothing is sent twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.spark import stream_cases as cases
from tests.spark import stream_child
from tests.spark.test_batch import plain
from tests.spark.test_streams import Folder, sent

ROOT = Path(__file__).parents[2]
KILLS = 10


def started(folders, kind):
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.spark.stream_child", *map(str, folders), kind],
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip


def batches_done(checkpoint: Path) -> int:
    return len(list((checkpoint / "commits").glob("[0-9]*")))


@pytest.mark.slow
@pytest.mark.parametrize("kind", stream_child.kinds())
def test_killed_in_mid_batch(kind, spark, tmp_path):
    """Ten times for each kind of window, at any moment from the start of a batch to its commit."""
    chance = random.Random(kind)
    table = cases.rows(np.random.default_rng(11), kind, n=1200)
    folder = Folder(spark, tmp_path / "in")
    for part in range(12):
        folder.put(table.slice(part * len(table) // 12, (part + 1) * len(table) // 12 - part * len(table) // 12))
    for _ in range(2):
        folder.put(cases.ending(table, kind))
    folders = (folder.path, tmp_path / "out", tmp_path / "state")
    kills = 0
    while kills < KILLS:
        process = started(folders, kind)
        before, begun = batches_done(folders[2]), time.monotonic()
        while batches_done(folders[2]) == before and process.poll() is None:
            assert time.monotonic() - begun < 400
            time.sleep(0.02)
        time.sleep(chance.random() * 1.5)  # somewhere in the next batch
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    last = started(folders, kind)
    assert "done" in last.communicate(timeout=600)[0]
    query = stream_child.kinds()[kind]
    got = sent(spark, folders[1], query.run(folder.stream()).schema)
    assert plain(cases.before_the_end(got, 0)) == plain(query.run(table))
    print(f"{kind}: killed {kills} times")
    assert kills >= 3
