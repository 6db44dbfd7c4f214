"""A long run of a stream whose keys come and go: `python -m tests.spark.soak [MINUTES]` prints state and memory.

Fifty keys at a time, new ones every twenty seconds, a label that no row has twice. State and resident memory must be
level: what a key leaves behind when it falls silent, and labels that nobody needs any more, would show.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import windrow.spark
from windrow import agg, win

ROWS = 2_000  # a second


def resident(of: str) -> float:
    """Megabytes of this session's processes whose command has this in it; others may run Spark, too."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_text().replace("\0", " ")
            if of in command and os.getsid(int(folder.name)) == os.getsid(0):
                total += int((folder / "statm").read_text().split()[1]) * 4096
        except OSError:
            continue
    return total / 1e6


def main(minutes: float) -> None:
    warnings.simplefilter("ignore")
    spark = windrow.spark.session("local[2]", spark__sql__shuffle__partitions=2)
    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS).load()
    rows = rows.selectExpr(
        "timestamp as ts", f"concat('key ', floor(value / {20 * ROWS}) * 50 + value % 50) as k",
        "value % 1000 as x", "concat('label ', value) as label",
    )  # fmt: skip
    query = windrow.Query(
        time="ts", by="k",
        windows={"10 s": win.sliding("10 seconds", every="1 second"), "idle": win.session("3 seconds")},
        aggregates={"n": agg.count(), "most": agg.max("x"), "who": agg.max_by("label", "x")}, lateness="2 seconds",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, windrow.spark.listen(spark, keep=1) as seen:
        writer = query.run(rows).writeStream.format("noop").option("checkpointLocation", folder)
        running = writer.trigger(processingTime="2 seconds").start()
        begun = time.monotonic()
        print("minute,rows_in,rows_out,late,state_rows,state_bytes,page_bytes,workers_mb,jvm_mb,trigger_ms")
        while time.monotonic() - begun < minutes * 60 and running.isActive:
            time.sleep(20)
            if not seen.triggers:
                continue
            t = seen.triggers[-1]
            minute = (time.monotonic() - begun) / 60
            print(
                f"{minute:.2f},{t.rows_in},{t.rows_out},{t.late},{t.state_rows},{t.state_bytes},{t.page_bytes},"
                f"{resident('pyspark.daemon'):.0f},{resident('SparkSubmit'):.0f},{t.milliseconds}",
                flush=True,
            )
        running.stop()
        if running.exception() is not None:
            raise SystemExit(str(running.exception()))


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
