"""`Query.explain()`: the plan as text. What each window is, how it is sliced and answered, why, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from windrow.engine.inputs import Column
from windrow.query import Query
from windrow.step.choosing import planned, shared_cost, why
from windrow.step.groups import Arrangement, arrange
from windrow.step.pending import folds_late_rows
from windrow.step.plan import Plan
from windrow.step.results import Seen
from windrow.swag import ALGORITHMS
from windrow.windows.base import Window
from windrow.windows.composite import Composite
from windrow.windows.durations import spelled


def explain(
    query: Query, arrangement: Arrangement | None, seen: Mapping[str, Seen], rows: int, keys: int, threads: int = 1
) -> str:
    """The plan; with what was seen where the query has run over data."""
    arrangement = arrangement or arrange(query.aggregates, _numbers(query))
    plan = planned(query, query.windows, arrangement, {}, {})
    lines = [_head(query)]
    shared = {
        ring: Composite([plan.windows[name] for name in ring])
        for ring in plan.rings
        if not plan.windows[ring[0]].per_row
    }
    for name, window in query.windows.items():
        lines += ["", f"window {name!r}: {window}" if query.named else str(window)]
        lines += [
            f"  {label:<11}{text}" for label, text in _window(query, plan, name, window, shared.get(plan.ring(name)))
        ]
        if name in seen:
            what = seen[name]
            held = f"at most {what.held:,} slices per key at once"
            lines.append(f"  {'measured':<11}{what.windows:,} results from {what.slices:,} slices; {held}")
    lines += ["", *_aggregates(arrangement)]
    for name, given in query.inputs.items():
        read = "any column" if given.columns is None else ", ".join(given.columns)
        lines.append(f"input {name!r}: a column that is derived from {read} as rows come in")
    if rows:
        by = "1 thread" if threads == 1 else f"{threads} threads"
        lines += ["", f"measured over {rows:,} rows of {keys:,} {'key' if keys == 1 else 'keys'}, in {by}"]
    return "\n".join(lines)


def _head(query: Query) -> str:
    order = f"rows by event time {query.time!r}" if query.time is not None else "rows in the order in which they come"
    by = f", for each {', '.join(query.by)}" if query.by else ""
    late = f", up to {spelled(query.lateness)} late" if query.lateness else ""
    emit = "\nresults are sent again where they change, until they are final" if query.updates else ""
    return f"{order}{by}{late}{emit}"


def _numbers(query: Query) -> dict[str, Column]:
    """Columns of floats, as long as no data tells their types."""
    empty = Column(np.empty(0), None, np.dtype(np.float64))
    return {name: empty for aggregate in query.aggregates.values() for name in aggregate.columns}


def _window(query: Query, plan: Plan, name: str, window: Window, composite: Composite | None) -> list[tuple[str, str]]:
    """What is known of a window before any data; `composite`: of the windows with which it shares slices."""
    found, ring, held = [("class", window.described)], plan.ring(name), window.held
    if composite is not None:
        fused = "; after a push, neighbours that no open window needs apart are fused" if composite.fuses else ""
        found.append(("slicing", f"{window.sliced}, shared by {len(ring)} windows{fused}"))
        held = f"{composite.held}, shared,"
    elif not window.per_row:
        found.append(("slicing", window.sliced))
    if len(ring) > 1:
        found += _shared([plan.windows[other] for other in ring], composite)
    else:
        found.append(("algorithm", f"{plan.algorithms[name]}: {why(query, window)}"))
        found.append(("combines", _combines(plan.algorithms[name], window)))
    found.append(("state", _state(plan, held)))
    if query.store is not None:
        found.append(("store", _store(query, window)))
    if query.time is not None:
        how = "fold into slices, which wait" if folds_late_rows(query) else "wait, in order,"
        found.append(("late rows", f"{how} until the watermark has passed them"))
    return found


def _shared(windows: list[Window], composite: Composite | None) -> list[tuple[str, str]]:
    """One FlatFIT for several windows, with the composite slide of paper 5."""
    what = "rows" if composite is None else "slices"
    found = [("algorithm", f"flat_fit: one ring of {what} for {len(windows)} windows, which answers all their ranges")]
    if composite is None:
        found[0] = ("algorithm", f"{found[0][1]}; run() takes each by itself over the whole table, which is faster")
        cost = shared_cost(windows)
        together = f"about {cost.together:.1f} per row for all {len(windows)} windows together"
        return [*found, ("combines", f"{together}; with a ring for each they would be {cost.alone:.1f}")]
    fused = "; at most 2 per slice that is fused" if composite.fuses else ""
    found.append(("slide", str(composite)))
    found.append(
        ("combines", f"1 per row to fill the open slice; a few per result, whatever the range, for all together{fused}")
    )
    return found


def _combines(algorithm: str, window: Window) -> str:
    """By the card of the algorithm: one slice (or row) in, one out, one answer."""
    card = ALGORITHMS[algorithm].card
    each = "row" if window.row_slices else "slice"
    if card.a_row is not None:
        bound = f"at most {card.a_row} per {each}{', amortised' if card.amortised else ''}"
    else:
        bound = f"per {each}: {card.time}"
    return bound if window.row_slices else f"1 per row to fill the open slice; {bound}"


def _state(plan: Plan, held: str) -> str:
    compiled = [g.form for g in plan.arrangement.groups if g.form.compiled]
    numbers = sum(len(form.dtypes or ()) for form in compiled)
    size = sum(dtype.itemsize for form in compiled for dtype in form.dtypes or ())
    plain = " and objects" if len(compiled) < len(plan.arrangement.groups) else ""
    partial = f"{numbers} numbers ({size} bytes){plain}" if numbers else "objects"
    return f"{held} per key, each {partial}"


def _store(query: Query, window: Window) -> str:
    if not window.storable:
        return "not used: only periodic, trailing and policy windows go there; this one is kept in memory"
    what = "rows" if window.per_row else "slices"
    return (
        f"{query.store!r}: live, the partials of its {what} are there (amta, for each key O(log n) pages in memory); "
        "run() does not use it: the table is in memory already"
    )


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
