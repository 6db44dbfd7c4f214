"""A stream in a process of its own, to be killed: `python stream_child.py IN OUT CHECKPOINT`."""

from __future__ import annotations

import sys
import warnings

from tests.spark import stream_cases as cases


def kinds():
    """Three queries in one: what is lost or doubled in any of them shows."""
    return {kind: cases.query(kind, cases.plainly(cases.ORDERED), lateness=3600) for kind in ("long", "trailing rows")}


def main(source: str, out: str, checkpoint: str, kind: str) -> None:
    import windrow.spark

    warnings.simplefilter("ignore")
    spark = windrow.spark.session("local[2]", spark__sql__shuffle__partitions=2)
    schema = spark.read.parquet(source).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)
    writer = kinds()[kind].run(stream).writeStream.format("parquet").option("path", out).outputMode("append")
    running = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    running.awaitTermination()
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
