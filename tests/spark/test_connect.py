"""Queries over Spark Connect, whose frames have neither a JVM nor RDDs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.spark import child
from tests.spark.processes import CHILD, SOURCE, check, environment, finished, started, told, zipped
from windrow.spark.checking import meaning


@pytest.mark.slow
def test_equal_rows_of_each_plan(tmp_path):
    """In a session of another time zone, whose workers get the package as an artifact."""
    pytest.importorskip("grpc_status", reason="needs pyspark[connect]")
    rows, out = child.lay_out(tmp_path / "rows"), tmp_path / "out"
    package = zipped(tmp_path / "windrow.zip")
    settings = environment(WINDROW_ZIP=str(package))
    finished(started([sys.executable, str(CHILD), "connect", str(rows), str(out)], env=settings))
    said = told(out)
    assert "lacks" not in said and said["unchanged"], said
    assert "connect" in said["session"]
    assert all("windrow.zip" in file for file in said["files"])
    for name in child.queries():
        check(out, name)
        plan = said[f"plan of {name}"]
        assert ("MapInArrow" in plan or "ArrowEvalPython" in plan) and "Expand" not in plan
    assert said["plan of slices"].count("Exchange (") == 1  # of partials
    assert said["stages shown"] > 0


LACKING = """
import windrow
spark = windrow.spark.session("local[1]")
try:
    windrow.spark.check(spark)
except windrow.errors.WindrowError as error:
    print("said:", error)
spark.stop()
"""


@pytest.mark.slow
def test_what_the_workers_lack_is_said_in_one_line(tmp_path):
    bare = tmp_path / "python"  # no packages at all
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    begin = f"import sys; sys.path.insert(0, {str(zipped(tmp_path / 'windrow.zip'))!r})\n"
    for python, path, expected in (
        (str(bare), "", "said: Spark's workers have no windrow"),
        (str(bare), str(SOURCE.parent), r"said: the Python of Spark's workers has no \w+: set PYSPARK_PYTHON"),
        ("/no/python", "", "said: Spark's workers find no Python"),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", begin + LACKING],
            env=environment(PYSPARK_PYTHON=python, PYSPARK_DRIVER_PYTHON=sys.executable, PYTHONPATH=path),
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        assert re.search(expected, ran.stdout), ran.stdout + ran.stderr


def test_errors_of_workers_and_what_they_mean():
    assert "--py-files" in meaning("... ModuleNotFoundError: No module named 'windrow'\n SQLSTATE: 38000")
    assert "another Python" in meaning("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9")
    assert meaning("java.lang.OutOfMemoryError") is None


def test_a_session_that_lacks_nothing(spark):
    import windrow.spark

    before = dict(spark.conf.getAll)
    windrow.spark.check(spark)
    assert dict(spark.conf.getAll) == before
