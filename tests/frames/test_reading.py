"""Data in: columns, keys, and what is refused."""

from __future__ import annotations

import random
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.frames.cases import TYPES, build, comparable, listed, objects_of, pattern
from windrow.engine.grouping import factorize
from windrow.engine.inputs import object_array, read_columns, read_keys
from windrow.errors import WindrowError
from windrow.frames import Taken, Values, read


@pytest.mark.parametrize("type_name", TYPES)
def test_every_type_is_read(make: Any, type_name: str) -> None:
    column = TYPES[type_name]
    frame = read(make(x=column))
    want = [comparable(v) for v in (column if type_name != "ns" else column.cast(pa.int64())).to_pylist()]
    got = objects_of(frame, "x")
    if type_name == "ns":
        got = [None if v is None else int(v.astype("M8[ns]").astype(np.int64)) for v in got]
    if make.kind == "pandas" and type_name == "uint64":
        want[0] = float(want[0])  # pandas made it a float
    assert got == want
    assert frame.names == ("x",)
    assert frame.rows == 3
    assert frame.column("x") is frame.column("x")
    assert [comparable(v) for v in frame.objects("x", [2, 1])] == [objects_of(frame, "x")[i] for i in (2, 1)]


def test_what_columns_are(make: Any) -> None:
    frame = read(make(i=pa.array([1, 2], pa.int16()), f=pa.array([1, 2], pa.float32()), b=[True, False], s=["a", "b"]))
    assert [frame.column(name).kind for name in "ifbs"] == ["int64", "float64", "bool", "object"]
    assert [frame.column(name).mask for name in "ifbs"] == [None] * 4
    assert frame.column("i").dtype == np.int16
    assert frame.column("f").dtype == np.float32
    nulls = read(make(i=pa.array([1, None], pa.int16()), b=[None, True]))
    if make.kind != "pandas":  # which makes them floats
        assert nulls.column("i").values.tolist() == [1, 0]
        assert nulls.column("i").dtype == np.int16
    assert nulls.column("i").mask.tolist() == [True, False]
    assert nulls.column("b").values.tolist() == [False, True]


def test_nan_is_null_only_in_pandas(make: Any) -> None:
    column = read(make(x=[1.0, float("nan"), None])).column("x")
    assert column.mask.tolist() == [True, "pandas" not in make.kind, False]
    clean = read(make(x=[1e308, 1e308, -float("inf")])).column("x")
    assert clean.mask is None  # a sum that overflows is no NaN


def test_no_copies() -> None:
    ints, floats = np.arange(8), np.arange(8) / 2
    stamps = ints.view("M8[us]")
    table = pa.table({"i": ints, "f": floats, "t": pa.array(stamps)})
    for data in (
        table,
        table.to_batches()[0],
        table.to_reader(),
        pl.DataFrame(pl.from_arrow(table)),
        {"i": ints, "f": floats, "t": stamps},
    ):
        frame = read(data)
        assert np.shares_memory(frame.column("i").values, ints)
        assert np.shares_memory(frame.column("f").values, floats)
        assert np.shares_memory(frame.column("t").values, stamps)
        assert np.shares_memory(frame.time("t").values, stamps)
    for frame in (table.to_pandas(), table.to_pandas(types_mapper=pd.ArrowDtype)):
        frame["z"] = frame["t"].dt.tz_localize("UTC")
        for name in ("i", "f", "t"):
            own = frame[name].to_numpy()
            assert np.shares_memory(read(frame).column(name).values, own)
    assert np.shares_memory(read(table.slice(3, 2)).column("i").values, ints)


def test_chunks_and_slices(make: Any) -> None:
    for words in (["a", "b", None, "a", "c", "b"], [1, 2, None, 1, 3, 2], [True, False, None, True, True, False]):
        chunks = pa.chunked_array([pa.array(part, pa.array(words).type) for part in (words[:2], [], words[2:])])
        for column in (chunks, pa.array(words * 2).slice(6), chunks.dictionary_encode()):
            frame = read(make(x=column))
            assert objects_of(frame, "x") == words
            assert pattern(frame.keys(["x"])[0]) == [words.index(word) for word in words]
            assert listed(frame.take([5, 0]), "x") == [words[5], words[0]]
            assert listed(build(frame, {"x": Taken("x", np.array([4, -1]))}), "x") == [words[4], None]


def test_dictionaries_that_differ_or_hold_a_value_twice() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), pa.array(["a", "b", "a", None]))
    other = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["b", "c"]))
    twice = twice.cast(pa.dictionary(pa.int64(), pa.string()))
    for chunks, want in (([twice, other], [0, 1, 0, 3, 3, 1, 6]), ([twice], [0, 1, 0, 3, 3])):
        frame = read(pa.table({"x": pa.chunked_array(chunks)}))
        assert pattern(frame.keys(["x"])[0]) == want
        assert objects_of(frame, "x") == ["a", "b", "a", None, None, "b", "c"][: len(want)]


@pytest.mark.parametrize("type_name", TYPES)
def test_keys_of_every_type(make: Any, type_name: str) -> None:
    column = TYPES[type_name]
    frame = read(make(k=pa.chunked_array([column, column]), other=[1, 1, 1, 2, 2, 2]))
    key, other = frame.keys(["k", "other"])
    assert pattern(key) == [0, 1, 2, 0, 1, 2]
    assert other.values.tolist() == [1, 1, 1, 2, 2, 2]
    if make.kind != "dict" and type_name in ("text", "large text", "dictionary", "decimal", "bytes"):
        assert key.values.dtype == np.int64
        codes, first = key.representatives()
        assert sorted(first.tolist()) == [0, 1, 2]
        assert len(codes) == 3


def test_wrong_names(make: Any) -> None:
    frame = read(make(price=[1], side=["a"]))
    for call in (frame.column, frame.time, frame.labels, lambda name: frame.keys([name])):
        with pytest.raises(
            WindrowError, match=r"no column 'prize' \(did you mean 'price'\?\); the columns are: price, side"
        ):
            call("prize")
    with pytest.raises(WindrowError, match=r"no column 'zzz'; "):
        build(frame, {"x": Taken("zzz", np.array([0]))})


def test_wrong_data() -> None:
    for data in ([1, 2], "rows", pd.Series([1]), np.arange(3), None):
        with pytest.raises(WindrowError, match="windrow reads pandas or Polars frames"):
            read(data)
    with pytest.raises(WindrowError, match="one length"):
        read({"a": [1], "b": [1, 2]})
    with pytest.raises(WindrowError, match="'a' has 2 dimensions"):
        read({"a": np.zeros((2, 2))})
    with pytest.raises(WindrowError, match="'a' is not an array"):
        read({"a": "text"})
    with pytest.raises(WindrowError, match="'a' is there more than once"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(WindrowError, match="'a' is there more than once"):
        read(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(WindrowError, match="several levels"):
        read(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(WindrowError, match="no type for values of Fraction"):
        build(read(pa.table({"a": [1]})), {"x": Values(object_array([Fraction(1, 2)]))})


def test_libraries_are_imported_only_with_their_data() -> None:
    code = """
import sys, numpy as np
from windrow import frames
frame = frames.read({"a": [1, None], "t": np.array([1, 2], "M8[s]")})
frame.keys(["a"]), frame.time("t"), frames.extend(frame, {"x": frames.Values(np.arange(2))})
assert not {"pandas", "polars", "pyarrow", "narwhals"} & set(sys.modules), "dict"
import polars
frame = frames.read(polars.DataFrame({"a": ["x", None], "t": [1, 2]}))
frame.keys(["a"]), frame.time("t")
frames.extend(frame, {"x": frames.Values(np.arange(2)), "y": frames.Taken("a", np.array([0, -1]))})
assert not {"pandas", "pyarrow"} & set(sys.modules), "polars"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nulls_of_series_are_nulls_in_the_engine() -> None:
    for given in (
        pa.array([1, None, 3], pa.int32()),
        pa.chunked_array([[1], [None, 3]], pa.int32()),
        pl.Series([1, None, 3], dtype=pl.Int32),
        pd.Series([1, None, 3], dtype="Int32"),
    ):
        (column,) = read_columns((given,))
        assert column.values.tolist() == [1, 0, 3]
        assert column.values.dtype == np.int64
        assert column.mask.tolist() == [True, False, True]
    assert read_columns((pa.array([True, None]),))[0].kind == "bool"
    assert read_columns((pl.Series([True, None]),))[0].kind == "bool"
    assert read_columns((pa.array([1.5, None, float("nan")]),))[0].mask.tolist() == [True, False, True]
    assert read_columns(([[1, 2], [3, 4]],))[0].objects() == [[1, 2], [3, 4]]


def test_null_keys_of_the_engine_are_keys() -> None:
    starts, last = read_keys((pa.array([0, None, None, 0]), pa.array([1.0, 1.0, 2.0, 2.0])), 4, None)
    assert starts.tolist() == [False, True, True, True]
    assert last == (0, 2.0)
    assert read_keys(pl.Series([0, None]), 2, None)[1] == (None,)


@pytest.mark.parametrize("type_name", ["int64", "float64", "bool", "text", "decimal", "dictionary", "zoned", "list"])
def test_keys_are_grouped(make: Any, type_name: str) -> None:
    """Keys go to the engine as they are."""
    column = pa.chunked_array([TYPES[type_name].take(pa.array([2, 1, 0, 1, 2, 2]))])
    codes, first = factorize(read(make(k=column)).keys(["k"]))
    assert codes.tolist() == [0, 1, 2, 1, 0, 0]
    assert first.tolist() == [0, 1, 2]


def test_random_columns(make: Any) -> None:
    """What goes in through any kind comes out again, by position, as values and as rows."""
    rng = random.Random(7)
    draws = {
        pa.int64(): lambda: rng.choice([0, 1, -1, 2**53 - 1, -(2**53)]),
        pa.float64(): lambda: rng.choice([0.0, -0.5, 1e300, float("inf")]),
        pa.bool_(): lambda: rng.random() < 0.5,
        pa.string(): lambda: rng.choice(["", "a", "ä", "null"]),
        pa.timestamp("us"): lambda: rng.randrange(-(10**15), 10**15),
        pa.decimal128(6, 2): lambda: Decimal(rng.randrange(-999, 999)) / 100,
    }
    for _ in range(40):
        kind, draw = rng.choice(list(draws.items()))
        rows = rng.randrange(8)
        values = [None if rng.random() < 0.3 else draw() for _ in range(rows)]
        cuts = sorted(rng.randrange(rows + 1) for _ in range(2))
        column = pa.chunked_array([values[: cuts[0]], values[cuts[0] : cuts[1]], values[cuts[1] :]], kind)
        frame = read(make(x=column))
        want = [comparable(v) for v in column.to_pylist()]
        assert objects_of(frame, "x") == want
        assert pattern(frame.keys(["x"])[0]) == [want.index(v) for v in want]
        at = np.array([rng.randrange(-1, rows) for _ in range(rng.randrange(6))], np.int64)
        read_column = frame.column("x")
        data = build(frame, {"taken": Taken("x", at)})
        again = build(frame, {"again": Values(read_column.values, read_column.mask, like="x")})
        assert listed(data, "taken") == [None if i < 0 else want[i] for i in at]
        assert listed(again, "again") == want
        there = at[at >= 0]
        assert listed(frame.take(there), "x") == [want[i] for i in there]


def test_outlines(make: Any) -> None:
    """Kind, type and nulls of a column are told without making objects of its text."""
    frame = read(make(s=["a", None], i=[1, 2]))
    outline = frame.outline("s")
    assert (outline.kind, outline.dtype) == ("object", np.dtype(object))
    assert outline.mask.tolist() == [True, False]
    assert frame.outline("i").values.tolist() == [1, 2]
    frame.check("i")
    with pytest.raises(WindrowError, match="no column 'j'"):
        frame.check("j")
