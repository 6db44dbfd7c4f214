"""Random streams and windows for the tests, each window with its definition in `tests.query.brute`."""

from __future__ import annotations

import random
from typing import Any

from tests.query import brute
from tests.query.own_windows import Bursts, Counted, Stock
from windrow import agg, win
from windrow.windows.base import TIME
from windrow.windows.kinds import Landmark, Last, Periodic, Session
from windrow.windows.predicates import Predicate

AGGREGATES = {
    "concat": (agg.concat("letter"), ("concat", "letter", "")),
    "sum": (agg.sum("number"), ("sum", "number")),
    "max": (agg.max("number"), ("max", "number")),
    "max_by": (agg.max_by("letter", "number"), ("max_by", "letter", "number")),
}


def table(rnd: random.Random, n: int, *, nulls: bool = True) -> list[dict]:
    """Rows in order of time and of km, with ties, gaps and nulls; times before 1970, too."""
    ts, km = rnd.randint(-50, 10), rnd.choice([-3.0, 0.0])
    rows = []
    for _ in range(n):
        ts += rnd.choice([0, 0, 1, 1, 2, 3, 30])
        km += rnd.choice([0.0, 0.25, 0.5, 1.0, 7.5])
        row: dict[str, Any] = {"ts": ts, "km": km, "letter": rnd.choice("abcdef"), "number": rnd.randint(-5, 5)}
        row |= {"flag": rnd.random() < 0.2, "price": float(rnd.randint(5, 15))}
        if nulls and rnd.random() < 0.15:
            row[rnd.choice(["letter", "number", "flag", "price"])] = None
        if nulls and rnd.random() < 0.05:
            row[rnd.choice(["ts", "km"])] = None
        rows.append(row)
    return rows


def window(rnd: random.Random) -> tuple[Any, Any]:
    """A window, and its definition."""
    kind = rnd.randrange(12)
    size, step = rnd.randint(1, 12), rnd.randint(1, 7)
    if kind == 0:
        return Periodic(size, step, rnd.randint(-9, 9), TIME), brute.Periodic(size, step, 0)
    if kind in (1, 2):
        first = rnd.choice([0, 0, 3])
        return win.sliding(size, step, first or None), brute.Periodic(size, step, first, "rows")
    if kind == 3:
        return win.sliding(size / 2, step / 2, on="km"), brute.Periodic(size / 2, step / 2, 0, "km")
    if kind == 4:
        return Session(size, TIME), brute.Session(size)
    if kind == 5:
        return win.session(size / 4, on="km"), brute.Session(size / 4, "km")
    if kind == 6:
        given, holds = rnd.choice(
            [
                ("flag", lambda row: row["flag"]),
                ("price < 9 or number == 2", lambda row: (row["price"] or 9) < 9 or row["number"] == 2),
                (lambda row: row.letter == "a", lambda row: row["letter"] == "a"),
            ]
        )
        return win.punctuated(given), brute.Punctuated(holds)
    if kind == 7:
        return Landmark(Predicate.parse("flag"), size, TIME), brute.Landmark(lambda row: row["flag"], size)
    if kind == 8:
        return win.landmark("flag", size), brute.Landmark(lambda row: row["flag"], size, "rows")
    if kind == 9:
        return Last(size, step, 0), brute.Last(size, step)
    made = rnd.choice([lambda: Counted(size, step), Bursts, Stock])
    return win.user_defined(made()), brute.UserDefined(made)


def windows(rnd: random.Random, count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Several of them, by name."""
    ours, theirs = {}, {}
    for name in "uvwxyz"[:count]:
        ours[name], theirs[name] = window(rnd)
        if isinstance(ours[name], Periodic) and ours[name].measure == TIME:
            theirs[name] = brute.Periodic(ours[name].range, ours[name].every, ours[name].origin)
    return ours, theirs


def expected(rows: list[dict], theirs: dict[str, Any], aggregate: str, partial: bool) -> list[tuple]:
    """The results by definition, sorted."""
    found = brute.evaluate(rows, theirs, {"answer": AGGREGATES[aggregate][1]}, time="ts", partial=partial)
    return ordered((row["window"], row["start"], row["end"], row["answer"]) for row in found)


def ordered(results: Any) -> list[tuple]:
    """Results in one order, whatever they were sent in."""
    return sorted((tuple(r) for r in results), key=lambda r: (r[0], r[1], r[2] is None, r[2] or 0, str(r[3])))
