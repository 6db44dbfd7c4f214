"""What a query answers, straight from the definitions: rows are dicts, windows are lists of rows, nothing is shared.

No code of `windrow` is used here and nothing is clever: every window is filled by asking every row whether it belongs.
Times are plain ints (microseconds), null is None. A window is one of the small dataclasses below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INFINITY = math.inf


@dataclass(frozen=True)
class Periodic:
    range: Any
    every: Any
    origin: Any = 0
    on: str = "time"  # "time", "rows", or a column's name
    closed: str = "left"


@dataclass(frozen=True)
class Trailing:
    range: Any
    closed: str = "right"
    on: str = "time"


@dataclass(frozen=True)
class Session:
    gap: Any
    on: str = "time"
    at_most: Any = INFINITY


@dataclass(frozen=True)
class Punctuated:
    holds: Callable[[Row], Any]


@dataclass(frozen=True)
class Landmark:
    holds: Callable[[Row], Any]
    every: Any
    on: str = "time"


@dataclass(frozen=True)
class Last:
    n: int
    every: int
    origin: int = 0


@dataclass(frozen=True)
class Policy:
    evict: Callable[[Any, Any], bool]
    over: dict[str, tuple]  # name -> aggregate, as below

    __hash__ = object.__hash__


@dataclass(frozen=True)
class UserDefined:
    make: Callable[[], Any]


PER_ROW = (Trailing, Policy)


class Row(dict):
    """A row as the user's functions see it: `row.price` and `row["price"]`."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


# ---------------------------------------------------------------------------------------------- aggregates
# An aggregate is a tuple: its name, then its columns (concat: the column and the separator).


def is_nan(x: Any) -> bool:
    return isinstance(x, float) and math.isnan(x)


def rank(x: Any) -> tuple:
    """Spark's order: NaN above all numbers."""
    return (1,) if is_nan(x) else (0, x)


def aggregate(spec: tuple, rows: list[Row]) -> Any:
    """The aggregate of some rows, which are in order."""
    name, *columns = spec
    if name == "count":
        return sum(all(row[c] is not None for c in columns) for row in rows)
    if name == "concat":
        texts = [str(row[columns[0]]) for row in rows if row[columns[0]] is not None]
        return columns[1].join(texts) if texts else None
    if name == "max_by":
        x, ord_ = columns
        there = [row for row in rows if row[ord_] is not None]
        if not there:
            return None
        best = max(rank(row[ord_]) for row in there)
        return next(row[x] for row in there if rank(row[ord_]) == best)
    values = [row[columns[0]] for row in rows if row[columns[0]] is not None]
    if not values:
        return None
    if name == "sum":
        return sum(values)
    if name == "mean":
        return sum(values) / len(values)
    if name == "max":
        return max(values, key=rank)
    raise ValueError(name)


# ------------------------------------------------------------------------------------------------- windows
# Each gives (start, end, rows in order); `rows` are one key's, in the order of (time, arrival), none rejected.


def measured(rows: list[Row], on: str, time: str | None) -> list[tuple[Any, Row]]:
    """Each row with its measure, in the measure's order; rows that tie stay as they were."""
    if on == "rows":
        return list(enumerate(rows))
    if on != "time":
        rows = [row for row in rows if row[on] is not None and math.isfinite(row[on])]
    return sorted(((row[time if on == "time" else on], row) for row in rows), key=lambda pair: pair[0])


def periodic(w: Periodic, rows: list[Row], time: str | None, partial: bool) -> list:
    pairs = measured(rows, w.on, time)
    numbers: set[int] = set()
    for m, _ in pairs:
        newest = (m - w.origin) // w.every
        oldest = (m - w.origin - w.range) // w.every
        numbers.update(range(int(oldest) - 1, int(newest) + 2))  # one more on either side: membership decides
    found = []
    for k in sorted(numbers):
        start = w.origin + k * w.every
        end = start + w.range
        inside = [row for m, row in pairs if (start <= m < end if w.closed == "left" else start < m <= end)]
        if not inside or (w.on == "rows" and (k < 0 or (end > len(rows) and not partial))):
            continue
        found.append((start, end, inside))
    return found


def session(w: Session, rows: list[Row], time: str | None, partial: bool) -> list:
    runs: list[list[tuple[Any, Row]]] = []
    for m, row in measured(rows, w.on, time):
        if runs and m - runs[-1][-1][0] <= w.gap and m - runs[-1][0][0] < w.at_most:
            runs[-1].append((m, row))
        else:
            runs.append([(m, row)])
    ends = [run[-1][0] + w.gap for run in runs]
    ends = [
        end if w.at_most == INFINITY else min(end, run[0][0] + w.at_most) for end, run in zip(ends, runs, strict=True)
    ]
    return [(run[0][0], end, [row for _, row in run]) for end, run in zip(ends, runs, strict=True)]


def punctuated(w: Punctuated, rows: list[Row], time: str | None, partial: bool) -> list:
    marks = [i for i, row in enumerate(rows) if w.holds(row)]
    found: list = [(a, b, rows[a:b]) for a, b in itertools.pairwise(marks)]
    if partial and marks:
        found.append((marks[-1], None, rows[marks[-1] :]))
    return found


def landmark(w: Landmark, rows: list[Row], time: str | None, partial: bool) -> list:
    measures = list(range(len(rows))) if w.on == "rows" else [row[time] for row in rows]
    marks = [i for i, row in enumerate(rows) if w.holds(row)]
    found = []
    for a, b in zip(marks, [*marks[1:], None][: len(marks)], strict=True):
        start = measures[a]
        own = list(zip(measures[a:b], rows[a:b], strict=True))
        for k in sorted({(m - start) // w.every + 1 for m, _ in own}):
            end = start + k * w.every
            inside = [row for m, row in own if m < end]
            if b is not None and end > measures[b]:  # cut by the next landmark
                if partial:
                    found.append((start, measures[b], inside))
            elif b is None and w.on == "rows" and end > len(rows):  # cut by the end of the data
                if partial:
                    found.append((start, end, inside))
            else:
                found.append((start, end, inside))
    return found


def last(w: Last, rows: list[Row], time: str | None, partial: bool) -> list:
    found = []
    for k in sorted({(row[time] - w.origin) // w.every + 1 for row in rows}):
        end = w.origin + k * w.every
        inside = [row for row in rows if row[time] < end][-w.n :]
        found.append((inside[0][time], end, inside))
    return found


def user_defined(w: UserDefined, rows: list[Row], time: str | None, partial: bool) -> list:
    instance = w.make()
    evicting = hasattr(instance, "evict")
    measures = list(range(len(rows))) if time is None else [row[time] for row in rows]
    first = 0  # rows before it were evicted
    open_: list[int] = []  # with which row each window began
    found: list = []

    def end(how_many: int, at: Any, i: int) -> None:
        """The oldest windows end at `at`, before row i. Where rows are evicted they have all that were not."""
        for _ in range(how_many):
            a = open_.pop(0)
            a = first if evicting else a
            found.append((measures[a], at, rows[a:i]))

    def pass_time(now: Any, i: int) -> None:
        while open_ and hasattr(instance, "ends_at"):
            at = instance.ends_at()
            if at is None or at > now:
                return
            instance.ended(at)
            end(1, at, i)

    for i, row in enumerate(rows):
        pass_time(measures[i], i)
        begins, ends = instance.discretize(row)
        if ends > len(open_):
            raise ValueError(f"row {i} ends {ends} windows, {len(open_)} are open")
        end(ends, measures[i], i)
        if evicting:
            first += instance.evict(row)
            assert first <= i
        open_ += [i] * begins
    pass_time(INFINITY, len(rows))
    if partial:
        end(len(open_), None, len(rows))
    return found


def trailing(w: Trailing, rows: list[Row], time: str | None) -> list[tuple[Row, list[Row]]]:
    """For each row, its window."""
    pairs = measured(rows, w.on, time)

    def inside(m: Any, at: Any) -> bool:
        after = m >= at - w.range if w.closed in ("left", "both") else m > at - w.range
        before = m <= at if w.closed in ("right", "both") else m < at
        return after and before

    return [(row, [other for m, other in pairs if inside(m, at)]) for at, row in pairs]


class Fields:
    """What `evict` is given: the fields of `over`."""

    def __init__(self, over: dict[str, tuple], rows: list[Row]) -> None:
        for name, spec in over.items():
            setattr(self, name, aggregate(spec, rows))


def policy(w: Policy, rows: list[Row], time: str | None) -> list[tuple[Row, list[Row]]]:
    window: list[Row] = []
    found = []
    for row in rows:
        window = [*window, row]
        total = Fields(w.over, window)
        gone = 0
        while gone < len(window) and w.evict(total, Fields(w.over, window[: gone + 1])):
            gone += 1
        window = window[gone:]
        found.append((row, window))
    return found


ONCE = {
    Periodic: periodic,
    Session: session,
    Punctuated: punctuated,
    Landmark: landmark,
    Last: last,
    UserDefined: user_defined,
}


# --------------------------------------------------------------------------------------------------- query


def rejected(row: Row, time: str | None, windows: list) -> bool:
    """No time, or no measure for one of the query's windows: then the others take it."""
    if time is not None and row[time] is None:
        return True
    columns = {w.on for w in windows if getattr(w, "on", "time") not in ("time", "rows")}
    return any(row[c] is None or not math.isfinite(row[c]) for c in columns)


def key_of(row: Row, by: list[str]) -> tuple:
    """NaN is one key, null another; -0.0 is 0.0."""
    return tuple("NaN" if is_nan(row[c]) else ("null",) if row[c] is None else row[c] for c in by)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return (is_nan(a) and is_nan(b)) or ((a is None) == (b is None) and a == b)


def evaluate(
    rows: list[dict],
    windows: Any,
    aggregates: dict[str, tuple],
    *,
    time: str | None = None,
    by: list[str] | tuple = (),
    partial: bool = False,
    changes_only: bool = False,
) -> list[dict]:
    """The result rows. Windows that report once: by key, window and end; those that report each row: as they came in.

    `windows` is one window or a dict of them, `aggregates` maps names to tuples such as ("max_by", "x", "ord").
    """
    named = windows if isinstance(windows, dict) else {None: windows}
    by = list(by)
    table = [Row(row) for row in rows]
    groups: dict[tuple, list[Row]] = {}
    for row in table:
        if time is None or row[time] is not None:
            groups.setdefault(key_of(row, by), []).append(row)
    if time is not None:
        groups = {key: sorted(own, key=lambda row: row[time]) for key, own in groups.items()}
    if isinstance(next(iter(named.values())), PER_ROW):
        return _each_row(table, groups, named, aggregates, time, changes_only)
    results = []
    for own in groups.values():
        for name, w in named.items():
            before = None
            found = ONCE[type(w)](w, own, time, partial)
            found.sort(key=lambda f: INFINITY if f[1] is None else f[1])
            for start, end, inside in found:
                answers = {a: aggregate(spec, inside) for a, spec in aggregates.items()}
                if changes_only and before is not None and same(list(before.values()), list(answers.values())):
                    continue
                before = answers
                result = {c: own[0][c] for c in by}
                if name is not None:
                    result["window"] = name
                results.append({**result, "start": start, "end": end, **answers})
    return results


def _each_row(table, groups, named, aggregates, time, changes_only) -> list[dict]:
    answers: dict[int, dict] = {id(row): {} for row in table}
    news: set[int] = set()  # rows that differ from the one before, in the order in which a window takes them
    for own in groups.values():
        for name, w in named.items():
            before = None
            for row, inside in (trailing if isinstance(w, Trailing) else policy)(w, own, time):
                now = [aggregate(spec, inside) for spec in aggregates.values()]
                for a, answer in zip(aggregates, now, strict=True):
                    answers[id(row)][a if name is None else f"{a}_{name}"] = answer
                if before is None or not same(before, now):
                    news.add(id(row))
                before = now
    columns = [a if name is None else f"{a}_{name}" for name in named for a in aggregates]
    empty = dict.fromkeys(columns)
    return [{**row, **empty, **answers[id(row)]} for row in table if not changes_only or id(row) in news]


def in_time(rows: list[dict], time: str, lateness: int) -> tuple[list[dict], list[dict]]:
    """A stream's rows as they come: those in time, and those late. A row without a time is neither late nor a clock."""
    newest = -INFINITY
    taken, late = [], []
    for row in rows:
        if row[time] is None:
            taken.append(row)
        elif row[time] < newest - lateness:
            late.append(row)
        else:
            taken.append(row)
            newest = max(newest, row[time])
    return taken, late
