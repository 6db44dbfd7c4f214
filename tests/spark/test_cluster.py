"""Queries on a standalone cluster of two workers, which have the package from `--py-files` and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pyarrow.compute as pc
import pytest

from tests.spark import child
from tests.spark.processes import Cluster, check, environment, finished, told, until, zipped
from tests.spark.test_batch import plain
from windrow.spark.checking import PROVIDER, ROCKSDB

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return zipped(tmp_path_factory.mktemp("package") / "windrow.zip")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return child.lay_out(tmp_path_factory.mktemp("rows") / "rows")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster") / "home") as cluster:
        yield cluster


def test_equal_rows_of_each_plan(cluster, package, rows, tmp_path):
    finished(cluster.submitted("cluster", package, rows, tmp_path / "out"))
    said = told(tmp_path / "out")
    assert "lacks" not in said and said["unchanged"]
    assert said["session"].startswith("pyspark.sql") and "connect" not in said["session"]
    for file in (said["driver"], *said["files"]):  # from the zip, here and in the workers
        assert "windrow.zip" in file, said
    for name in child.queries():
        check(tmp_path / "out", name)


def test_an_executor_is_killed_in_the_middle(cluster, package, rows, tmp_path):
    """While windows are made: its part of the exchange is lost, too, and computed again."""
    out, tasks = tmp_path / "out", 4
    running = cluster.submitted(
        "slowly", package, rows, out,
        **{"sql.adaptive.coalescePartitions.enabled": "false", "sql.execution.arrow.maxRecordsPerBatch": "1000"},
    )  # fmt: skip
    marks = out / "marks"
    until(lambda: running.poll() is not None or (marks.exists() and len(list(marks.iterdir())) >= 2), "no task began")
    assert running.poll() is None, running.stdout.read()
    before = cluster.executors()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    finished(running)
    assert len(list(marks.iterdir())) > tasks  # some task began twice
    check(out, "trailing time")


def test_executors_are_killed_under_a_stream(cluster, package, spark, tmp_path):
    """Five times, one of the two; the stream goes on, and sends each window once."""
    files, out = child.lay_out_stream(tmp_path / "files"), tmp_path / "out"
    running = cluster.submitted(
        "stream", package, files, out, **{PROVIDER.removeprefix("spark."): ROCKSDB, "deploy.maxExecutorRetries": "-1"}
    )
    killed = 0
    while killed < 5:
        done = len(list((out / "state" / "commits").glob("[0-9]*")))

        def another(done=done):
            return len(list((out / "state" / "commits").glob("[0-9]*"))) > done and len(cluster.executors()) == 2

        until(lambda: running.poll() is not None or another(), "no trigger was done")
        if running.poll() is not None:
            break
        os.kill(cluster.executors()[killed % 2], signal.SIGKILL)
        killed += 1
    finished(running)
    assert killed == 5
    got = spark.read.parquet(str(out / "sent")).toArrow()
    expected = child.streamed().run(child.rows(2_000))
    assert plain(got.filter(pc.not_equal(got["k"], "end"))) == plain(expected) and expected.num_rows > 100


COMPILED = """
import sys
sys.path.insert(0, sys.argv[1])
import windrow
from windrow import agg, win
assert windrow.__file__.startswith(sys.argv[1]), windrow.__file__
query = windrow.Query(windows=win.trailing(3), aggregates={"n": agg.sum("x")})
assert query.run({"x": [1, 2, 3, 4]})["n"].tolist() == [1, 3, 6, 9]
"""


def test_kernels_on_disk_serve_a_package_in_a_zip(package, tmp_path):
    """The second process finds what the first has compiled, wherever each has the package from."""

    def kept():
        return {(file.name, file.stat().st_mtime_ns) for file in tmp_path.iterdir()}

    found = []
    for source in (os.path.dirname(os.path.dirname(sys.modules["windrow"].__file__)), str(package), str(package)):
        subprocess.run(
            [sys.executable, "-c", COMPILED, source], env=environment(WINDROW_CACHE_DIR=str(tmp_path)), check=True
        )
        found.append(kept())
    assert found[0] and found[0] == found[1] == found[2]
