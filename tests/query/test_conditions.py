"""`where=` and `windrow.expr`: against DuckDB's FILTER and expressions, and against rows that were left out by hand."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.query import random_expressions as language
from tests.query.hostile_texts import HOSTILE
from windrow import agg, stores, swag, win
from windrow.errors import WindrowError

duckdb = pytest.importorskip("duckdb")
NEVER = {"compile": "never"}


def table(rows: dict[str, list[Any]]) -> pa.Table:
    kinds = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_()}
    columns = {name: pa.array(values, kinds[language.COLUMNS[name]]) for name, values in rows.items()}
    n = len(next(iter(rows.values())))
    return pa.table({"i": pa.array(range(n)), "k": pa.array([i % 3 for i in range(n)]), **columns})


def same(found: Any, expected: Any) -> bool:
    if found is None or expected is None:
        return found is expected is None
    if isinstance(found, (bool, str)):
        return found == expected
    found, expected = float(found), float(expected)
    return found == expected or (math.isnan(found) and math.isnan(expected)) or math.isclose(found, expected)


def compare(seed: int) -> None:
    rnd = random.Random(seed)
    data = table(language.rows(rnd, 40))
    value = rnd.choice([language.number, language.number, language.text])(rnd, 3)
    condition = language.truth(rnd, 3)
    con = duckdb.connect()
    con.register("t", data)
    spelled = [text.replace("`", '"') for text in (value, condition)]
    try:
        each = con.sql(f"SELECT {spelled[0]}, {spelled[1]} FROM t ORDER BY i").fetchall()
    except duckdb.Error as error:  # of types that do not go together there, or a number beyond 64 bits
        if re.search("Binder|Conversion|Out of Range", str(error)):
            return
        raise
    query = windrow.Query(
        windows=win.trailing(1),
        aggregates={"v": agg.max(windrow.expr(value)), "n": agg.count(where=condition)},
        **NEVER,  # type: ignore[arg-type]
    )
    found = query.run(data).to_pydict()
    for i, (wanted, holds) in enumerate(each):
        assert same(found["v"][i], wanted), (seed, value, i, found["v"][i], wanted, data.slice(i, 1).to_pylist())
        assert found["n"][i] == (holds is True), (seed, condition, i, data.slice(i, 1).to_pylist())
    numeric = not any(isinstance(v, str) for v, _ in each)
    total = f", sum({spelled[0]}) FILTER (WHERE {spelled[1]})" if numeric else ""
    by_key = con.sql(
        f"SELECT k, count(*) FILTER (WHERE {spelled[1]}), max({spelled[0]}) FILTER (WHERE {spelled[1]}){total} "
        "FROM t GROUP BY k ORDER BY k"
    ).fetchall()
    aggregates = {"n": agg.count(where=condition), "most": agg.max(windrow.expr(value), where=condition)}
    if numeric:
        aggregates["total"] = agg.sum(windrow.expr(value), where=condition)
    query = windrow.Query(by="k", windows=win.tumbling(1000), aggregates=aggregates, partial=True, **NEVER)  # type: ignore[arg-type]
    result = query.run(data).sort_by("k").to_pydict()
    for i, (_, *wanted) in enumerate(by_key):
        for name, expected in zip(aggregates, wanted, strict=True):
            assert same(result[name][i], expected), (seed, name, value, condition, result[name][i], expected)


@pytest.mark.parametrize("seed", range(40))
def test_expressions_equal_those_of_duckdb(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
def test_five_hundred_expressions() -> None:
    for seed in range(1000, 1500):
        compare(seed)


#: every aggregate over columns of the rows below; those that take other columns or options
SPECIAL = {
    "max_by": agg.max_by("s", "x"), "min_by": agg.min_by("s", "x"), "weighted_mean": agg.weighted_mean("x", "y"),
    "corr": agg.corr("x", "y"), "covar_samp": agg.covar_samp("x", "y"), "regr_slope": agg.regr_slope("x", "y"),
    "histogram": agg.histogram("x", [0, 3, 6]), "approx_percentile": agg.approx_percentile("x", 0.5),
    "first_n": agg.first_n("s", 2), "last_n": agg.last_n("s", 2), "top_k": agg.top_k("x", 2), "concat": agg.concat("s"),
    "bool_and": agg.bool_and("b"), "bool_or": agg.bool_or("b"), "count": agg.count(),
}  # fmt: skip
ALL = [name for name in agg.__all__ if name != "join"]
ROWS = {
    "t": list(range(0, 240, 10)),
    "x": [None if i % 7 == 3 else (i * 5) % 8 for i in range(24)],
    "y": [i % 5 for i in range(24)],
    "s": [None if i % 11 == 2 else "abcdefgh"[(i * 3) % 8] for i in range(24)],
    "b": [i % 3 > 0 for i in range(24)],
}


def made(name: str, **options: Any) -> Any:
    bound = SPECIAL.get(name) or getattr(agg, name)("x")
    return bound(*bound.columns, **options)


def listed(result: dict[str, Any], name: str) -> list[Any]:
    return [str(value) for value in np.ma.asarray(result[name]).tolist()]


@pytest.mark.parametrize("name", ALL)
def test_every_aggregate_takes_the_rows_where_it_holds(name: str) -> None:
    """A row that is left out by hand becomes a row of nulls: it makes its window, and is in no aggregate."""
    condition = "y >= 2 or s = 'a'"
    holds = [y >= 2 or s == "a" for y, s in zip(ROWS["y"], ROWS["s"], strict=True)]
    left = {n: v if n == "t" else [a if h else None for a, h in zip(v, holds, strict=True)] for n, v in ROWS.items()}
    given = made(name, where=condition)
    plain = made(name) if name != "count" else agg.count("y")
    for window in (win.tumbling("40 microseconds"), win.trailing(5)):
        options = {"time": "t", "time_unit": "us", "windows": window, **NEVER}
        with_where = windrow.Query(aggregates={"a": given}, **options)
        expected = windrow.Query(aggregates={"a": plain}, **options).run(left)
        assert listed(with_where.run(ROWS), "a") == listed(expected, "a")


def test_where_is_seen_everywhere_alike() -> None:
    """In a table, live, after a snapshot, in a store, and as rows by hand; the aggregate minds the order."""
    aggregates = {
        "text": agg.concat("s", where="y > 1"),
        "n": agg.count(where=lambda row: row.y > 1),
        "most": agg.max(windrow.expr("x * 2 + y"), where="b"),
        "who": agg.max_by("s", "x", where="y <> 3"),
    }
    data = {n: np.ma.array([0 if v is None else v for v in c], mask=[v is None for v in c]) if n == "x" else c
            for n, c in ROWS.items()}  # fmt: skip

    def row(i: int) -> dict[str, Any]:
        return {name: column[i] for name, column in ROWS.items()}

    batch = None
    for window, store in ((win.trailing(5), None), (win.trailing(5), stores.memory())):
        query = windrow.Query(windows=window, aggregates=aggregates, store=store, **NEVER)  # type: ignore[arg-type]
        batch = query.run(data)
        parts, live = [], query.open()
        for at in range(0, 24, 6):
            parts.append(live.push({name: column[at : at + 6] for name, column in data.items()}))
            live = query.resume(live.snapshot())
        for name in aggregates:
            assert [v for part in parts for v in listed(part, name)] == listed(batch, name)
        assert list(parts[0]) == [*ROWS, *aggregates]
    assert batch is not None
    for i in range(24):
        window_rows = [row(j) for j in range(max(0, i - 4), i + 1)]
        texts = [r["s"] for r in window_rows if r["y"] > 1 and r["s"] is not None]
        doubled = [r["x"] * 2 + r["y"] for r in window_rows if r["b"] and r["x"] is not None]
        assert listed(batch, "text")[i] == str("".join(texts) if texts else None)
        assert listed(batch, "n")[i] == str(sum(r["y"] > 1 for r in window_rows))
        assert listed(batch, "most")[i] == str(max(doubled, default=None))


def test_rows_that_ask_see_the_same() -> None:
    aggregates = {"text": agg.concat("s", where="y > 1"), "who": agg.max_by("s", windrow.expr("y * 2"), where="y <> 3")}
    query = windrow.Query(
        time="t", time_unit="us", windows=win.trailing("40 microseconds"), aggregates=aggregates, compile="never"
    )
    events, asks = {name: ROWS[name] for name in ("t", "y", "s")}, {"t": ROWS["t"]}
    live = query.open()
    live.push(events)
    each = query.run(events)
    for answers in (query.run(events, at=asks), live.at({"t": ROWS["t"][-1:]})):
        for name in aggregates:
            assert listed(answers, name) == listed(each, name)[-len(answers["t"]) :]


def test_compiled_as_plain() -> None:
    rng = np.random.default_rng(5)
    data = {"x": rng.integers(0, 100, 500), "f": rng.standard_normal(500)}
    aggregates = {"n": agg.count(where="x < 50"), "v": agg.sum(windrow.expr("x * f"), where="f > 0")}
    found = [
        windrow.Query(windows=win.trailing(20), aggregates=aggregates, compile=mode).run(data)
        for mode in ("never", "always")
    ]
    for name in aggregates:
        assert listed(found[0], name) == listed(found[1], name)
    first = [(x, f) for x, f in zip(data["x"].tolist(), data["f"].tolist(), strict=True)][:20]
    assert found[0]["n"][19] == sum(x < 50 for x, _ in first)
    assert math.isclose(found[0]["v"][19], sum(x * f for x, f in first if f > 0))


def test_times_compare_with_text() -> None:
    times = np.array(["2024-03-30T23:59", "2024-03-31T00:00", "2024-04-01T00:00", "NaT"], "M8[us]")
    data = {"t": times[:3], "u": times[[0, 1, 3]], "day": times[:3].astype("M8[D]")}

    def count(condition: str) -> int:
        query = windrow.Query(windows=win.tumbling(3), aggregates={"n": agg.count(where=condition)}, **NEVER)  # type: ignore[arg-type]
        return int(query.run(data)["n"][0])

    assert count("t >= '2024-03-31'") == 2
    assert count("'2024-03-31' > t") == 1
    assert count("u < '2024-03-31'") == 1
    assert count("u is null") == 1
    assert count("t = '2024-03-31T02:00:00+02:00'") == 1
    assert count("day between '2024-03-31' and '2024-04-02'") == 2
    assert count("t in ('2024-03-31', '2024-04-01 00:00')") == 2
    assert count("t < u") == 0 and count("t <= u") == 2
    assert count("t > 0") == 3
    with pytest.raises(WindrowError, match="compares times with 'soon', which is none"):
        count("t > 'soon'")
    starts = windrow.Query(
        time="t", windows=win.punctuated("t >= '2024-03-31'"), aggregates={"n": agg.count()}, partial=True, **NEVER
    )  # type: ignore[arg-type]
    assert starts.run({"t": times[:3]})["n"].tolist() == [1, 1]


def test_types_are_told_by_the_query_and_the_columns_alone() -> None:
    schema = pa.schema([("x", pa.int32()), ("s", pa.string()), ("ts", pa.timestamp("ms", "Europe/Berlin"))])
    aggregates = {
        "half": agg.max(windrow.expr("x / 2")),
        "twice": agg.sum(windrow.expr("x * 2")),
        "low": agg.min(windrow.expr("lower(s)")),
        "some": agg.max("ts", where="x > 3"),
        "none": agg.max(windrow.expr("x"), where="x > 3"),
        "n": agg.count(where="s is null"),
    }
    query = windrow.Query(windows=win.tumbling(2), aggregates=aggregates, **NEVER)  # type: ignore[arg-type]
    live = query.open()
    rows = pa.table({"x": [1, 2], "s": ["A", None], "ts": [0, 1]}).cast(schema)
    results = [query.run(schema.empty_table()), query.run(rows), live.push(schema.empty_table()), live.push(rows)]
    for result in results:
        assert result.schema.remove_metadata() == results[1].schema.remove_metadata()
    kinds = {field.name: str(field.type) for field in results[1].schema}
    assert kinds["half"] == "double" and kinds["twice"] == "int64" and kinds["low"] == "string"
    assert kinds["some"] == "timestamp[ms, tz=Europe/Berlin]" and kinds["none"] == "int32" and kinds["n"] == "int64"


def test_integers_do_not_wrap() -> None:
    query = windrow.Query(windows=win.tumbling(2), aggregates={"a": agg.sum(windrow.expr("x * x"))}, **NEVER)  # type: ignore[arg-type]
    with pytest.raises(WindrowError, match=r"x \* x.*1000000000000000000000000 in row 1 does not fit a 64-bit integer"):
        query.run({"x": [3, 10**12]})
    live = query.open()
    live.push({"x": [3]})
    with pytest.raises(WindrowError, match="in row 0 does not fit"):
        live.push({"x": [10**12]})
    assert live.push({"x": [4]})["a"].tolist() == [25]  # the push that failed left nothing behind


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: windrow.expr("x **2"), r"`\*\*` is not allowed"),
        (lambda: windrow.expr(3), "takes a text"),
        (lambda: query_of(agg.sum("x", where="x <")), r"aggregates\['a'\]: expression 'x <': it ends too early"),
        (lambda: query_of(agg.sum("x", where=3)), "a predicate is a column's name"),
        (lambda: query_of(agg.first("x", ignorenulls=False, where="x > 1")), "counts nulls, too"),
        (lambda: agg.sum(where="x > 1"), r"sum takes 1 column\(s\), got 0"),
        (lambda: swag.DABA(agg.sum("x", where="x > 1")), "a window by hand takes no condition"),
        (lambda: agg.join(agg.sum("x", where="x > 1")), "join takes no condition"),
        (lambda: win.policy(lambda total, old: True, over={"n": agg.count(where="x > 1")}), "over takes no condition"),
    ],
)
def test_what_is_refused_when_it_is_made(make: Any, says: str) -> None:
    with pytest.raises(WindrowError, match=says):
        make()


def query_of(aggregate: Any) -> windrow.Query:
    return windrow.Query(windows=win.tumbling(2), aggregates={"a": aggregate}, **NEVER)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("aggregate", "says"),
    [
        (agg.sum("x", where="z > 1"), "there is no column 'z'"),
        (agg.sum(windrow.expr("s * 2")), "s is text, not a number"),
        (agg.sum(windrow.expr("upper(s)")), "a number is needed"),
        (agg.sum("x", where="x"), "x is number, not true or false"),
        (agg.max(windrow.expr("coalesce(x, s)")), "has int and object for one value"),
        (agg.max(windrow.expr("lower(x)")), "x is number, not text"),
    ],
)
def test_what_is_refused_when_the_columns_are_known(aggregate: Any, says: str) -> None:
    with pytest.raises(WindrowError, match=says):
        query_of(aggregate).run({"x": [1, 2], "s": ["a", "b"]})


def test_a_column_of_the_name_of_an_input_is_refused() -> None:
    with pytest.raises(WindrowError, match="the data has a column 'x where x > 1', which the query derives"):
        query_of(agg.sum("x", where="x > 1")).run({"x": [1], "x where x > 1": [2]})


def test_two_functions_of_one_name_are_two_conditions() -> None:
    aggregates = {"a": agg.count(where=lambda row: row.x > 1), "b": agg.count(where=lambda row: row.x > 2)}
    query = windrow.Query(windows=win.tumbling(3), aggregates=aggregates, **NEVER)  # type: ignore[arg-type]
    found = query.run({"x": [1, 2, 3]})
    assert (found["a"][0], found["b"][0]) == (2, 1)
    other = {**aggregates, "b": agg.count(where=lambda row: row.x > 0)}
    live = query.open()
    live.push({"x": [1]})
    with pytest.raises(windrow.errors.SnapshotError, match="conditions"):
        windrow.Query(windows=win.tumbling(3), aggregates=other, **NEVER).resume(live.snapshot())  # type: ignore[arg-type]


def test_the_plan_names_what_is_derived() -> None:
    plan = query_of(agg.sum(windrow.expr("x * y"), where="y > 1")).explain()
    assert "input 'x * y where y > 1': a column that is derived from x, y as rows come in" in plan


def test_other_names() -> None:
    for one, other in agg.OTHER_NAMES.items():
        assert getattr(agg, one) is getattr(agg, other)


def test_hostile_texts_are_refused() -> None:
    assert len(HOSTILE) >= 190
    for text in HOSTILE:
        with pytest.raises(WindrowError):
            windrow.expr(text)
