"""A kind of window that the library does not know runs everywhere: in batch, live, through a snapshot, in a bucket."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.spark.test_buckets import Stream, hashed
from tests.step.jumps import Jumps
from windrow import agg
from windrow.engine.walking import WalkState
from windrow.windows.base import Window

AGGREGATES = {"n": agg.count(), "text": agg.concat("s"), "most": agg.max("x")}
QUERY = windrow.Query(time="ts", by="k", windows=Jumps("x", 30), aggregates=AGGREGATES)


def table(rows: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        "ts": np.sort(rng.integers(0, 10_000, rows)) * 1_000_000,
        "k": rng.integers(0, 4, rows),
        "x": rng.integers(0, 100, rows),
        "s": np.array([chr(97 + i % 26) for i in range(rows)], object),
    }


def brute(data: dict[str, np.ndarray]) -> set[tuple]:
    found = set()
    for key in set(data["k"].tolist()):
        mine = np.flatnonzero(data["k"] == key)
        x, s = data["x"][mine], data["s"][mine]
        begins = [0] + [i for i in range(1, len(x)) if x[i] > x[i - 1] + 30]
        for a, z in itertools.pairwise(begins):
            found.add((key, a, z, z - a, "".join(s[a:z]), int(x[a:z].max())))
    return found


def spelled(result: dict) -> list[tuple]:
    names = ("k", "start", "end", "n", "text", "most")
    return list(zip(*(np.asarray(result[name]).tolist() for name in names), strict=True))


def test_batch() -> None:
    data = table()
    got = spelled(QUERY.run(data))
    assert set(got) == brute(data) and len(got) == len(set(got)) > 20


def test_live_and_through_a_snapshot() -> None:
    data, got = table(), []
    live = QUERY.open()
    for begin in range(0, 200, 17):
        got += spelled(live.push({name: column[begin : begin + 17] for name, column in data.items()}))
        live = QUERY.resume(live.snapshot())
    got += spelled(live.close())
    assert set(got) == brute(data) and len(got) == len(set(got))


def test_in_a_bucket_of_a_stream() -> None:
    data = table()
    ending = {"ts": [10**11], "k": [0], "x": [0], "s": ["z"]}  # the watermark moves on
    everything = pa.table({name: [*column.tolist(), *ending[name]] for name, column in data.items()})
    rows = hashed(everything.set_column(0, "ts", everything["ts"].cast(pa.timestamp("us"))))
    stream = Stream(QUERY, rows.schema)
    for begin, end in itertools.pairwise([0, 40, 90, 200, 201, 201]):
        stream.push(rows.slice(begin, end - begin))
    sent = pa.concat_tables([r for r in stream.results if r.num_rows]).to_pydict()
    got = spelled(sent)
    assert set(got) == brute(data) and len(got) == len(set(got))


def test_explain_describes_it() -> None:
    told = QUERY.explain(table())
    assert "jumps of x by more than 30" in told and "a row's content tells" in told


def test_a_kind_that_leaves_something_out_is_refused_when_it_is_defined() -> None:
    with pytest.raises(TypeError, match="the window kind Half does not say due, walk, state"):

        class Half(Window):
            def __str__(self) -> str:
                return "half"

            def idle(self, state: WalkState, keys: np.ndarray) -> np.ndarray:
                return np.zeros(len(keys), bool)

    class Nearly(Jumps):  # what a kind has from another is there
        pass
