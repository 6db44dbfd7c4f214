"""Runs queries in a Spark of its own and writes their results to files: a process can have one JVM, with one master.

`python child.py connect ROWS OUT`: over Spark Connect, in a server that it starts. `spark-submit ... child.py cluster
ROWS OUT`: in whatever session spark-submit was told of; with `slowly`, there is time to kill an executor.

ROWS is a folder of Parquet files, OUT the folder for results; WINDROW_ZIP the package as a zip, where it is one.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if "WINDROW_ZIP" in os.environ:
    sys.path.insert(0, os.environ["WINDROW_ZIP"])

import windrow
from windrow import agg, win
from windrow.spark import statistics

spread = windrow.Aggregate(
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
    identity=(1e300, -1e300),
    commutative=True,
)
IN_ANY_ORDER = {"total": agg.sum("i"), "spread": spread("f")}
ORDERED = {"text": agg.concat("w"), "who": agg.max_by("w", "i"), **IN_ANY_ORDER}


def queries() -> dict[str, windrow.Query]:
    """One of each plan, and one that asks Spark for counts first."""

    def query(windows, aggregates, by="k"):
        return windrow.Query(time="ts", by=by, windows=windows, aggregates=aggregates)

    return {
        "slices": query(win.sliding("60 seconds", every="7 seconds"), IN_ANY_ORDER),
        "slices in order": query(win.sliding("60 seconds", every="7 seconds"), ORDERED, by=None),
        "trailing time": query(win.trailing("9 seconds"), ORDERED),
        "trailing rows": query(win.trailing(5), ORDERED),
        "counted parts": query(win.trailing(5), ORDERED, by=None),
    }


def streamed() -> windrow.Query:
    """A query for a stream."""
    windows = win.sliding("600 seconds", every="70 seconds")
    return windrow.Query(time="ts", by="k", windows=windows, aggregates=ORDERED, lateness="2 hours")


def rows(n: int = 20_000) -> pa.Table:
    """Rows with ties, nulls, times before 1970, and a key that has most of them."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": pa.array(rng.integers(-1_000, 3_000, n) * 1_000_000, pa.timestamp("us", "UTC")),
            "k": rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.1, 0.1, 0.1]),
            "i": pa.array(rng.integers(-5, 9, n), mask=rng.random(n) < 0.1),
            "f": np.round(rng.normal(size=n), 2),
            "w": pa.array(rng.choice(["x", "yy", "z", ""], n), mask=rng.random(n) < 0.1),
        }
    )


def lay_out(folder: Path) -> Path:
    """The rows in four files."""
    folder.mkdir(parents=True)
    table = rows()
    for i in range(4):
        pq.write_table(table.slice(i * 5_000, 5_000), folder / f"{i}.parquet")
    return folder


def lay_out_stream(folder: Path, files: int = 10) -> Path:
    """Some of the rows, a file a trigger, then two rows that end all windows."""
    folder.mkdir(parents=True)
    table = rows(2_000)
    for i in range(files):
        step = len(table) // files
        pq.write_table(table.slice(i * step, step), folder / f"{i}.parquet")
    end = pa.array([1_000_000 * 1_000_000], pa.timestamp("us", "UTC"))
    for i in range(files, files + 2):
        pq.write_table(pa.table([end, ["end"], [1], [1.0], ["-"]], schema=table.schema), folder / f"{i}.parquet")
    for i in range(files + 2):
        os.utime(folder / f"{i}.parquet", (1.7e9 + i, 1.7e9 + i))  # files are taken by their age
    return folder


def wrote(path: Path, table: pa.Table) -> None:
    fresh = path.with_suffix(".part")
    pq.write_table(table, fresh)
    fresh.rename(path)


def where_from(batches):
    """Where the workers have the package from."""
    import pyarrow as pa

    import windrow

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [windrow.__file__]})


def rested(batches):
    """Long enough for a report of progress, which Spark Connect sends every two seconds."""
    time.sleep(5)
    yield from batches


def slowed(out: Path):
    """A pass that changes nothing, takes its time, and leaves a mark for each task that began."""
    marks = str(out / "marks")

    def slow(batches):
        import os
        import time
        import uuid

        with open(os.path.join(marks, uuid.uuid4().hex), "w"):
            pass
        for batch in batches:
            time.sleep(1)
            yield batch

    os.makedirs(marks, exist_ok=True)
    return slow


def settings(spark) -> dict[str, str]:
    return dict(spark.conf.getAll)


def stream(path: str, out: Path) -> None:
    """A stream to its end, results as files with Spark's log beside them."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    source = spark.readStream.schema(spark.read.parquet(path).schema).option("maxFilesPerTrigger", 1).parquet(path)
    writer = streamed().run(source).writeStream.format("parquet").option("path", str(out / "sent"))
    writer.option("checkpointLocation", str(out / "state")).trigger(availableNow=True).start().awaitTermination()
    spark.stop()


def main(how: str, path: str, out: Path) -> None:
    from pyspark.sql import SparkSession

    out.mkdir(parents=True, exist_ok=True)
    if how == "stream":
        return stream(path, out)
    statistics.WORTH, statistics.SHARE, statistics.BYTES, statistics.A_TASK = 1000, 1, 0, 1
    if how == "connect":
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "3")
        spark = builder.config("spark.sql.session.timeZone", "America/St_Johns").getOrCreate()
        with contextlib.suppress(KeyError):
            spark.addArtifacts(os.environ["WINDROW_ZIP"], pyfile=True)
    else:
        spark = SparkSession.builder.getOrCreate()
    told: dict = {"session": type(spark).__module__, "driver": windrow.__file__}
    files = [spark.read.parquet(str(file)) for file in sorted(Path(path).glob("*.parquet"))]
    frame = reduce(lambda a, b: a.union(b), files)  # in their order, which breaks ties
    before, environment = settings(spark), dict(os.environ)
    try:
        windrow.spark.check(spark)
    except windrow.errors.WindrowError as error:
        told["lacks"] = str(error)
        (out / "told.json").write_text(json.dumps(told))
        return
    if how == "slowly":
        query = queries()["trailing time"]
        result = query.run(frame)
        wrote(out / "trailing time.parquet", result.mapInArrow(slowed(out), result.schema).toArrow())
    else:
        for name, query in queries().items():
            began = time.perf_counter()
            result = query.run(frame)
            wrote(out / f"{name}.parquet", result.toArrow())
            told[f"seconds of {name}"] = round(time.perf_counter() - began, 1)
            if how == "connect":
                told[f"plan of {name}"] = windrow.spark.physical_plan(query, frame)
                told[f"explain of {name}"] = query.explain(frame)
        with windrow.spark.progress(spark) as bars:
            frame.repartition(2).mapInArrow(rested, frame.schema).count()
        told["stages shown"] = len(bars.bars)
        found = frame.repartition(2).mapInArrow(where_from, "file string").toArrow()
        told["files"] = sorted(set(found["file"].to_pylist()))
    told["unchanged"] = settings(spark) == before and dict(os.environ) == environment
    (out / "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
