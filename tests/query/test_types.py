"""The types of a result are told by the query and the types of the columns alone: rows or not, batch or live."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from tests.frames.cases import NULLABLE
from tests.spark.in_process import ran
from windrow import agg, frames, swag, win
from windrow.engine.walks import HIGHEST as FOREVER
from windrow.spark.buckets import HASH, Bucket
from windrow.spark.shapes import result_schema

DAY = dt.date(2024, 2, 27)
MOMENT = dt.datetime(2024, 2, 27, 12)
SCHEMA = pa.schema(
    [
        ("t", pa.timestamp("us")), ("k", pa.string()), ("i", pa.int64()), ("small", pa.int16()), ("f", pa.float64()),
        ("b", pa.bool_()), ("s", pa.string()), ("d", pa.decimal128(10, 2)), ("u", pa.duration("ms")),
        ("z", pa.timestamp("ms", "Europe/Berlin")), ("day", pa.date32()), ("km", pa.float64()), ("raw", pa.binary()),
    ]
)  # fmt: skip
AGGREGATES = {
    "n": agg.count(), "sum_i": agg.sum("i"), "sum_f": agg.sum("f"), "sum_d": agg.sum("d"), "sum_u": agg.sum("u"),
    "mean_i": agg.mean("i"), "mean_d": agg.mean("d"), "mean_u": agg.mean("u"), "mean_z": agg.mean("z"),
    "range_i": agg.value_range("i"), "range_d": agg.value_range("d"), "range_z": agg.value_range("z"),
    "min_small": agg.min("small"), "max_s": agg.max("s"), "max_d": agg.max("d"), "max_z": agg.max("z"),
    "min_day": agg.min("day"), "max_b": agg.max("b"), "first_s": agg.first("s"), "last_d": agg.last("d"),
    "who": agg.max_by("s", "i"), "what": agg.min_by("i", "d"), "top": agg.top_k("i", 2), "all_d": agg.collect_list("d"),
    "set_s": agg.collect_set("s"), "text": agg.concat("s"), "mode_d": agg.mode("d"), "truth": agg.bool_and("b"),
    "count_max": agg.max_count("f"), "spread": agg.stddev("i"), "counts": agg.histogram("i", [0, 5, 10]),
    "apart": agg.count_distinct("s"), "raw_max": agg.max("raw"), "product": agg.product("i"),
    "frequent": agg.frequent_items("s"), "heavy": agg.weighted_mean("f", "i"), "run": agg.longest_increasing_run("i"),
}  # fmt: skip
WINDOWS = {
    "tumbling": {"windows": win.tumbling("1 minute"), "time": "t"},
    "sliding": {
        "windows": win.sliding("2 minutes", every="30 seconds"),
        "time": "t",
        "by": "k",
        "lateness": "1 minute",
    },
    "session": {"windows": win.session("20 seconds"), "time": "t", "by": ["k", "b"]},
    "rows": {"windows": win.tumbling(3), "by": "d"},
    "trailing": {"windows": win.trailing("1 minute"), "time": "t", "by": "k"},
    "left": {"windows": win.trailing(2, closed="left")},
    "along": {"windows": win.tumbling(2.5, on="km"), "time": "t"},
    "several": {"windows": {"a": win.tumbling("1 minute"), "b": win.tumbling(2, on="i")}, "time": "t", "by": "k"},
    "partial": {"windows": win.landmark("b", every=2), "by": "k", "partial": True},
    "days": {"windows": win.tumbling("1 day"), "time": "day"},
    "half days": {"windows": win.tumbling("12 hours"), "time": "day"},
    "zoned": {"windows": win.session("1500 milliseconds"), "time": "z"},
    "integers": {"windows": win.tumbling(2), "time": "i"},
}
LIBRARIES = ["arrow", "polars", "pandas", "pandas nullable", "pandas pyarrow"]


#: compiled in one window; all run in plain Python in the others, where nothing has to be compiled
COMPILED = (
    "n",
    "sum_i",
    "sum_d",
    "sum_u",
    "mean_i",
    "mean_z",
    "range_z",
    "min_small",
    "max_z",
    "max_b",
    "first_s",
    "who",
)


def asked(window: str, **more: Any) -> windrow.Query:
    given = {name: swag.counting(aggregate) for name, aggregate in AGGREGATES.items()}
    if window == "tumbling":
        given = {name: AGGREGATES[name] for name in COMPILED}
    return windrow.Query(aggregates=given, **{**WINDOWS[window], **more})


def rows(rng: random.Random, count: int, start: int, nulls: float) -> pa.Table:
    """Rows in the order of their times, from `start` seconds on."""
    at = sorted(rng.randrange(start, start + 40) for _ in range(count))

    def column(kind: pa.DataType, value: Any) -> pa.Array:
        return pa.array([None if rng.random() < nulls else value(i) for i in range(count)], kind)

    made = {
        "t": pa.array([MOMENT + dt.timedelta(seconds=s) for s in at], pa.timestamp("us")),
        "k": column(pa.string(), lambda i: rng.choice("ab")),
        "i": pa.array([start + i for i in range(count)], pa.int64()),
        "small": column(pa.int16(), lambda i: i - 3),
        "f": column(pa.float64(), lambda i: i / 2),
        "b": column(pa.bool_(), lambda i: rng.random() < 0.5),
        "s": column(pa.string(), lambda i: rng.choice(["x", "y", "zzz"])),
        "d": column(pa.decimal128(10, 2), lambda i: Decimal(rng.randrange(10 ** rng.randrange(1, 10))) / 100),
        "u": column(pa.duration("ms"), lambda i: dt.timedelta(milliseconds=rng.randrange(5000))),
        "z": pa.array([MOMENT + dt.timedelta(seconds=s) for s in at], pa.timestamp("ms", "Europe/Berlin")),
        "day": pa.array([DAY + dt.timedelta(days=s // 10) for s in at], pa.date32()),
        "km": pa.array([s / 4 for s in at], pa.float64()),
        "raw": column(pa.binary(), lambda i: bytes([i % 256])),
    }
    return pa.table(made, schema=SCHEMA)


def pushes(seed: int) -> list[pa.Table]:
    """Some pushes, empty ones among them, some without nulls and some with nothing else in many columns."""
    rng = random.Random(seed)
    return [
        rows(rng, 0 if rng.random() < 0.4 else rng.randrange(1, 6), 50 * p, rng.choice([0.0, 0.3, 1.0]))
        for p in range(5)
    ]


def of(library: str, table: pa.Table) -> Any:
    if library == "polars":
        return pl.DataFrame(pl.from_arrow(table))
    if library == "pandas pyarrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if not library.startswith("pandas"):
        return table
    # the types that a whole table with nulls has: pandas has no nulls in an int64
    full = rows(random.Random(0), 20, 0, 0.0).to_pandas(types_mapper=NULLABLE.get).dtypes.to_dict()
    if library == "pandas":
        full |= {"i": "int64", "small": "float64", "b": "object"}
    return table.to_pandas(types_mapper=NULLABLE.get).astype({name: full[name] for name in table.column_names})


def schema(data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return data.dtypes.to_dict()
    return dict(data.schema) if isinstance(data, pl.DataFrame) else data.schema


def together(parts: list[Any]) -> Any:
    """The parts below one another, by the strictest means that the library has."""
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat([part for part in parts if len(part)] or parts[:1])
    return pl.concat(parts, how="vertical") if isinstance(parts[0], pl.DataFrame) else pa.concat_tables(parts)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_all_results_have_one_schema(library: str, window: str) -> None:
    """Over random pushes, empty ones included, before and after a snapshot, by advance and close, and in a batch."""
    query = asked(window)
    for seed in (0, 1):
        parts = [of(library, part) for part in pushes(seed)]
        live = query.open()
        results = [live.push(part) for part in parts[:3]]
        live = query.resume(live.snapshot())
        if query.time is not None and window != "integers":
            results.append(live.advance(dt.datetime(2024, 2, 27)))
        results += [live.push(part) for part in parts[3:]]
        results.append(live.close())
        whole = query.run(together(parts))
        objects = library in ("pandas", "pandas nullable")  # dates and decimals are: only values tell of them
        for i, result in enumerate([*results, whole, query.run(parts[0]), query.run(parts[-1])]):
            want, got = schema(whole), schema(result)
            if objects and not len(parts[0]):
                want = {name: kind for name, kind in want.items() if str(kind) != "object"}
                got = {name: got[name] for name in want}
            if window in ("days", "half days") and objects and not len(result):
                continue  # the times themselves are such objects
            assert got == want, (seed, i)
        assert len(together(results)) == sum(map(len, results))


@pytest.mark.parametrize("window", WINDOWS)
def test_the_schema_that_spark_was_told_is_what_comes(window: str) -> None:
    if window in ("integers", "days", "half days"):
        query = asked(window)
    else:
        query = asked(window, lateness=None)
    table = pa.concat_tables(pushes(3))
    for some in (table, table.slice(0, 0), table.slice(0, 1)):
        plain = some.cast(pa.schema([pa.field(f.name, plainly(f.type)) for f in SCHEMA]))
        assert ran(query, plain, random.Random(1)).schema.equals(result_schema(query, plain.schema))


def plainly(kind: pa.DataType) -> pa.DataType:
    """As Spark has it."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) else kind


@pytest.mark.parametrize("window", ["tumbling", "sliding", "session", "trailing"])
def test_triggers_of_a_stream_have_one_schema(window: str) -> None:
    query = asked(window, by="k", lateness="1 minute")
    parts = [part.cast(pa.schema([pa.field(f.name, plainly(f.type)) for f in SCHEMA])) for part in pushes(5)]
    parts = [part.append_column(HASH, pa.array([0] * len(part), pa.int32())) for part in parts]
    told = result_schema(query, parts[0].drop([HASH]).schema)
    bucket = Bucket(query, parts[0].schema)
    state = Memory()
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        head = bucket.head(0, state)
        outcome = bucket.step(0, head, state, [part] if len(part) else [], FOREVER - 1 if last else 1)
        state.put(-1, bucket.head_bytes(0, head))
        found = outcome.results.drop([HASH]).select(told.names).schema
        assert found.equals(told), i


class Memory(dict):
    """Pages in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.chunks = _Chunks()

    def put(self, page: Any, data: bytes) -> None:
        self[page] = data

    def remove(self, page: Any) -> None:
        self.pop(page, None)


class _Chunks(dict):
    put = dict.__setitem__
    remove = dict.__delitem__


def test_a_first_push_without_types_tells_none() -> None:
    """Lists without a value, and pandas' empty columns of objects, do not bind later pushes."""
    query = windrow.Query(
        time="t", by="k", windows=win.tumbling("10 us"), aggregates={"total": agg.sum("x"), "top": agg.max("x")}
    )
    none: dict[str, list] = {"t": [], "k": [], "x": []}
    some = {"t": [1, 25], "k": ["a", "a"], "x": [1.5, 2.0]}
    untyped = pd.DataFrame(none, dtype=object), pa.table({name: pa.nulls(0) for name in none}), pl.DataFrame(none)
    typed = pd.DataFrame(some), pa.table(some), pl.DataFrame(some)
    for empty, then in zip((none, *untyped), (some, *typed), strict=True):
        live = query.open()
        first = live.push(empty)
        assert frames.read(first).names == ("k", "start", "end", "total", "top")
        result = live.push(then)
        assert next(iter(result["total"])) in (1.5, pa.scalar(1.5))
        assert next(iter(result["start"])) in (0, pa.scalar(0))


def test_a_column_that_was_null_so_far() -> None:
    query = windrow.Query(windows=win.tumbling(1), aggregates={"top": agg.max("x"), "all": agg.bool_and("y")})
    for data in (
        lambda x, y: {"x": [x], "y": [y]},
        lambda x, y: pd.DataFrame({"x": [x], "y": [y]}, dtype=object),
        lambda x, y: pa.table({"x": [x], "y": [y]}),
        lambda x, y: pl.DataFrame({"x": [x], "y": [y]}),
    ):
        live = query.open()
        live.push(data(None, None))
        live = query.resume(live.snapshot())
        got = live.push(data(3, True))
        assert np.asarray(got["top"]).tolist() == [3]
        assert np.asarray(got["all"]).tolist() == [True]


def test_edges_of_days() -> None:
    """Windows of whole days begin and end with dates; others with times, both ends."""
    table = pa.table({"day": pa.array([DAY, DAY + dt.timedelta(1)]), "x": [1, 2]})
    whole = windrow.Query(time="day", windows=win.tumbling("1 day"), aggregates={"n": agg.count()}).run(table)
    half = windrow.Query(time="day", windows=win.session("12 hours"), aggregates={"n": agg.count()}).run(table)
    assert whole.schema.field("start").type == whole.schema.field("end").type == pa.date32()
    assert half.schema.field("start").type == half.schema.field("end").type == pa.timestamp("us")
    assert half["end"].to_pylist()[0] == dt.datetime(2024, 2, 27, 12)


def test_decimals_keep_their_places() -> None:
    table = pa.table({"x": pa.array([Decimal("0.01"), Decimal("1.00"), Decimal("1.00")], pa.decimal128(5, 2))})
    found = windrow.Query(windows=win.tumbling(3), aggregates={"s": agg.sum("x"), "m": agg.mean("x")}).run(table)
    assert found.schema.types[2:] == [pa.decimal128(15, 2), pa.decimal128(38, 6)]
    assert found["m"].to_pylist() == [Decimal("0.670000")]


def test_an_aggregate_of_ones_own_need_not_take_rows_that_are_made_up() -> None:
    def lift(x: str) -> list:
        return [{"yes": 1, "no": 0}[x]]

    own = windrow.Aggregate(lift, lambda a, b: a + b, len, identity=[])
    query = windrow.Query(windows=win.tumbling(2), aggregates={"n": own("x")})
    table = pa.table({"x": ["yes", "no"]})
    assert query.run(table)["n"].to_pylist() == query.open().push(table)["n"].to_pylist() == [2]
    told = windrow.Aggregate(lift, lambda a, b: a + b, len, identity=[], returns="int64")
    query = windrow.Query(windows=win.tumbling(2), aggregates={"n": told("x")})
    assert query.run(table.slice(0, 0)).schema == query.run(table).schema
