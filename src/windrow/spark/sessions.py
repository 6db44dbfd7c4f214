"""A good local session."""

from __future__ import annotations

import os
import sys
from typing import Any

from windrow.errors import WindrowError, how_to_install
from windrow.spark.checking import PROVIDER, ROCKSDB
from windrow.spark.java import java_home


def session(master: str = "local[*]", *, app: str = "windrow", memory: str = "2g", **config: Any) -> Any:
    """A SparkSession on this machine: workers run this Python, all addresses are loopback, times are UTC.

    Where there is a session already, it is that one, as it is.

    Args:
        master: as Spark's; `local[2]` is two cores.
        app: the application's name.
        memory: of the JVM; counts where this call starts it.
        config: more settings, with `__` for the dots: `spark__sql__shuffle__partitions=8`.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise WindrowError(f"windrow.spark needs pyspark: {how_to_install('spark')}") from None
    running = SparkSession.getActiveSession()
    if running is not None:  # somebody made it, and it stays as it is
        return running
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(max(4, os.cpu_count() or 1)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        PROVIDER: ROCKSDB,
    }  # fmt: skip
    settings |= {name.replace("__", "."): str(value) for name, value in config.items()}
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
