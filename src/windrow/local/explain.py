"""`Query.explain()`: the plan as text. What each window is, how it is sliced and answered, why, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.aggregates import count, join
from windrow.engine.forms import plain_form
from windrow.engine.inputs import Column
from windrow.query import Query
from windrow.sharing import passes, slicing
from windrow.sharing.choice import Choice, choose, for_rows
from windrow.sharing.groups import Arrangement, Group, arrange
from windrow.sharing.shelf import storable
from windrow.swag import counting
from windrow.windows.base import ROWS, TIME, Window
from windrow.windows.kinds import Last, Periodic, Policy, Session, Trailing

#: combines for one step of an algorithm over slices or rows, amortised: what the papers prove, and the tests count
STEP = {
    "two_stacks_lite": "3", "two_stacks": "3", "daba_lite": "4", "daba": "4", "daba_uncached": "5", "aba": "4",
    "subtract_on_evict": "2", "flat_fit": "3", "recalculate": "one for each in the window",
}  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What a run over data did for one window."""

    windows: int
    slices: int
    held: int  # slices or rows in a window, at most
    combines: float | None  # a window, counted


def explain(query: Query, arrangement: Arrangement | None, seen: Mapping[str, Seen], rows: int, keys: int) -> str:
    """The plan; with what was seen where the query has run over data."""
    arrangement = arrangement or arrange(query.aggregates, _numbers(query))
    lines = [_head(query)]
    sliced = {name: w for name, w in query.windows.items() if not w.per_row and not isinstance(w, Last)}
    choices = choose(sliced, query.algorithm, query.favor) if sliced else {}
    for name, window in query.windows.items():
        choice = choices.get(name) or for_rows(window, query.algorithm, query.favor)
        lines += ["", f"window {name!r}: {window}" if query.named else str(window)]
        lines += [f"  {label:<11}{text}" for label, text in _window(query, window, sliced, choice, arrangement)]
        if name in seen:
            lines += [f"  {label:<11}{text}" for label, text in _measured(seen[name], rows, name in sliced)]
    lines += ["", *_aggregates(arrangement)]
    if rows:
        lines += ["", f"measured over {rows:,} rows of {keys:,} {'key' if keys == 1 else 'keys'}"]
    return "\n".join(lines)


def _head(query: Query) -> str:
    order = f"rows by event time {query.time!r}" if query.time is not None else "rows in the order in which they come"
    by = f", for each {', '.join(query.by)}" if query.by else ""
    late = f", up to {query.lateness / 1e6:g} s late" if query.lateness else ""
    return f"{order}{by}{late}"


def _numbers(query: Query) -> dict[str, Column]:
    """Columns of floats, as long as no data tells their types."""
    empty = Column(np.empty(0), None, np.dtype(np.float64))
    return {name: empty for aggregate in query.aggregates.values() for name in aggregate.columns}


def _window(
    query: Query, window: Window, sliced: Mapping[str, Window], choice: Choice, arrangement: Arrangement
) -> list[tuple[str, str]]:
    """What is known of a window before any data."""
    over = "slices" if window in sliced.values() else "rows"
    found = [("class", _class(window))]
    if over == "slices":
        found.append(("slicing", _slicing(query, window, sliced)))
    ways = {passes.TREE: "a tree (FlatFAT)", passes.FIT: "jumps that get longer as they are used (FlatFIT)"}
    how = ways.get(choice.algorithm, choice.algorithm)
    found.append(("algorithm", f"{how} over {over}: {choice.why}"))
    found.append(("combines", _combines(window, over, choice, sliced)))
    found.append(("state", _state(query, window, over, sliced, arrangement)))
    if query.store is not None:
        found.append(("store", _store(query, window)))
    if query.time is not None:
        found.append(("late rows", _late(query, over)))
    return found


def _class(window: Window) -> str:
    if isinstance(window, Periodic):
        return "periodic, deterministic: a row's place tells which windows begin with it"
    if isinstance(window, (Last, Policy)):
        return "not deterministic: which rows are in is known only later"
    if isinstance(window, Trailing):
        return "trailing: one window a row"
    told = "its content tells" if window.by_content else "the rows before tell"
    return f"deterministic, not periodic: {told} whether a window begins with it"


def _slicing(query: Query, window: Window, sliced: Mapping[str, Window]) -> str:
    cuts = {"cutty": "cut where a window begins", "pairs": "cut where a window begins or ends", "panes": "equal slices"}
    shared = f", shared by {len(sliced)} windows" if len(sliced) > 1 else ""
    technique = query.slicing if isinstance(window, Periodic) else "cutty"
    return f"{technique}: {cuts[technique]}{shared}"


def _most_slices(query: Query, sliced: Mapping[str, Window]) -> int | None:
    """The slices that periodic windows of one measure need at a time, at most; None: it depends on the data."""
    periodic = [w for w in sliced.values() if isinstance(w, Periodic)]
    if len(periodic) < len(sliced) or len({w.measure for w in periodic}) > 1:
        return None
    longest = max(periodic, key=lambda w: w.range)
    if len({(w.range, w.every) for w in periodic}) == 1 and all(isinstance(w.range, int) for w in periodic):
        kept = {
            "cutty": math.ceil(longest.range / longest.every) + 1,
            "pairs": math.ceil(2 * longest.range / longest.every),
        }
        return kept.get(query.slicing) or slicing.in_window("panes", longest.range, longest.every)
    return math.ceil(sum(longest.range / w.every + 1 for w in periodic))


def _combines(window: Window, over: str, choice: Choice, sliced: Mapping[str, Window]) -> str:
    if choice.algorithm == passes.TREE:
        most = f"1 a slice, and at most 2 log2 of the window's slices a result, for {len(sliced)} windows together"
        return f"1 a row to fill the open slice; {most}"
    if choice.algorithm == passes.FIT:
        some = f"a few a result, however long the window, for {len(sliced)} windows together"
        return f"1 a row to fill the open slice; {some}"
    step = STEP.get(choice.algorithm, "a multiple of log2 n")
    if over == "rows":
        return f"{step} a row"
    each = f" (1 slice in {window.every:,} rows)" if isinstance(window, Periodic) and window.measure == ROWS else ""
    return f"1 a row to fill the open slice; {step} a slice{each}"


def _state(query: Query, window: Window, over: str, sliced: Mapping[str, Window], arrangement: Arrangement) -> str:
    compiled = [g.form for g in arrangement.groups if g.form.compiled]
    numbers = sum(len(form.dtypes or ()) for form in compiled)
    size = sum(dtype.itemsize for form in compiled for dtype in form.dtypes or ())
    plain = " and objects" if len(compiled) < len(arrangement.groups) else ""
    partial = f"{numbers} numbers ({size} bytes){plain}" if numbers else "objects"
    if over == "slices":
        most = _most_slices(query, sliced)
        count = f"at most {most:,} slices" if most is not None else "as many slices as windows are open, and one"
        total = f", {most * size:,} bytes" if most is not None and numbers and not plain else ""
        return f"{count} a key, each {partial}{total}"
    if isinstance(window, Trailing) and window.measure == ROWS:
        return f"{window.range:,} rows a key, each {partial} while they are in the window"
    if isinstance(window, Last):
        return f"{window.n:,} rows a key, each {partial} while they are in the window"
    return f"the rows in the window, each {partial}"


def _store(query: Query, window: Window) -> str:
    if not storable(window):
        return "not used: only periodic, trailing and policy windows go there; this one is kept in memory"
    what = "slices" if isinstance(window, Periodic) else "rows"
    return (
        f"{query.store!r}: live, the partials of its {what} are there (amta, for each key O(log n) pages in memory); "
        "run() does not use it: the table is in memory already"
    )


def _late(query: Query, over: str) -> str:
    windows = query.windows.values()
    by_time = all(isinstance(w, (Periodic, Session)) and w.measure == TIME for w in windows)
    if query.store is not None and over == "slices":
        return "are put in order before they are taken in: slices come to the store in order"
    if over == "slices" and by_time and all(a.commutative for a in query.aggregates.values()):
        return "go straight into their slice"
    why = "" if over == "rows" else "; the order of rows matters here"
    return f"are put in order before they are taken in: rows are held until the watermark has passed them{why}"


def _aggregates(arrangement: Arrangement) -> list[str]:
    lines = []
    for group in arrangement.groups:
        names = ", ".join(name for name in group.names if name in arrangement.names)
        if not names:  # such as a count that only a mean is read off
            continue
        how = "in plain Python: no columns of numbers"
        if group.form.compiled:
            how = "compiled, in one pass" if len(group.names) > 1 else "compiled"
        lines.append(f"aggregates {names}: {how}")
    for name, derived in arrangement.derived.items():
        others = "".join(f" and a {source.name}" for source in derived.how.sources[1:])
        lines.append(f"aggregate {name}: read off {derived.sources[0]}{others}")
    return lines


def _measured(seen: Seen, rows: int, sliced: bool) -> list[tuple[str, str]]:
    what = "slices" if sliced else "rows"
    held = f"at most {seen.held:,} {what} in a window"
    found = [("measured", f"{seen.windows:,} results from {seen.slices:,} {what}; {held}")]
    if seen.combines is not None and rows:
        fill = (rows - seen.slices) / rows if sliced else 0.0
        total = fill + seen.combines * seen.windows / rows
        found.append(("", f"{total:.3f} combines a row, {fill:.3f} of them to fill slices"))
    return found


def counted(algorithm: str, lo: np.ndarray, hi: np.ndarray, tail: np.ndarray, limit: int = 20_000) -> float | None:
    """Combines a window over the first windows, counted in plain Python."""
    n = min(len(lo), limit)
    if not n:
        return None
    first, most = int(lo[0]), int(hi[:n].max())
    of: Any = counting(join(count("x")))
    group = Group(("n",), of, plain_form(of), ("x",), {})
    one = [of.monoid_lift(1.0)]
    passes.answer(group, algorithm, one * (most - first), lo[:n] - first, hi[:n] - first, np.minimum(tail[:n], 0), one)
    return of.combines / n
