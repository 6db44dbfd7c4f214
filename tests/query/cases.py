"""Random tables, and random windows: each for the oracle and for `windrow`; and how answers are compared."""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import windrow
from tests.query import brute
from tests.query.own_windows import Bursts, Counted, LastRows, Marked, Quiet, Spells, Stock
from windrow import agg, swag, win

#: the aggregates that are asked for, fixed, because each set is compiled: name -> (for the oracle, for windrow)
AGGREGATES: dict[str, tuple[dict, dict]] = {
    "numbers": (
        {"s": ("sum", "i"), "m": ("max", "f"), "b": ("max_by", "i", "f"), "n": ("count",), "a": ("mean", "f")},
        {"s": agg.sum("i"), "m": agg.max("f"), "b": agg.max_by("i", "f"), "n": agg.count(), "a": agg.mean("f")},
    ),
    "text": (
        {"c": ("concat", "w", "-"), "b": ("max_by", "w", "f"), "s": ("sum", "i")},
        {"c": agg.concat("w", sep="-"), "b": agg.max_by("w", "f"), "s": agg.sum("i")},
    ),
    "floats": (
        {"s": ("sum", "f"), "m": ("max", "i"), "b": ("max_by", "f", "i"), "nv": ("count", "i")},
        {"s": agg.sum("f"), "m": agg.max("i"), "b": agg.max_by("f", "i"), "nv": agg.count("i")},
    ),
    # in any order: live, rows that come late go straight into their slices
    "commutative": (
        {"s": ("sum", "i"), "m": ("max", "f"), "n": ("count",), "a": ("mean", "f")},
        {"s": agg.sum("i"), "m": agg.max("f"), "n": agg.count(), "a": agg.mean("f")},
    ),
}

KEYS: dict[str, list[str]] = {"none": [], "one": ["k"], "few": ["k"], "ints": ["g"], "floats": ["h"], "two": ["g", "k"]}
TICKS = (1, 1_000_000, 3_600_000_000)


def duration(ticks: int) -> datetime.timedelta:
    return datetime.timedelta(microseconds=ticks)


# ------------------------------------------------------------------------------------------------- windows
# Each maker gives (the oracle's window, windrow's). `t` is the tick: the length that times are multiples of.


def periodic_time(rng: random.Random, t: int) -> tuple:
    length, every = t * rng.randint(1, 30), t * rng.randint(1, 12)
    origin = rng.choice([0, 0, -3 * t, 7 * t, -(10**6) * t - 1, 10**6 * t + 1])
    return brute.Periodic(length, every, origin), win.sliding(duration(length), duration(every), origin or None)


def periodic_time_gaps(rng: random.Random, t: int) -> tuple:
    length = t * rng.randint(1, 5)
    every = length + t * rng.randint(1, 5)
    return brute.Periodic(length, every), win.sliding(duration(length), every=duration(every))


def periodic_time_right(rng: random.Random, t: int) -> tuple:
    length, every = t * rng.randint(1, 9), t * rng.randint(1, 9)
    window = win.sliding(duration(length), every=duration(every), closed="right")
    return brute.Periodic(length, every, closed="right"), window


def periodic_rows(rng: random.Random, t: int) -> tuple:
    length, every, origin = rng.randint(1, 9), rng.randint(1, 9), rng.choice([0, 0, 3])
    return brute.Periodic(length, every, origin, "rows"), win.sliding(length, every, origin)


def periodic_float(rng: random.Random, t: int) -> tuple:
    length, every, origin = rng.randint(1, 60) / 8, rng.randint(2, 40) / 8, rng.choice([0.0, -0.125, 1000.5])
    return brute.Periodic(length, every, origin, "d"), win.sliding(length, every, origin, on="d")


def periodic_int(rng: random.Random, t: int) -> tuple:
    length, every, origin = rng.randint(1, 20), rng.randint(1, 9), rng.choice([0, -4, 10**9])
    return brute.Periodic(length, every, origin, "e"), win.sliding(length, every, origin, on="e")


def tumbling_time(rng: random.Random, t: int) -> tuple:
    size = t * rng.randint(1, 15)
    return brute.Periodic(size, size), win.tumbling(duration(size))


def tumbling_rows(rng: random.Random, t: int) -> tuple:
    size = rng.randint(1, 6)
    return brute.Periodic(size, size, on="rows"), win.tumbling(size)


def tumbling_float(rng: random.Random, t: int) -> tuple:
    size = rng.randint(1, 30) / 8
    return brute.Periodic(size, size, on="d"), win.tumbling(size, on="d")


def session_time(rng: random.Random, t: int) -> tuple:
    gap = t * rng.randint(1, 12)
    return brute.Session(gap), win.session(duration(gap))


def session_float(rng: random.Random, t: int) -> tuple:
    gap = rng.randint(1, 16) / 8
    return brute.Session(gap, "d"), win.session(gap, on="d")


def session_int(rng: random.Random, t: int) -> tuple:
    gap = rng.randint(1, 6)
    return brute.Session(gap, "e"), win.session(gap, on="e")


def session_time_most(rng: random.Random, t: int) -> tuple:
    gap, most = t * rng.randint(1, 12), t * rng.randint(1, 20)
    return brute.Session(gap, at_most=most), win.session(duration(gap), at_most=duration(most))


def session_float_most(rng: random.Random, t: int) -> tuple:
    gap, most = rng.randint(1, 16) / 8, rng.randint(1, 24) / 8
    return brute.Session(gap, "d", most), win.session(gap, on="d", at_most=most)


def above_four(row: Any) -> bool:
    return row.f is not None and row.f > 4.0


def odd_or_long(row: Any) -> bool:
    return row["w"] is not None and len(row["w"]) > 1


def predicate(rng: random.Random, how: str) -> tuple:
    """(what the oracle asks, what windrow is given)."""
    if how == "column":
        return (lambda row: row.flag), "flag"
    if how == "expression":
        text = rng.choice(["f < 3 and not flag", "i % 2 == 1 or w == 'a'", "f is None or flag"])
        holds = {
            "f < 3 and not flag": lambda row: all(
                (row.f is not None and row.f < 3, row.flag is not None and not row.flag)
            ),
            "i % 2 == 1 or w == 'a'": lambda row: (row.i is not None and row.i % 2 == 1) or row.w == "a",
            "f is None or flag": lambda row: row.f is None or row.flag,
        }[text]
        return holds, text
    if how == "function":
        return above_four, above_four
    return odd_or_long, odd_or_long


def punctuated(how: str):
    def make(rng: random.Random, t: int) -> tuple:
        holds, given = predicate(rng, how)
        return brute.Punctuated(holds), win.punctuated(given)

    return make


def landmark_time(rng: random.Random, t: int) -> tuple:
    holds, given = predicate(rng, rng.choice(["column", "expression", "function"]))
    every = t * rng.randint(1, 8)
    return brute.Landmark(holds, every), win.landmark(given, every=duration(every))


def landmark_rows(rng: random.Random, t: int) -> tuple:
    holds, given = predicate(rng, rng.choice(["column", "expression", "function"]))
    every = rng.randint(1, 5)
    return brute.Landmark(holds, every, "rows"), win.landmark(given, every=every)


def last(rng: random.Random, t: int) -> tuple:
    n, every, origin = rng.randint(1, 6), t * rng.randint(1, 9), rng.choice([0, 0, -t, 5 * t + 1])
    return brute.Last(n, every, origin), win.last(n, duration(every), origin)


def stock(rng: random.Random, t: int) -> tuple:
    return brute.UserDefined(Stock), win.user_defined(Stock)


def counted(rng: random.Random, t: int) -> tuple:
    length, slide = rng.randint(1, 6), rng.randint(1, 6)
    return brute.UserDefined(lambda: Counted(length, slide)), win.user_defined(Counted(length, slide))


def bursts(rng: random.Random, t: int) -> tuple:
    return brute.UserDefined(Bursts), win.user_defined(Bursts)


def quiet(rng: random.Random, t: int) -> tuple:
    gap = t * rng.randint(1, 12)
    return brute.UserDefined(lambda: Quiet(gap)), win.user_defined(Quiet(gap))


def spells(rng: random.Random, t: int) -> tuple:
    size = t * rng.randint(1, 20)
    return brute.UserDefined(lambda: Spells(size)), win.user_defined(Spells(size))


def last_rows(rng: random.Random, t: int) -> tuple:
    n, every = rng.randint(1, 6), t * rng.randint(1, 9)
    return brute.UserDefined(lambda: LastRows(n, every)), win.user_defined(LastRows(n, every))


def marked(rng: random.Random, t: int) -> tuple:
    most = rng.randint(1, 6)
    return brute.UserDefined(lambda: Marked(most)), win.user_defined(Marked(most))


def trailing_time(closed: str):
    def make(rng: random.Random, t: int) -> tuple:
        length = t * rng.randint(0, 12)
        return brute.Trailing(length, closed), win.trailing(duration(length), closed)

    return make


def trailing_rows(closed: str):
    def make(rng: random.Random, t: int) -> tuple:
        length = rng.randint(1, 8)
        return brute.Trailing(length, closed, "rows"), win.trailing(length, closed)

    return make


def trailing_float(closed: str):
    def make(rng: random.Random, t: int) -> tuple:
        length = rng.randint(0, 24) / 8
        return brute.Trailing(length, closed, "d"), win.trailing(length, closed, on="d")

    return make


def trailing_int(closed: str):
    def make(rng: random.Random, t: int) -> tuple:
        length = rng.randint(0, 6)
        return brute.Trailing(length, closed, "e"), win.trailing(length, closed, on="e")

    return make


def at_most_three(total, old):
    return total.n - old.n >= 3


def thirty_at_least(total, old):
    """Prices are above 0, so that it holds for every shorter part of a part that it holds for."""
    return total.s is not None and total.s - (old.s if old.s is not None else 0.0) >= 30


def before_the_largest(total, old):
    """Drops what lies before the largest: as long as the oldest part has not got it."""
    return old.m is None or total.m is None or old.m < total.m


def policy_size(rng: random.Random, t: int) -> tuple:
    return brute.Policy(at_most_three, {"n": ("count",)}), win.policy(at_most_three, over={"n": agg.count()})


def policy_sum(rng: random.Random, t: int) -> tuple:
    return brute.Policy(thirty_at_least, {"s": ("sum", "price")}), win.policy(
        thirty_at_least, over={"s": agg.sum("price")}
    )


def policy_max(rng: random.Random, t: int) -> tuple:
    over = {"m": agg.max("i"), "n": agg.count()}
    return brute.Policy(before_the_largest, {"m": ("max", "i"), "n": ("count",)}), win.policy(before_the_largest, over)


ONCE = {
    "periodic_time": periodic_time,
    "periodic_time_gaps": periodic_time_gaps,
    "periodic_time_right": periodic_time_right,
    "periodic_rows": periodic_rows,
    "periodic_float": periodic_float,
    "periodic_int": periodic_int,
    "tumbling_time": tumbling_time,
    "tumbling_rows": tumbling_rows,
    "tumbling_float": tumbling_float,
    "session_time": session_time,
    "session_float": session_float,
    "session_int": session_int,
    "session_time_most": session_time_most,
    "session_float_most": session_float_most,
    "punctuated_column": punctuated("column"),
    "punctuated_expression": punctuated("expression"),
    "punctuated_function": punctuated("function"),
    "punctuated_plain": punctuated("plain"),
    "landmark_time": landmark_time,
    "landmark_rows": landmark_rows,
    "last": last,
    "user_stock": stock,
    "user_counted": counted,
    "user_bursts": bursts,
    "user_quiet": quiet,
    "user_spells": spells,
    "user_last_rows": last_rows,
    "user_marked": marked,
}
PER_ROW = {
    **{f"trailing_time_{c}": trailing_time(c) for c in ("right", "left", "both", "none")},
    **{f"trailing_rows_{c}": trailing_rows(c) for c in ("right", "left", "both", "none")},
    **{f"trailing_float_{c}": trailing_float(c) for c in ("right", "left", "both", "none")},
    **{f"trailing_int_{c}": trailing_int(c) for c in ("right", "both")},
    "policy_size": policy_size,
    "policy_sum": policy_sum,
    "policy_max": policy_max,
}
KINDS = {**ONCE, **PER_ROW}
#: kinds that need a time column
TIMED = {name for name in KINDS if "time" in name} | {
    "last",
    "user_stock",
    "user_quiet",
    "user_spells",
    "user_last_rows",
}


# -------------------------------------------------------------------------------------------------- tables


TYPES = {"k": pa.string(), "g": pa.int64(), "h": pa.float64(), "i": pa.int64(), "f": pa.float64()}
TYPES |= {
    "number": pa.int64(),
    "w": pa.string(),
    "d": pa.float64(),
    "e": pa.int64(),
    "flag": pa.bool_(),
    "price": pa.float64(),
}


@dataclass
class Table:
    """Columns as lists, None for null, times in microseconds; and how the time column is to look outside."""

    columns: dict[str, list]
    time_type: pa.DataType = field(default_factory=pa.int64)

    def rows(self) -> list[dict]:
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]

    @classmethod
    def of(cls, rows: list[dict], like: Table) -> Table:
        return cls({name: [row[name] for row in rows] for name in like.columns}, like.time_type)

    def arrow(self) -> pa.Table:
        data = {name: pa.array(values, TYPES[name]) for name, values in self.columns.items() if name != "ts"}
        return pa.table({"ts": self._times(), **data})

    def _times(self) -> pa.Array:
        times = self.columns["ts"]
        if pa.types.is_timestamp(self.time_type) and self.time_type.unit == "ns":
            times = [None if t is None else t * 1000 for t in times]
        return pa.array(times, pa.int64()).cast(self.time_type)


def times_of(rng: random.Random, n: int, tick: int) -> list[int]:
    at = rng.choice([0, 0, -20, -7, 10**6, -(10**6)]) * tick
    steps = rng.choice([(0, 1, 1, 2), (0, 0, 1, 5), (1,), (0, 3, 40, 100_000), (0, 0, 0, 1)])
    times = []
    for _ in range(n):
        at += rng.choice(steps) * tick
        times.append(at)
    return times


def draw_table(rng: random.Random, n: int, tick: int, keys: int = 4, in_order: bool = False) -> Table:
    """Ties, gaps, nulls, NaN, text. All value columns can be null, or none: compiled code is made for both."""
    times: list = times_of(rng, n, tick)
    if not in_order and rng.random() < 0.7:
        rng.shuffle(times)
    names = ["a", "b", "ccc", "dé"]
    columns: dict[str, list] = {
        "ts": times,
        "k": [rng.choice(names[:keys]) for _ in range(n)]
        if keys <= 4
        else [str(rng.randrange(keys)) for _ in range(n)],
        "g": [rng.randrange(keys) - 1 for _ in range(n)],
        "h": [rng.choice([0.5, 1.5, math.nan, -0.0, 0.0]) for _ in range(n)],
        "i": [rng.randint(-5, 9) for _ in range(n)],
        "f": [rng.randint(-40, 64) / 8 for _ in range(n)],
        "w": [rng.choice(["a", "b", "c", "dd", "e", ""]) for _ in range(n)],
        "d": [rng.randint(-80, 160) / 8 for _ in range(n)],
        "e": [rng.randint(-12, 25) for _ in range(n)],
        "flag": [rng.random() < 0.25 for _ in range(n)],
        "price": [rng.choice([9.5, 10.0, 10.5, 12.0]) for _ in range(n)],
    }
    if rng.random() < 0.3:
        for i in range(n):
            if rng.random() < 0.2:
                columns["f"][i] = rng.choice([math.nan, math.inf, -math.inf, -0.0])
    if n and rng.random() < 0.5:
        for name in ("i", "f", "w", "price", "flag", "k", "h", "d", "e", "ts"):
            share = 0.2 if name not in ("d", "e", "ts") else 0.08
            columns[name] = [None if rng.random() < share else x for x in columns[name]]
        for name in ("i", "f", "w", "price"):
            columns[name][rng.randrange(n)] = None
        if rng.random() < 0.3:
            columns["d"][rng.randrange(n)] = rng.choice([math.nan, math.inf, -math.inf])
    return Table(columns)


TIME_TYPES = (pa.int64(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"))


# ------------------------------------------------------------------------------------------------ answers


def plain(value: Any) -> Any:
    """Numbers that are equal become equal objects; NaN equals NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if not math.isinf(value) and value == int(value):
            return int(value)
    return value


def arrow_rows(result: pa.Table) -> list[dict]:
    """Result rows with times in microseconds."""
    if isinstance(result, dict):  # no row has come yet that could tell the kind
        assert not any(len(column) for column in result.values())
        return []
    columns = {}
    for name, column in zip(result.column_names, result.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            unit = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0.001}[column.type.unit]
            ticks = column.cast(pa.int64()).to_pylist()
            columns[name] = [None if t is None else t * unit if unit >= 1 else _exactly(t, 1000) for t in ticks]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _exactly(ticks: int, unit: int) -> int:
    assert ticks % unit == 0, ticks
    return ticks // unit


def dict_rows(result: dict[str, np.ndarray]) -> list[dict]:
    """The same for a dict of arrays."""
    columns = {}
    for name, array in result.items():
        if isinstance(array, np.ma.MaskedArray):
            there = ~np.ma.getmaskarray(array)
            columns[name] = [x if ok else None for x, ok in zip(array.data.tolist(), there, strict=True)]
        else:
            columns[name] = np.asarray(array).tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def one_pair_of_edges(rows: list[dict]) -> list[dict]:
    """Windows over several measures have `start_row` or `start_mile` beside `start`: each row uses one of the pairs."""
    found = []
    for row in rows:
        edges = {name: row[name] for name in row if name.startswith(("start", "end"))}
        starts = [name for name in edges if name.startswith("start") and edges[name] is not None]
        assert len(starts) == 1, row
        end = starts[0].replace("start", "end", 1)
        assert all(edges[name] is None for name in edges if name not in (starts[0], end)), row
        rest = {name: value for name, value in row.items() if name not in edges}
        found.append({**rest, "start": edges[starts[0]], "end": edges[end]})
    return found


def bag(rows: list[dict]) -> Counter:
    """Rows without their order."""
    return Counter(tuple(sorted((name, plain(value)) for name, value in row.items())) for row in rows)


def assert_same(got: list[dict], expected: list[dict], about: str, ordered: bool = False) -> None:
    """Fails with what is missing and what is too much."""
    found, wanted = bag(got), bag(expected)
    if found != wanted:
        missing, extra = list((wanted - found).elements())[:6], list((found - wanted).elements())[:6]
        lines = [about, f"{len(got)} rows, expected {len(expected)}", "missing:", *map(str, missing)]
        raise AssertionError("\n".join([*lines, "too much:", *map(str, extra)]))
    if ordered:
        mine, theirs = ([{n: plain(v) for n, v in row.items()} for row in rows] for rows in (got, expected))
        assert mine == theirs, f"{about}\nthe same rows in another order"


# -------------------------------------------------------------------------------------------------- a case


@dataclass
class Case:
    """One table, one query, for both sides."""

    about: str
    table: Table
    oracle: Any
    windows: Any
    aggregates: str
    by: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    time: str | None = "ts"
    plain: bool = False  # the aggregates run in plain Python: nothing has to be compiled for them

    @property
    def per_row(self) -> bool:
        first = next(iter(self.oracle.values())) if isinstance(self.oracle, dict) else self.oracle
        return isinstance(first, brute.PER_ROW)

    def query(self, **more: Any) -> windrow.Query:
        given = AGGREGATES[self.aggregates][1]
        if self.plain:
            given = {name: swag.counting(aggregate) for name, aggregate in given.items()}
        return windrow.Query(
            time=self.time, by=self.by, windows=self.windows, aggregates=given, **{**self.options, **more}
        )

    def expected(self, rows: list[dict] | None = None) -> list[dict]:
        specs = AGGREGATES[self.aggregates][0]
        given = self.table.rows() if rows is None else rows
        return brute.evaluate(given, self.oracle, specs, time=self.time, by=self.by, **self.options)

    def rejected(self) -> int:
        named = list(self.oracle.values()) if isinstance(self.oracle, dict) else [self.oracle]
        return sum(brute.rejected(brute.Row(row), self.time, named) for row in self.table.rows())

    def __str__(self) -> str:
        facts = f"{self.windows}, time={self.time}, by={self.by}, {self.aggregates}, {self.options}, times as"
        return f"{self.about}: {facts} {self.table.time_type}\n{self.table.columns}"


def draw_case(kind: str, seed: int, rows: int | None = None, keys: int | None = None, **how: Any) -> Case:
    """The case of this kind and seed."""
    rng = random.Random(f"{kind} {seed}")
    tick = rng.choice(TICKS)
    if kind == "user_stock":
        tick = 60_000_000
    n = rng.choice([0, 1, 2, 3, *[rng.randint(4, 40)] * 8]) if rows is None else rows
    oracle, windows = KINDS[kind](rng, tick)
    if keys is None:
        name = rng.choice(list(KEYS))
        by, keys = KEYS[name], 1 if name == "one" else 4
    else:
        by = ["g"]
    table = draw_table(rng, n, tick, keys, **how)
    table.time_type = rng.choice(TIME_TYPES)
    if max((abs(t) for t in table.columns["ts"] if t is not None), default=0) >= 2**52:
        table.time_type = pa.timestamp("us")  # nanoseconds would not fit
    case = Case(f"{kind}, seed {seed}", table, oracle, windows, list(AGGREGATES)[seed % len(AGGREGATES)], by)
    if kind not in TIMED and rng.random() < 0.3:
        case.time = None
    if kind in ONCE and rng.random() < 0.3:
        case.options["partial"] = True
    return case
