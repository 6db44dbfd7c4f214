"""Texts come through whole, NUL at their end included, from every library; and from pandas' own arrays in a dict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import windrow
from windrow import agg, win

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
TEXTS = ["a\0", "a", "a\0", "b\0\0", "", "\0"]
MAKE: dict[str, Any] = {
    "arrays": lambda c: {n: np.array(v, object) for n, v in c.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "categories of polars": lambda c: pl.DataFrame(c).with_columns(pl.col("k", "s").cast(pl.Categorical)),
    "pyarrow": pa.table,
    "series of pandas": lambda c: {n: pd.Series(v) for n, v in c.items()},
    "arrays of pandas": lambda c: {n: pd.Series(v).values for n, v in c.items()},
    "series of polars": lambda c: {n: pl.Series(v) for n, v in c.items()},
}


def plain(column: Any) -> list:
    listed = next(getattr(column, how)() for how in ("to_pylist", "tolist", "to_list") if hasattr(column, how))
    return [None if value != value else value for value in listed]


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("nulls", [False, True])
def test_texts_keep_their_nul(kind: str, nulls: bool) -> None:
    texts: list = [*TEXTS, None] if nulls else TEXTS
    data = MAKE[kind]({"k": texts, "s": texts, "x": list(range(len(texts)))})
    aggregates = {"most": agg.max("s"), "first": agg.first("s"), "all": agg.concat("s"), "by": agg.max_by("s", "x")}
    query = windrow.Query(by="k", windows=win.tumbling(1), aggregates=aggregates)
    live = query.open()
    for result in (query.run(data), live.push(data)):
        keys = plain(result["k"])
        assert len(keys) == len(texts) and set(keys) == set(texts)
        for name in aggregates:
            assert plain(result[name]) == keys, name
    rows = windrow.Query(windows=win.trailing(1), aggregates={"most": agg.max("s")})
    assert plain(rows.run(data)["most"]) == texts and plain(rows.open().push(data)["s"]) == texts


ARRAYS: dict[str, Any] = {
    "texts": lambda: pd.Series(["a", None, "b"]).values,
    "texts of objects": lambda: pd.array(["a", None, "b"], dtype="string[python]"),
    "ints": lambda: pd.array([1, None, 2], dtype="Int64"),
    "bools": lambda: pd.array([True, None, False], dtype="boolean"),
    "categories": lambda: pd.Categorical(["a", None, "b"]),
    "zoned times": lambda: pd.array(pd.to_datetime(["2024-05-01", None, "2024-05-02"]).tz_localize("UTC")),
    "of arrow": lambda: pd.array(["a", None, "b"], dtype=pd.ArrowDtype(pa.string())),
    "periods": lambda: pd.array(pd.PeriodIndex(["2024-05", None, "2024-06"], freq="M")),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_pandas_are_columns(kind: str) -> None:
    """As values and as keys; null is null."""
    array = ARRAYS[kind]()
    query = windrow.Query(by="k", windows=win.tumbling(1), aggregates={"n": agg.count("k"), "it": agg.last("k")})
    for result in (query.run({"k": array}), query.open().push({"k": array})):
        assert len(result["k"]) == 3 and sorted(plain(result["n"])) == [0, 1, 1]
