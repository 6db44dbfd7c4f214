"""Rows that ask: random tables of them, and what they are answered straight from the definition."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa

from tests.query import brute
from tests.query.cases import AGGREGATES, PER_ROW, Case, Table, draw_case, draw_table


def draw_asks(case: Case, seed: int) -> Table:
    """Asks at the times of events, between, before and after them; some of keys that no event has, some of no time."""
    rng = random.Random(f"asks {case.about} {seed}")
    times = [t for t in case.table.columns["ts"] if t is not None] or [0, 5]
    tick = max(1, (max(times) - min(times)) // 20)
    table = draw_table(rng, rng.choice([0, 1, 5, 30]), tick, keys=6)
    n = len(table.columns["ts"])
    near = [rng.choice(times) + rng.choice([0, 0, 0, 1, -1, tick, -tick, 3 * tick]) for _ in range(n)]
    if rng.random() < 0.2:
        near = [rng.choice(times)] * n
    table.columns["ts"] = [None if t is None else at for t, at in zip(table.columns["ts"], near, strict=True)]
    keep = dict.fromkeys(["ts", *case.by, "d", "e"])
    table.time_type = case.table.time_type
    return Table({**{name: table.columns[name] for name in keep}, "asked": list(range(n))}, table.time_type)


def arrow(asks: Table) -> pa.Table:
    """The asking rows; what they hold beside keys, times and measures comes back as it is."""
    plain = Table({name: values for name, values in asks.columns.items() if name != "asked"}, asks.time_type)
    return plain.arrow().append_column("asked", pa.array(asks.columns["asked"], pa.int64()))


def draw(kind: str, seed: int) -> tuple[Case, Table]:
    case = draw_case(kind, seed)
    if kind not in PER_ROW or "float" not in kind:
        case.time = "ts"
    if case.time is not None and pa.types.is_integer(case.table.time_type):
        case.options["time_unit"] = "us"
    return case, draw_asks(case, seed)


def inside(w: Any, events: list[brute.Row], at: brute.Row, time: str | None) -> list[brute.Row] | None:
    """The events in the window of an asking row; they are one key's, by time. None: the row has no place."""
    if isinstance(w, brute.Policy):
        passed = [row for row in events if row[time] <= at[time]]
        return brute.policy(w, passed, time)[-1][1] if passed else []
    with_equal = w.closed in ("right", "both")
    if w.on == "rows":
        passed = [row for row in events if row[time] < at[time] or (with_equal and row[time] == at[time])]
        size = {"right": w.range, "left": w.range, "both": w.range + 1, "none": w.range - 1}[w.closed]
        return passed[max(len(passed) - size, 0) :]
    now = at[time if w.on == "time" else w.on]
    if now is None or not math.isfinite(now):
        return None
    found = []
    for m, row in brute.measured(events, w.on, time):
        after = m >= now - w.range if w.closed in ("left", "both") else m > now - w.range
        if after and (m < now or (with_equal and m == now)):
            found.append(row)
    return found


def expected(case: Case, asks: Table) -> list[dict]:
    """One row for each that asks."""
    named = case.oracle if isinstance(case.oracle, dict) else {None: case.oracle}
    events = [brute.Row(row) for row in case.table.rows() if case.time is None or row[case.time] is not None]
    if case.time is not None:
        events.sort(key=lambda row: row[case.time])
    results = []
    for row in map(brute.Row, asks.rows()):
        own = [event for event in events if brute.key_of(event, case.by) == brute.key_of(row, case.by)]
        answers = {}
        for name, w in named.items():
            some = None if case.time is not None and row[case.time] is None else inside(w, own, row, case.time)
            for a, spec in AGGREGATES[case.aggregates][0].items():
                answer = None if some is None else brute.aggregate(spec, some)
                answers[a if name is None else f"{a}_{name}"] = answer
        results.append({**row, **answers})
    return results
