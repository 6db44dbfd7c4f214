"""Data out: the kind that came in, the types that came in."""

from __future__ import annotations

from collections import namedtuple
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.frames.cases import DAY, MOMENT, TYPES, build, comparable, extend, instants, listed, types
from windrow import frames
from windrow.engine.inputs import object_array
from windrow.errors import WindrowError
from windrow.frames import Taken, Values, read


@pytest.mark.parametrize("type_name", TYPES)
def test_values_by_position(make: Any, type_name: str) -> None:
    frame = read(make(x=TYPES[type_name]))
    want = listed(frame.native(), "x")
    data = build(
        frame, {"x": Taken("x", np.array([2, -1, 0, 1])), "y": Taken(frame.labels("x"), np.array([0, 0, 2, 2]))}
    )
    assert listed(data, "x") == [want[2], None, want[0], None]
    assert listed(data, "y") == [want[0], want[0], want[2], want[2]]
    if make.kind != "dict":
        assert types(data) == {name: types(frame.native())["x"] for name in "xy"}


@pytest.mark.parametrize("type_name", TYPES)
def test_values_like_a_column(make: Any, type_name: str) -> None:
    """Saved as Python's objects or as the engine's numbers, and made into the column's own type again."""
    frame = read(make(x=TYPES[type_name]))
    column = frame.column("x")
    data = build(
        frame,
        {
            "saved": Values(object_array(frame.objects("x", [0, 1, 2])), like="x"),
            "counted": Values(column.values, column.mask, like="x"),
        },
    )
    for name in data if isinstance(data, dict) else ("saved", "counted"):
        assert listed(data, name) == listed(frame.native(), "x")
        if make.kind not in (
            "dict",
            "pandas",
        ):  # NumPy has no type for these, pandas none for ints and bools with nulls
            assert types(data)[name] == types(frame.native())["x"]


def test_values_that_do_not_fit(make: Any) -> None:
    frame = read(
        make(small=pa.array([1], pa.int8()), unsigned=pa.array([1], pa.uint64()), half=pa.array([1.5], pa.float32()))
    )
    data = build(
        frame,
        {
            "a": Values(np.array([300, 1]), like="small"),
            "b": Values(np.array([-1, 2]), like="unsigned"),
            "c": Values(np.array([3, 4]), like="small"),
        },
    )
    assert listed(data, "a") == [300, 1]
    assert listed(data, "b") == [-1, 2]
    assert types(data)["c"] == types(frame.native())["small"]


def test_numbers(make: Any) -> None:
    frame = read(make(x=[1]))
    mask = np.array([True, False, True])
    arrays = {
        "int64": np.array([2**62, 5, -1]),
        "int32": np.array([1, 5, -1], np.int32),
        "uint64": np.array([2**64 - 1, 5, 1], np.uint64),
        "float64": np.array([0.5, 5, -np.inf]),
        "float32": np.array([0.5, 5, 1], np.float32),
        "bool": np.array([True, True, False]),
        "time": np.array([1, 5, -1], "M8[us]"),
        "day": np.array([1, 5, -1], "M8[D]"),
        "hour": np.array([1, 5, -1], "M8[h]"),
        "duration": np.array([1, 5, -1], "m8[ms]"),
    }
    whole = build(frame, {name: Values(array) for name, array in arrays.items()})
    parts = build(frame, {name: Values(array, mask) for name, array in arrays.items()})
    masked = build(frame, {name: Values(np.ma.array(array, mask=~mask)) for name, array in arrays.items()})
    for name, array in arrays.items():
        want = [comparable(v) for v in array]
        assert listed(whole, name) == want
        assert listed(parts, name) == listed(masked, name) == [want[0], None, want[2]]
        if name in ("int32", "float32", "uint64"):
            assert name in str(types(whole)[name]).lower() or (name, str(types(whole)[name])) == ("float32", "float")
    if make.kind.startswith("pandas"):
        assert str(types(parts)["int64"]) == "Int64"
        assert str(types(parts)["bool"]) == "boolean"
        assert types(parts)["float64"] == np.float64
    if make.kind == "dict":
        assert all(isinstance(column, np.ma.MaskedArray) for column in parts.values())
        assert types(whole)["day"] == "M8[D]"


def test_nan_in_results(make: Any) -> None:
    data = build(read(make(x=[1])), {"y": Values(np.array([np.nan, 1.0, 2.0]), np.array([True, True, False]))})
    got = listed(data, "y")
    assert got[1:] == [1.0, None]
    assert got[0] is None if "pandas" in make.kind else np.isnan(got[0])


Spread = namedtuple("Spread", ["low", "high"])
OBJECTS = {
    "text": (["a", None, "b"], ["a", None, "b"]),
    "lists": ([[1, 2], None, []], [[1, 2], None, []]),
    "even lists": ([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]]),
    "tuples": ([(1, 2), None, (3, 4)], [[1, 2], None, [3, 4]]),
    "sets": ([{9, 1}, None, frozenset({17, 1, 9})], [[1, 9], None, [1, 9, 17]]),
    "decimals": ([Decimal("1.5"), None], [Decimal("1.5"), None]),
    "bytes": ([b"x", None], [b"x", None]),
    "named": ([Spread(1, 2.5), None], [{"low": 1, "high": 2.5}, None]),
    "dates": ([DAY, None], [np.datetime64(DAY), None]),
    "moments": ([MOMENT, None], [np.datetime64(MOMENT), None]),
    "numbers": ([1, None, 3], [1, None, 3]),
    "numpy's": ([np.int64(1), None, np.int64(3)], [1, None, 3]),
    "long numbers": ([2**70, None], [2**70, None]),
    "nothing": ([None, None], [None, None]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects(make: Any, name: str) -> None:
    given, want = OBJECTS[name]
    data = build(read(make(x=[1])), {"y": Values(object_array(given))})
    assert listed(data, "y") == want
    masked = build(read(make(x=[1])), {"y": Values(object_array(given), np.arange(len(given)) != 0)})
    assert listed(masked, "y") == [None, *want[1:]]


def test_mixed_tuples(make: Any) -> None:
    data = build(read(make(x=[1])), {"y": Values(object_array([(1, "a"), None, (2, "b")]))})
    want = [{"_1": 1, "_2": "a"}, None, {"_1": 2, "_2": "b"}]
    assert listed(data, "y") == (
        want if "pandas" not in make.kind and make.kind != "dict" else [[1, "a"], None, [2, "b"]]
    )


def test_rows_extended(make: Any) -> None:
    data = make(a=[3, 1, 2], s=["x", None, "z"])
    frame = read(data)
    longer = extend(frame, {"b": Values(np.array([1.5, 2.5, 3.5])), "c": Taken("s", np.array([2, 2, -1]))})
    assert list(types(longer)) == ["a", "s", "b", "c"]
    assert listed(longer, "a") == [3, 1, 2]
    assert listed(longer, "c") == ["z", "z", None]
    assert types(longer)["a"] == types(frame.native())["a"]
    assert list(types(frame.native())) == ["a", "s"]  # the input stays as it was
    with pytest.raises(WindrowError, match="'a' already"):
        extend(frame, {"a": Values(np.arange(3))})
    with pytest.raises(WindrowError, match="'b' has 2 values for 3 rows"):
        extend(frame, {"b": Values(np.arange(2))})
    with pytest.raises(WindrowError, match="one length"):
        build(frame, {"b": Values(np.arange(2)), "c": Values(np.arange(3))})


def test_pandas_index_stays() -> None:
    data = pd.DataFrame({"a": [3, 1, 2]}, index=pd.Index(["x", "x", "y"], name="who"))
    for columns in (1, 60):  # one by one, and all at once
        longer = extend(read(data), {f"b{i}": Values(np.array([7, 8, 9])) for i in range(columns)})
        assert longer.index.equals(data.index)
        assert longer["b0"].tolist() == [7, 8, 9]
        assert len(longer.columns) == 1 + columns
    assert read(data).take([2, 0]).index.tolist() == ["y", "x"]
    assert build(read(data), {"b": Values(np.array([7]))}).index.tolist() == [0]
    with pytest.raises(WindrowError, match=r"'who'.*reset_index"):
        read(data).column("who")


def test_the_same_objects_come_back() -> None:
    ints, words = np.arange(3), ["a", "b", "c"]
    longer = extend(read({"i": ints, "w": words}), {"x": Values(ints)})
    assert longer["i"] is ints
    assert longer["w"] is words
    assert read({"i": ints, "w": words}).take([1])["w"] == ["b"]
    table = pa.table({"i": ints})
    assert np.shares_memory(extend(read(table), {"x": Values(ints)})["i"].to_numpy(), ints)


@pytest.mark.parametrize("type_name", TYPES)
def test_no_rows(make: Any, type_name: str) -> None:
    frame = read(make(x=TYPES[type_name].slice(0, 0)))
    assert frame.rows == 0
    assert len(frame.column("x").values) == 0
    assert len(frame.keys(["x"])[0].values) == 0
    assert listed(frame.take([]), "x") == []
    none = np.empty(0, np.int64)
    data = build(
        frame, {"t": Taken("x", none), "v": Values(none), "o": Values(np.empty(0, object)), "l": Values(none, like="x")}
    )
    assert [listed(data, name) for name in "tvol"] == [[]] * 4
    assert listed(build(frame, {"t": Taken("x", np.array([-1, -1]))}), "t") == [None, None]
    if type_name in ("s", "ms", "us", "ns", "zoned", "date", "int64"):
        times = frame.time("x")
        assert listed(build(frame, {"t": instants(times, 0)}), "t") == []


def test_the_kind_that_came_comes_back(make: Any) -> None:
    data = make(x=[3, 1, 2])
    frame = read(data)
    assert read(frame) is frame
    for result in (
        frame.native(),
        frame.take([2, 0]),
        frames.build(frame, {"y": Values(np.arange(2))}),
        frames.build(frame, {}),
        frames.extend(frame, {"y": Values(np.arange(3))}),
    ):
        assert type(result) is type(data)
    assert listed(frame.take([2, 0]), "x") == [2, 3]
    assert read(frame.take([2, 0])).rows == frame.pick([2, 0]).rows == 2
