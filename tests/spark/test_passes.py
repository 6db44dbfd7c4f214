"""What workers do with their partitions, against the brute-force evaluator; in small chunks, so that keys are cut."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import windrow
from tests.query.cases import KINDS, arrow_rows, assert_same, draw_case, one_pair_of_edges
from tests.spark.in_process import ran
from windrow import win
from windrow.errors import WindrowError
from windrow.spark import chunks
from windrow.spark.shapes import result_schema


def check(kind: str, seed: int, plain: bool) -> None:
    case = draw_case(kind, seed)
    case.plain = plain
    if pa.types.is_timestamp(case.table.time_type) and case.table.time_type.unit == "ns":
        case.table.time_type = pa.timestamp("us")  # Spark knows no nanoseconds
    got = arrow_rows(ran(case.query(), case.table.arrow(), random.Random(seed)))
    assert_same(got if case.per_row else one_pair_of_edges(got), case.expected(), str(case), ordered=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 8, 10_000])
def test_each_kind(kind, rows, monkeypatch):
    monkeypatch.setattr(chunks, "ROWS", rows)
    for seed in range(5):
        check(kind, 20_000 + seed, plain=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [8, 10_000])
def test_each_kind_compiled(kind, rows, monkeypatch):
    monkeypatch.setattr(chunks, "ROWS", rows)
    for seed in range(30):
        check(kind, 21_000 + seed, plain=False)


def test_the_type_of_an_answer_that_is_not_told():
    rows = pa.schema([("x", pa.int64())])
    shy = windrow.Aggregate(lambda x: (x,), lambda a, b: a + b, lambda s: None if len(s) < 9 else str(s), identity=())
    query = windrow.Query(windows=win.trailing(3), aggregates={"y": shy("x")})
    with pytest.raises(WindrowError, match="returns="):
        result_schema(query, rows)
    told = windrow.Aggregate(shy.lift, shy.combine, shy.lower, identity=(), returns="string")
    query = windrow.Query(windows=win.trailing(3), aggregates={"y": told("x")})
    assert result_schema(query, rows).field("y").type == pa.string()
