"""`windrow run --engine spark`: the same files by Spark's own readers and writers, on this machine."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow.spark
from windrow.cli import checkpoints
from windrow.cli.ending import Interrupted, Usage
from windrow.cli.query_file import QueryFile
from windrow.cli.run import Job, Source
from windrow.cli.writing import Folder
from windrow.errors import WindrowError
from windrow.query import Report

WRITTEN = {"parquet": "parquet", "csv": "csv", "jsonl": "json"}
OUT, LOST = "windrow_rows_out", "windrow_rejected"


def session(file: QueryFile) -> Any:
    """A session on this machine; code that the query file names is found by its workers, too."""
    if file.code_from is not None:
        paths = [file.code_from, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return windrow.spark.session()


def rows(spark: Any, job: Source, *, stream: bool = False) -> Any:
    """The input as a DataFrame, with the columns' types that the engine in this process sees."""
    if job.file.nulls and job.input.form == "csv":
        raise WindrowError("nulls is for files that are read in this process: Spark's CSV has one text for null")
    schema = job.schema()
    job.check_types(schema)
    form = WRITTEN[job.input.form]
    reader = spark.readStream if stream else spark.read
    paths: Any = str(Path(job.input.given).absolute()) if stream else [str(file.absolute()) for file in job.input.files]
    if form == "parquet":
        if stream:  # it wants to be told
            reader = reader.schema(spark.read.option("mergeSchema", True).parquet(*map(str, job.input.files)).schema)
        data = reader.option("mergeSchema", True)
    else:
        data = reader.schema(_spark_schema(schema, job)).option("mode", "FAILFAST")
        if form == "csv":
            data = data.option("header", True).option("enforceSchema", False).option("sep", job.input.delimiter)
    if Path(job.input.given).is_dir():
        data = data.option("recursiveFileLookup", True)
    data = data.format(form).load(paths)
    time = job.file.query.time
    if form != "parquet" and time is not None and pa.types.is_timestamp(schema.field(time).type):
        kind = "timestamp_ntz" if schema.field(time).type.tz is None else "timestamp"
        # a text that is no time becomes null, and its row is rejected: as in this process
        data = data.withColumn(time, _functions().expr(f"try_cast({_quoted(time)} as {kind})"))
    return data


def batch(job: Job) -> Report:
    """The whole input."""
    folder = Folder(job.output, job.form, job.overwrite)
    job.check_types(job.schema())  # before Spark is started
    with told(), folder.made():
        spark = session(job.file)
        data = rows(spark, job)
        with windrow.spark.progress(spark) if sys.stderr.isatty() else nullcontext():
            from pyspark.sql import Observation

            seen = Observation()
            result = _flat(job.file.query.run(data), job.form).observe(seen, _count())
            writer = result.write.mode("overwrite").format(WRITTEN[job.form]).option("header", True)
            writer.save(str(folder.new))
            lost = windrow.spark.rejected(job.file.query, data).count()
            report = Report(data.count(), seen.get[OUT], 0, lost)
        folder.move()
    return report


def stream(job: Job) -> Report:
    """What is there now, by a stream that ends with it (`availableNow`), and goes on when it is called again."""
    assert job.checkpoint is not None
    if (job.checkpoint / checkpoints.FILE).exists():
        raise Usage(f"--checkpoint {job.checkpoint}: is that of a stream with --engine local")
    known = (job.checkpoint / "metadata").exists()
    if not known:
        if job.checkpoint.is_dir() and any(job.checkpoint.iterdir()):
            raise Usage(f"--checkpoint {job.checkpoint}: is not empty, and no checkpoint of Spark's")
        Folder(job.output, job.form, job.overwrite)  # checks only: Spark writes its own log of complete files
        if job.output.is_dir() and any(job.output.iterdir()):
            raise Usage(f"--output {job.output}: a stream on Spark begins with an empty folder")
    elif job.overwrite:
        raise Usage("--overwrite: the checkpoint goes on with the results that are there; begin with a new checkpoint")
    job.check_types(job.schema())
    with told():
        data = rows(session(job.file), job, stream=True)
        time = job.file.query.time
        if time is not None:
            data = data.observe(LOST, _functions().count_if(data[_quoted(time)].isNull()).alias(LOST))
        result = _flat(job.file.query.run(data), job.form).observe(OUT, _count())
        writer = result.writeStream.format(WRITTEN[job.form]).option("header", True).outputMode("append")
        running = (
            writer.option("path", str(job.output.absolute()))
            .option("checkpointLocation", str(job.checkpoint.absolute()))
            .trigger(availableNow=True)
            .start()
        )
        try:
            running.awaitTermination()
        except KeyboardInterrupt:
            running.stop()
            raise Interrupted("interrupted; the same command goes on from the last checkpoint") from None
    return _progress(running.recentProgress)


def _progress(batches: list[Any]) -> Report:
    """What Spark says of its last batches (a hundred of them, where nothing else was set)."""
    report = Report()
    for one in batches:
        observed = {name: row[0] for name, row in dict(one.get("observedMetrics") or {}).items()}
        report = report.plus(
            rows_in=one["numInputRows"],
            late=sum(operator.get("numRowsDroppedByWatermark", 0) for operator in one["stateOperators"]),
            rows_out=observed.get(OUT) or 0,
            rejected=observed.get(LOST) or 0,
        )
    return report


def _spark_schema(schema: pa.Schema, job: Source) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    time = job.file.query.time
    texts = [
        f.with_type(pa.string()) if f.name == time and pa.types.is_timestamp(f.type)
        else f.with_type(pa.timestamp("us", f.type.tz)) if pa.types.is_timestamp(f.type)
        else f
        for f in schema
    ]  # fmt: skip
    return from_arrow_schema(pa.schema(texts), prefer_timestamp_ntz=True)


def _flat(result: Any, form: str) -> Any:
    """Lists and structs become JSON where CSV has no form for them."""
    if form == "csv":
        for field in result.schema.fields:
            if field.dataType.typeName() in ("array", "struct", "map"):
                result = result.withColumn(field.name, _functions().expr(f"to_json({_quoted(field.name)})"))
    return result


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _count() -> Any:
    return _functions().count(_functions().lit(1)).alias(OUT)


def _functions() -> Any:
    from pyspark.sql import functions

    return functions


@contextmanager
def told() -> Iterator[None]:
    """Errors of Spark's, pages long, as the one line that matters."""
    try:
        yield
    except (WindrowError, Usage, Interrupted):
        raise
    except Exception as error:
        raise WindrowError(f"Spark: {gist(str(error))}") from error


def gist(said: str) -> str:
    """The line of a long error that says what is wrong.

    >>> gist("Job aborted\\n  File x\\nwindrow.errors.WindrowError: row 3 has no time\\n\\tat org.apache.spark")
    'row 3 has no time'
    """
    from windrow.spark.checking import meaning

    if (known := meaning(said)) is not None:
        return known
    ours = re.findall(r"windrow\.errors\.\w+: (.+)", said)
    if ours:
        return ours[-1].strip()
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)", said, re.MULTILINE)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (causes[-1] if causes else lines[0] if lines else "no reason was given").strip()
