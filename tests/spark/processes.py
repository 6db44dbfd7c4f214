"""Sparks in processes of their own: what they are started with, and whether what they wrote is right."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pyarrow.parquet as pq

import windrow
from tests.spark import child

SOURCE = Path(windrow.__file__).parent
CHILD = Path(child.__file__)
#: seconds after which something hangs
PATIENCE = 400


def zipped(path: Path) -> Path:
    """The package as a zip, as `--py-files` takes it."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(SOURCE.rglob("*.py")):
            archive.write(file, Path("windrow") / file.relative_to(SOURCE))
    return path


def environment(**more: str) -> dict[str, str]:
    """Without a way to the package, and without settings of a Spark that runs already."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_")) and k != "PYTHONPATH"}
    return kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **more}


def finished(process: subprocess.Popen) -> str:
    """Its output; an AssertionError with the output where it failed."""
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, output[-5000:]
    return output


def started(command: list[str], **options) -> subprocess.Popen:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def told(out: Path) -> dict:
    return json.loads((out / "told.json").read_text())


def check(out: Path, name: str) -> None:
    """What the child wrote for a query is what the engine in this process gives."""
    got, expected = pq.read_table(out / f"{name}.parquet"), child.queries()[name].run(child.rows())
    assert got.column_names == expected.column_names
    order = [(column, "ascending") for column in expected.column_names]
    assert got.cast(expected.schema).sort_by(order).equals(expected.sort_by(order)), name
    assert expected.num_rows > 400


class Cluster:
    """A standalone master and two workers of one core, on loopback."""

    def __init__(self, home: Path) -> None:
        import pyspark

        self.spark = Path(pyspark.__file__).parent
        self.home, self.processes = home, []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"spark://127.0.0.1:{self.port}"

    def __enter__(self) -> Cluster:
        self.home.mkdir()
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0")
        for i in (1, 2):
            self._start(
                "worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "-c", "1", "-m", "1g",
                "-d", str(self.home / f"worker{i}"), self.url,
            )  # fmt: skip
        return self

    def _start(self, name: str, *arguments: str) -> None:
        log = open(self.home / f"{len(self.processes)}.log", "w")  # noqa: SIM115
        command = [self.spark / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments]
        self.processes.append(subprocess.Popen(command, env=environment(), stdout=log, stderr=log))

    def submitted(self, how: str, package: Path, rows: Path, out: Path, **conf: str) -> subprocess.Popen:
        """The child, sent with spark-submit; the package goes with `--py-files` alone."""
        until(lambda: not self.executors(), "an executor of the application before is still there")
        settings = {"executor.memory": "512m", "driver.memory": "512m", "sql.shuffle.partitions": "4"} | conf
        settings |= {"ui.enabled": "false", "driver.host": "127.0.0.1", "log.level": "ERROR"}
        options = [f"--conf=spark.{name}={value}" for name, value in settings.items()]
        return started(
            [
                str(self.spark / "bin" / "spark-submit"), "--master", self.url, "--py-files", str(package), *options,
                str(CHILD), how, str(rows), str(out),
            ],
            env=environment(),
        )  # fmt: skip

    def executors(self) -> list[int]:
        """The process ids of the executors: what the workers have started."""
        return [pid for worker in self.processes[1:] for pid in _children(worker.pid)]

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def until(there, what: str) -> None:
    """Waits for something to be true."""
    begun = time.monotonic()
    while not there():
        assert time.monotonic() - begun < PATIENCE, what
        time.sleep(0.05)
