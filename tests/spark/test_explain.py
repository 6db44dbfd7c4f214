"""What `explain` says of a query over a DataFrame, against the physical plan; how far jobs are."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import windrow
from windrow import agg, win
from windrow.spark import statistics, watching

ANY_ORDER = {"n": agg.sum("x")}
OURS = {"n": agg.max_count("x")}
IN_ORDER = {"text": agg.concat("w")}


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame([(i, i % 3, i, str(i)) for i in range(50)], "ts long, k long, x long, w string")


def told(query, frame):
    """The steps as (who, what), and the costs by name."""
    steps, costs = query.explain(frame).split("\n\n")[1:]
    numbered = [line.split(None, 2) for line in steps.splitlines()]
    assert [number for number, _, _ in numbered] == [f"{i}." for i in range(1, len(numbered) + 1)]
    return [(who, what) for _, who, what in numbered], dict(line.split(": ", 1) for line in costs.splitlines())


CASES = {
    "slices of Spark": (win.sliding("1 minute", every="7 seconds"), ANY_ORDER, "k", 0, 2),
    "slices": (win.sliding("1 minute", every="7 seconds"), OURS, "k", 0, 1),
    "slices in order": (win.sliding("1 minute", every="7 seconds"), IN_ORDER, None, 1, 1),
    "trailing time": (win.trailing("9 seconds"), IN_ORDER, "k", 1, 0),
    "trailing rows": (win.trailing(5), IN_ORDER, "k", 1, 0),
    "counted": (win.trailing(5), IN_ORDER, None, 1, 0),
    "counted windows": (win.sliding(5, every=2), IN_ORDER, None, 1, 0),
    "sequential": (win.punctuated("x > 3"), IN_ORDER, None, 1, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_is_what_spark_does(case, frame, monkeypatch):
    monkeypatch.setattr(statistics, "WORTH", 10)
    monkeypatch.setattr(statistics, "SHARE", 1)
    windows, aggregates, by, rows, partials = CASES[case]
    query = windrow.Query(time="ts", by=by, windows=windows, aggregates=aggregates)
    steps, costs = told(query, frame)
    who = [name for name, _ in steps]
    assert who[0] == "Spark" and who[-1] == "ours" and set(who) == {"Spark", "ours", "exchange", "sort"}
    assert sum(what.startswith("of the rows") for name, what in steps if name == "exchange") == rows
    assert ("all rows once" in costs["exchanged"]) == bool(rows)
    assert ("partials once" in costs["exchanged"]) == (partials == 1)
    assert ("partials twice" in costs["exchanged"]) == (partials == 2)
    assert "two_stacks_lite" in costs["combines"] and "chunk" in costs["in a worker"].strip()
    plan = windrow.spark.physical_plan(query, frame, "simple")
    assert plan.startswith("== Physical Plan ==")
    for name, operator in (("exchange", "Exchange "), ("sort", "Sort "), ("ours", "MapInArrow |ArrowEvalPython ")):
        assert len(re.findall(operator, plan)) == who.count(name), (name, plan)
    assert "Expand" not in plan
    if case.startswith("counted"):
        assert "parts of time" in steps[1][1]
    if case == "sequential":
        assert any("one task" in what for _, what in steps)


def test_several_windows_and_an_algorithm_of_choice(frame):
    windows = {f"w{i}": win.trailing(f"{i} seconds") for i in (1, 2, 3)}
    query = windrow.Query(time="ts", windows=windows, aggregates=ANY_ORDER, algorithm="daba_lite")
    assert told(query, frame)[1]["combines"].strip() == "at most 6 (daba_lite) for each of the 3 windows a row"


def test_progress(spark, frame, monkeypatch):
    monkeypatch.setattr(watching, "OFTEN", 0.01)

    def slow(batches):
        import time

        for batch in batches:
            time.sleep(0.5)
            yield batch

    screen = io.StringIO()
    before = dict(spark.conf.getAll)
    with windrow.spark.progress(spark, Console(file=screen, width=100)) as bars:
        assert frame.repartition(3).mapInArrow(slow, frame.schema).count() == 50
    assert dict(spark.conf.getAll) == before
    assert bars.bars and all(task.finished for task in bars.progress.tasks)
    assert "stage" in screen.getvalue()


def test_progress_ends_with_an_error(spark):
    with pytest.raises(ZeroDivisionError), windrow.spark.progress(spark, Console(file=io.StringIO())):
        raise ZeroDivisionError
