"""Compiles kernels before they are needed: for one query, or for what everyday queries use.

Kernels are compiled by running queries over a few rows. Several processes do it side by side, since numba compiles one
kernel at a time in each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from windrow import aggregates as agg
from windrow import windows as win
from windrow.engine.kernel import compiling
from windrow.engine.threads import cores
from windrow.errors import WindrowError
from windrow.query import Query

#: aggregates that most queries use, and the column of `_rows` that each reads
EVERYDAY = {
    "count": agg.count(),
    "sum": agg.sum("x"),
    "sum of ints": agg.sum("i"),
    "mean": agg.mean("x"),
    "min": agg.min("x"),
    "max": agg.max("x"),
    "stddev": agg.stddev("x"),
    "first": agg.first("x"),
    "last": agg.last("x"),
    "max_by": agg.max_by("s", "x"),
}
WINDOWS = {
    "sliding": win.sliding("10 minutes", every="1 minute"),
    "tumbling": win.tumbling("1 minute"),
    "trailing": win.trailing("10 minutes"),
    "trailing rows": win.trailing(10),
    "session": win.session("5 minutes"),
}


def warm(query: Query | None = None, rows: Any = None, *, told: Callable[[int, int], None] | None = None) -> None:
    """Compiles all kernels that a query needs for columns like those of `rows`, over whole tables and live.

    Without a query: what everyday queries need, over several processes. Kernels that are on disk already are only
    looked at.

    Args:
        rows: a few rows of the query's data, one at least; pandas, Polars, pyarrow or a dict of arrays.
        told: called with how many jobs are done, and of how many; without a query only.
    """
    if query is None:
        _everyday(told)
        return
    if rows is None:
        raise WindrowError("warm needs a few rows of the query's data beside it: they tell the types of the columns")
    compiling("always", _run, query, rows)


def _run(query: Query, rows: Any) -> None:
    query.run(rows)
    if query.store is None:  # one in a store would leave something there
        live = query.open()
        live.push(rows)
        live.close()


def _jobs() -> Iterator[Query]:
    for window in WINDOWS.values():
        for keyed in (False, True):
            yield Query(time="t", by="k" if keyed else None, windows=window, aggregates=EVERYDAY)


def _rows() -> Iterator[dict[str, Any]]:
    """Tables without and with nulls, in order and not."""
    n = 40
    times = np.arange(n).astype("M8[m]").astype("M8[us]")
    rows = {"t": times, "k": np.arange(n) % 3, "x": np.arange(n) * 0.5, "i": np.arange(n), "s": ["a", "b"] * (n // 2)}
    yield rows
    yield {**rows, "t": times[::-1].copy(), "x": np.ma.masked_array(rows["x"], np.arange(n) % 5 == 0)}


def _everyday(told: Callable[[int, int], None] | None) -> None:
    jobs = len(list(_jobs()))
    waiting, done = list(range(jobs)), 0
    running: list[subprocess.Popen] = []
    while waiting or running:
        while waiting and len(running) < cores():
            command = [sys.executable, "-m", "windrow.local.warming", str(waiting.pop(0))]
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        first = running.pop(0)
        _, said = first.communicate()
        if first.returncode:
            for process in running:
                process.kill()
            reason = said.strip().splitlines()[-1:] or ["the process ended without a word"]
            raise WindrowError(f"compiling failed: {reason[0]}")
        done += 1
        if told is not None:
            told(done, jobs)


def main() -> None:
    """One job, in a process of its own."""
    os.environ["WINDROW_COMPILE"] = "always"
    query = list(_jobs())[int(sys.argv[1])]
    for rows in _rows():
        _run(query, rows)


if __name__ == "__main__":
    main()
