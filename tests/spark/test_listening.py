"""What a listener hears of real streams, and what Prometheus is told of it."""

from __future__ import annotations

import datetime
import io
import json
import re
import socket
import time
import urllib.error
import urllib.request
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress
from rich.console import Console

import windrow.spark
from windrow import agg, win
from windrow.errors import WindrowError
from windrow.spark import listening
from windrow.spark.listening import trigger

START = 10**15
SAMPLE = re.compile(r'([a-z_]+)\{query="((?:[^"\\\n]|\\["\\n])*)"\} (-?[0-9.]+(?:e[+-]?[0-9]+)?)')


def samples(text):
    """What the text says, read by the grammar of its format: each sample belongs to the family declared last."""
    found, family, kinds = {}, None, {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family, meaning = line[7:].split(" ", 1)
            assert family not in kinds and meaning
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == family and kind in ("counter", "gauge", "summary")
            kinds[name] = kind
        else:
            name, query, value = SAMPLE.fullmatch(line).groups()
            suffixes = ("_sum", "_count") if kinds[family] == "summary" else ("",)
            assert name in [family + suffix for suffix in suffixes]
            assert (name, query) not in found
            found[name, query] = float(value)
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items())
    return found


def got(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return answer.read().decode()


@pytest.fixture(scope="module")
def stream(spark, tmp_path_factory):
    """900 rows in three triggers, and counts that a query of windrow's would tell."""
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    at = pa.array(START + np.arange(900) * 10**6, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": at, "k": np.arange(900) % 3}), path)
    made = windrow.spark.replay(
        spark, path, "ts", speed=None, rows_per_trigger=300, disorder="10 seconds", duplicates=0
    )
    counts = [F.count("*").alias("rows_in"), F.sum(F.lit(2)).alias("combines"), F.lit(2).cast("long").alias("rejected")]
    made = made.observe("windrow", *counts, F.lit(None).cast("long").alias("late"))
    return made.withWatermark("ts", "10 seconds").groupBy(F.window("ts", "1 minute")).count()


def run(stream, name, folder):
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(folder / name.replace("\n", "")))
    running = writer.queryName(name).trigger(availableNow=True).start()
    assert running.awaitTermination(300)
    return running


def test_a_real_stream(spark, stream, tmp_path):
    shown = io.StringIO()
    name = 'tri"cky\\ [bold]\nname'
    with windrow.spark.listen(spark, console=Console(file=shown, width=40), port=0) as seen:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", seen.address)
        assert got(seen.address) == ""
        run(stream, name, tmp_path)
        assert seen.settled(120)
        address = seen.address
        text = got(address)
    kept = seen.triggers
    assert [t.rows_in for t in kept[:3]] == [300, 300, 300]
    assert {t.query for t in kept} == {name}
    assert [t.batch for t in kept] == list(range(len(kept)))
    assert all(t.late == 0 and t.state_bytes > 0 and t.milliseconds > 0 for t in kept)
    assert [t.rejected for t in kept[:3]] == [2, 2, 2]
    assert [t.combines_a_row for t in kept[:3]] == [2.0, 2.0, 2.0]
    assert sum(t.rows_out for t in kept) == 15  # minutes, all but the last one
    assert kept[0].watermark_delay is None
    # the clock is now, the rows are of 2001: the watermark is that far behind
    behind = datetime.datetime.fromisoformat("2001-09-09T01:46:40+00:00") + datetime.timedelta(seconds=899 - 10)
    assert kept[-1].watermark_delay == pytest.approx((kept[-1].when - behind).total_seconds(), abs=11)
    assert kept[0].state_rows > 0 and kept[0].pages_read is None

    label = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    said = samples(text)
    assert {query for _, query in said} == {label}
    told = {metric: value for (metric, _), value in said.items()}
    assert told["windrow_rows_in_total"] == 900 and told["windrow_rows_out_total"] == 15
    assert told["windrow_combines_total"] == 1800 and told["windrow_late_rows_total"] == 0
    assert told["windrow_rejected_rows_total"] == sum(t.rejected for t in kept if t.rejected is not None)
    assert told["windrow_trigger_seconds_count"] == len(kept) and told["windrow_query_running"] == 0
    assert told["windrow_trigger_seconds_sum"] == pytest.approx(sum(t.milliseconds for t in kept) / 1e3)
    assert told["windrow_state_bytes"] == kept[-1].state_bytes
    assert "windrow_pages_read_total" not in told

    lines = shown.getvalue()
    assert lines.count("300 rows in") == 3 and "[bold]" in lines and "2.00 combines a row" in lines
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)
    seen.close()  # a second time does nothing
    assert seen.address is None


def test_after_close_nothing_is_heard(spark, stream, tmp_path):
    with windrow.spark.listen(spark, keep=2) as heard:
        closed = windrow.spark.listen(spark)
        closed.close()
        run(stream, "later", tmp_path)
        assert heard.settled(120)
    assert closed.triggers == []
    assert len(heard.triggers) == 2  # the newest ones
    assert heard.address is None
    assert samples(heard.metrics())["windrow_rows_in_total", "later"] == 900


def test_only_one_page_and_only_here(spark):
    with windrow.spark.listen(spark, port=0) as seen:
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(seen.address.replace("/metrics", "/etc/passwd"), timeout=30)
        with pytest.raises(urllib.error.HTTPError, match="501"):
            urllib.request.urlopen(seen.address, data=b"x", timeout=30)
        assert got(seen.address + "?a=b") == ""


def test_a_port_that_is_taken(spark):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WindrowError, match=r"cannot serve on 127\.0\.0\.1"):
            windrow.spark.listen(spark, port=taken.getsockname()[1])
    with pytest.raises(WindrowError, match="cannot serve"):
        windrow.spark.listen(spark, port=100_000)


def progress(name="q", observed=None, **more):
    """As Connect tells it."""
    fields = {
        "id": str(uuid.UUID(int=1)), "runId": str(uuid.UUID(int=2)), "name": name, "batchId": 4, "batchDuration": 7,
        "timestamp": "2024-05-01T10:00:00.000Z", "durationMs": {}, "stateOperators": [], "sources": [],
        "sink": {"description": "", "numOutputRows": -1}, "numInputRows": 10, **more,
    }  # fmt: skip
    if observed is not None:
        fields["observedMetrics"] = observed
    return StreamingQueryProgress.fromJson(json.loads(json.dumps(fields)))


def test_what_is_not_told_is_none():
    bare = listening.trigger(progress(name=None))
    assert bare.query == str(uuid.UUID(int=1))
    assert (bare.rows_in, bare.rows_out, bare.late, bare.rejected, bare.state_rows) == (10, None, None, None, None)
    assert (bare.watermark_delay, bare.combines_a_row, bare.milliseconds) == (None, None, 7)
    assert bare.line() == f"{bare.query} #4: 10 rows in, 7 ms"
    counts = {"rows_in": 9, "rows_out": 3, "late": 1, "rejected": None, "combines": 18, "page_bytes": 512}
    full = listening.trigger(
        progress(
            observed={"windrow": counts, "windrow_2": {"late": 2}, "other": {"late": 77}},
            eventTime={"watermark": "2024-05-01T09:59:30.500Z"},
        )
    )
    assert (full.rows_in, full.rows_out, full.late, full.rejected) == (9, 3, 3, None)
    assert (full.combines_a_row, full.page_bytes, full.watermark_delay) == (2.0, 512, 29.5)
    assert full.line() == "q #4: 9 rows in, 3 out, 3 late, 2.00 combines a row, watermark 29.5 s behind, 7 ms"


def test_a_restart_goes_on_counting():
    totals = {"q": listening.Totals()}
    for _ in range(2):
        totals["q"].add(listening.trigger(progress()))
    assert samples(listening.exposition(totals))["windrow_rows_in_total", "q"] == 20
    assert listening.exposition({}) == ""


def test_the_page_of_a_stream(spark, tmp_path):
    """Its numbers are those of the stream's own progress, what was before it was opened included."""
    made = windrow.Query(time="timestamp", windows=win.tumbling("1 minute"), aggregates={"n": agg.count()})
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 300).option("numPartitions", 1).load()
    writer = source.withWatermark("timestamp", "10 seconds").writeStream.format("noop")
    writer = writer.option("checkpointLocation", str(tmp_path / "watched")).queryName("<watched>")
    running = writer.trigger(processingTime="100 milliseconds").start()
    with windrow.spark.watch(running, made) as page:
        end = time.monotonic() + 120
        while page.source.counts()["rows_in"] < 600 and time.monotonic() < end:
            time.sleep(0.1)
        running.stop()
        with urllib.request.urlopen(page.address, timeout=30) as answer:
            html = answer.read().decode()
        assert "&lt;watched&gt;" in html and "tumbling, 1 minute" in html
        while page.source.told()["state"] != "ended" and time.monotonic() < end:
            time.sleep(0.1)
        told = [t for t in map(trigger, running.recentProgress) if t.rows_in]
        assert page.source.counts()["rows_in"] == sum(t.rows_in for t in told) >= 600
        assert page.source.picture().count('class="bar"') == min(14, len(told))
    assert callable(windrow.spark.watch)  # the page's module has another name, which does not hide it
