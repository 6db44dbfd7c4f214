"""A replayed table: the same offsets are the same rows, each row comes once, and disorder has its bound."""

from __future__ import annotations

import collections
import datetime
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

import windrow
import windrow.spark
from tests.spark.test_batch import plain
from windrow import agg, swag, win
from windrow.errors import WindrowError
from windrow.spark import replaying

SECOND = 1_000_000
START = 10**15


def rows(n=1_000, seed=3, lost=()):
    """A reading a second or so, not sorted; `i` tells rows apart."""
    rng = np.random.default_rng(seed)
    at = START + rng.permutation(np.cumsum(rng.integers(0, 3, n))) * SECOND
    missing = np.isin(np.arange(n), lost)
    return pa.table(
        {
            "ts": pa.array(at, pa.timestamp("us", "UTC"), mask=missing),
            "i": np.arange(n),
            "k": rng.choice(["a", "b"], n),
            "s": [str(i % 10) for i in range(n)],
        }
    )


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(rows(), path, row_group_size=128)
    return path


def reader(path, clock=time.monotonic, **options):
    """As the driver has it, without Spark."""
    given = {"path": str(path), "time": "ts", "speed": "none", **{name: str(v) for name, v in options.items()}}
    source = replaying.Replay(given)
    made = source.streamReader(source.schema())
    made.clock = clock
    return made


def between(made, start, end):
    """The rows of a range of offsets."""
    batches = [batch for task in made.partitions(start, end) for batch in made.read(task)]
    return pa.Table.from_batches(batches, made.schema)


def triggers(made, start=None):
    """The rows of each trigger, until nothing comes any more."""
    start, limit, found = start or made.initialOffset(), made.getDefaultReadLimit(), []
    while (end := made.latestOffset(start, limit)) != start:
        found.append(between(made, start, end))
        start = end
    return found


def test_each_row_comes_once_as_it_is(table):
    found = triggers(reader(table, duplicates=0, rows_per_trigger=300))
    assert [part.num_rows for part in found] == [300, 300, 300, 100]
    assert pa.concat_tables(found).sort_by("i").to_pylist() == rows().to_pylist()


def test_disorder_has_its_bound(table):
    made = pa.concat_tables(triggers(reader(table, duplicates=0, disorder="90 seconds")))
    at = made["ts"].cast(pa.int64()).to_numpy()
    behind = np.maximum.accumulate(at) - at
    assert behind.max() <= 90 * SECOND
    assert np.mean(behind > 30 * SECOND) > 0.1
    in_order = pa.concat_tables(triggers(reader(table, duplicates=0, disorder="0 seconds")))
    expected = sorted(rows().to_pylist(), key=lambda row: (row["ts"], row["i"]))
    assert in_order.to_pylist() == expected


def test_duplicates(table):
    for share, least, most in ((0.2, 130, 270), (1, 1_000, 1_000), (0, 0, 0)):
        made = pa.concat_tables(triggers(reader(table, duplicates=share, disorder="90 seconds")))
        times = collections.Counter(made["i"].to_pylist())
        assert len(times) == 1_000 and set(times.values()) <= {1, 2}
        assert least <= sum(count == 2 for count in times.values()) <= most


def test_same_rows_for_same_offsets(table):
    options = {"duplicates": 0.1, "disorder": "5 minutes", "seed": 4}
    whole = pa.concat_tables(triggers(reader(table, **options)))
    one = reader(table, rows_per_trigger=170, **options)
    assert pa.concat_tables(triggers(one)).equals(whole)
    offset = one.latestOffset(one.initialOffset(), one.getDefaultReadLimit())
    fresh = reader(table, rows_per_trigger=33, **options)
    assert pa.concat_tables(triggers(fresh, offset)).equals(whole.slice(170))
    other = reader(table, duplicates=0.1, disorder="5 minutes", seed=5)
    assert not pa.concat_tables(triggers(other)).equals(whole)


def test_the_order_is_for_ever():
    """Checkpoints outlive versions: this order was written down once."""
    at, when = replaying.order(np.arange(6) * 10, disorder=40, duplicates=0.5, seed=1)
    assert at.tolist() == [0, 2, 1, 1, 3, 3, 4, 5]
    assert when.tolist() == [15, 24, 25, 33, 43, 43, 46, 53]


def test_rows_without_a_time_come_first(tmp_path):
    pq.write_table(rows(lost=[500, 7]), tmp_path / "rows.parquet")
    made = reader(tmp_path, duplicates=0, speed=1, clock=lambda: 0.0)
    first = between(made, made.initialOffset(), made.latestOffset(made.initialOffset(), ReadAllAvailable()))
    assert first["i"].to_pylist()[:2] == [7, 500]
    assert first.num_rows == 3 and first["ts"][2].is_valid  # and the first one in event time
    pq.write_table(rows(n=3, lost=[0, 1, 2]), tmp_path / "rows.parquet")
    assert [part.num_rows for part in triggers(reader(tmp_path, duplicates=0, speed=1))] == [3]


def test_speed_is_event_seconds_a_second(table):
    now = [100.0]
    made = reader(table, clock=lambda: now[0], duplicates=0, disorder="1 minute", speed=60)
    when = made.arrivals.when
    start = made.initialOffset()
    end = made.latestOffset(start, ReadAllAvailable())
    assert end["row"] >= 1
    now[0] += 2.5
    end = made.latestOffset(end, ReadAllAvailable())
    assert end["row"] == int((when <= when[0] + 150 * SECOND).sum()) > 10
    again = reader(table, clock=lambda: now[0], duplicates=0, disorder="1 minute", speed=60)
    event = when[end["row"]]  # where it stopped, the clock starts again
    again.latestOffset(end, ReadAllAvailable())
    now[0] += 1
    assert again.latestOffset(end, ReadAllAvailable())["row"] == int((when <= event + 60 * SECOND).sum())
    now[0] += 1e6
    last = again.latestOffset(end, ReadAllAvailable())
    assert last["row"] == 1_000 and again.latestOffset(last, ReadAllAvailable()) == last
    assert again.partitions(last, last) == []


def test_all_is_available_now_at_any_speed(table):
    made = reader(table, clock=lambda: 0.0, duplicates=0, speed=0.001, rows_per_trigger=400)
    made.prepareForTriggerAvailableNow()
    assert [part.num_rows for part in triggers(made)] == [400, 400, 200]


def test_only_row_groups_that_are_needed_are_read(tmp_path):
    in_order = rows().sort_by("ts")
    for i in range(2):
        pq.write_table(in_order.slice(i * 500, 500), tmp_path / f"{i}.parquet", row_group_size=100)
    made = reader(tmp_path, duplicates=0, disorder="10 seconds", rows_per_trigger=50)
    start = {**made.initialOffset(), "row": 540}
    [task] = made.partitions(start, made.latestOffset(start, made.getDefaultReadLimit()))
    assert {(piece.file[-9:], piece.group) for piece in task.pieces} <= {("1.parquet", 0), ("1.parquet", 1)}
    assert sum(len(piece.rows) for piece in task.pieces) == 50
    assert sum(part.num_rows for part in triggers(made)) == 1_000


def test_many_tasks(table, monkeypatch):
    monkeypatch.setattr(replaying, "ROWS_A_TASK", 300)
    made = reader(table, duplicates=0)
    start = made.initialOffset()
    end = made.latestOffset(start, ReadAllAvailable())
    assert len(made.partitions(start, end)) == 4
    assert sorted(between(made, start, end)["i"].to_pylist()) == list(range(1_000))


def test_types_of_all_kinds(tmp_path):
    table = pa.table(
        {
            "ts": pa.array([3, 1, None], pa.timestamp("ns")),
            "day": pa.array([datetime.date(2024, 1, 2), datetime.date(2024, 1, 1), None]),
            "a.b": pa.array(["x", "y", "z"]).dictionary_encode(),
            "n": pa.array([[1], [], None], pa.list_(pa.int32())),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    made = reader(tmp_path, duplicates=0, time="day", disorder="0 s")
    [found] = triggers(made)
    assert found["a.b"].to_pylist() == ["z", "y", "x"]
    assert found["n"].to_pylist() == [None, [], [1]]
    assert found.schema.field("ts").type == pa.timestamp("us")


def test_no_rows_at_all(tmp_path):
    pq.write_table(rows().slice(0, 0), tmp_path / "rows.parquet")
    assert triggers(reader(tmp_path)) == triggers(reader(tmp_path, speed=1)) == []


def test_a_schema_of_ones_own(tmp_path):
    pq.write_table(
        pa.table({"ts": pa.array([1, 2], pa.timestamp("ns")), "i": [1, 2**40], "s": ["a", "b"]}), tmp_path / "r"
    )
    source = replaying.Replay({"path": str(tmp_path), "time": "ts", "speed": "none", "duplicates": "0"})
    [found] = triggers(source.streamReader(StructType().add("s", "string").add("i", "double")))
    assert found.schema.names == ["s", "i"] and sorted(found["i"].to_pylist()) == [1.0, 2.0**40]
    with pytest.raises(pa.ArrowInvalid, match="not in range"):  # and nothing wraps
        triggers(source.streamReader(StructType().add("i", "integer")))


def test_another_table_is_refused(table, tmp_path):
    offset = reader(table).initialOffset()
    pq.write_table(rows(seed=4).slice(0, 999), table)
    for made in (reader(table), reader(table, seed=1), reader(table, disorder="1 s"), reader(table, duplicates=0)):
        with pytest.raises(WindrowError, match="checkpoint is of another table"):
            made.latestOffset(offset, ReadAllAvailable())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"speed": 0}, "speed is event seconds a second, above 0, or None, not 0"),
        ({"speed": float("nan")}, "speed is"),
        ({"speed": "fast"}, "speed is a number, not 'fast'"),
        ({"seed": None}, "seed is a number, not None"),
        ({"rows_per_trigger": 0}, "rows_per_trigger is 1 or more"),
        ({"disorder": "-1 second"}, "disorder is a duration of 0 or more"),
        ({"disorder": "often"}, "'often' is no duration"),
        ({"duplicates": 1.5}, "duplicates is a share from 0 to 1, not 1.5"),
        ({"time": "when"}, "there is no column 'when'; the columns are: ts, i, k, s"),
        ({"time": "i"}, "column 'i' holds int64, and times are timestamps or dates"),
        ({"path": "/no/such"}, "there is no file or folder '/no/such'"),
        ({"path": __file__}, "is no Parquet file"),
        ({"path": 3}, "path is a text, not a int"),
    ],
)
def test_what_is_wrong_is_said_at_once(spark, table, options, said):
    given = {"path": table, "time": "ts", **options}
    with pytest.raises(WindrowError, match=said):
        windrow.spark.replay(spark, **given)


def test_an_empty_folder_is_refused(spark, tmp_path):
    with pytest.raises(WindrowError, match="there are no Parquet files"):
        windrow.spark.replay(spark, tmp_path, "ts")


def test_options_as_text(spark, table):
    windrow.spark.replay(spark, table, "ts")  # registers it
    source = spark.readStream.format("windrow_replay").option("time", "ts")
    assert source.load(str(table)).isStreaming
    for name, value, said in (("speed", "fast", "speed is a number or 'none'"), ("time", "", "'time' is missing")):
        with pytest.raises(AnalysisException, match=said):
            source.option(name, value).load(str(table))


def started(stream, folder, keep, fail_at=None):
    def take(data, batch):
        found = data.toArrow()
        if batch == fail_at:
            raise RuntimeError("pulled the plug")
        keep[batch] = found

    writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(folder))
    return writer.trigger(availableNow=True).start()


def test_a_restart_goes_on_with_the_next_row(spark, table, tmp_path):
    options = {"speed": None, "rows_per_trigger": 300, "disorder": "5 minutes", "duplicates": 0.1}
    expected = triggers(reader(table, rows_per_trigger=300, disorder="5 minutes", duplicates=0.1))
    keep = {}
    stream = windrow.spark.replay(spark, table, "ts", **options)
    with pytest.raises(StreamingQueryException, match="pulled the plug"):
        started(stream, tmp_path / "state", keep, fail_at=1).awaitTermination(300)
    assert list(keep) == [0]
    stream = windrow.spark.replay(spark, table, "ts", **{**options, "rows_per_trigger": 10_000})
    assert started(stream, tmp_path / "state", keep).awaitTermination(300)
    assert list(keep) == [0, 1, 2]  # the one that failed is as it was planned, and then all the rest
    found = [plain(keep[batch]) for batch in keep]
    assert found == [plain(expected[0]), plain(expected[1]), plain(pa.concat_tables(expected[2:]))]


def test_by_the_clock(spark, table, tmp_path):
    stream = windrow.spark.replay(spark, table, "ts", speed=1e6, duplicates=0)
    running = stream.writeStream.format("memory").queryName("replayed").start()
    deadline = time.monotonic() + 120
    while spark.table("replayed").count() < 1_000 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running.isActive
    running.stop()
    assert plain(spark.table("replayed").toArrow()) == plain(rows())


@pytest.mark.slow
def test_a_query_over_it_equals_the_batch(spark, tmp_path):
    """Within the lateness no row is late: what is sent is the batch answer, to the last letter."""
    # rows of one time would keep the order of arrival, which a replay changes
    at = pa.array(START + np.random.default_rng(1).permutation(1_000) * SECOND, pa.timestamp("us", "UTC"))
    data = rows().set_column(0, "ts", at)
    end = pa.table({"ts": pa.array([START + 10**11], at.type), "i": [-1], "k": ["end"], "s": ["-"]})
    pq.write_table(pa.concat_tables([data, end]), tmp_path / "rows.parquet")
    query = windrow.Query(
        time="ts", by="k", windows=win.sliding("5 minutes", every="2 minutes"), lateness="3 minutes",
        aggregates={"text": swag.counting(agg.concat("s"))},
    )  # fmt: skip
    options = {"speed": None, "rows_per_trigger": 250, "disorder": "3 minutes", "duplicates": 0}
    stream = windrow.spark.replay(spark, tmp_path, "ts", **options)
    keep = {}
    assert started(query.run(stream), tmp_path / "state", keep).awaitTermination(300)
    assert plain(pa.concat_tables([t for t in keep.values() if t.num_rows])) == plain(query.run(data))
