"""Snapshots of live queries: version, checksum and plain values (`engine.snapshot`); nothing in one can name code."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.engine.inputs import Column, object_array
from windrow.engine.snapshot import opened, sealed
from windrow.errors import SnapshotError
from windrow.frames import from_outline, outlined
from windrow.local.arrivals import one_nan
from windrow.query import Report
from windrow.sharing.groups import Group
from windrow.sharing.lane import Lane
from windrow.sharing.rowwise import RowLane
from windrow.sharing.slices import Keys, Rows, Slices
from windrow.sharing.stored import StoredLane
from windrow.sharing.stored_rows import StoredRowLane
from windrow.step.held import Held
from windrow.windows.base import ROWS, TIME, Measure

if TYPE_CHECKING:
    from windrow.local.old_live import OldLive as Live

LAYOUT = 1
#: the layout of queries without a store (`local.snapshots`)
OWN = 2


def saved(live: Live) -> bytes:
    """All of a live query's state; of what is in a store a reference, to what is durable there when this returns.

    Nothing in the store takes the place of the snapshot before, which can be gone on from until the next one is made.
    """
    arrivals, machine = live.arrivals, live.machine
    mark = secrets.token_hex(8)
    for shelf in machine.shelves:
        shelf.checkpointed(mark)
    state = {
        "identity": _pairs(live.query.identity()),
        "report": [live.report.rows_in, live.report.rows_out, live.report.late, live.report.rejected],
        "closed": live.closed,
        "frame": outlined(live.template),
        "newest": arrivals.newest,
        "watermark": arrivals.watermark,
        "unit": None if arrivals.times is None else arrivals.times.unit,
        "keys": [list(key) for key in arrivals.codes],
        "kinds": [(name, kind, dtype.str) for name, (kind, dtype) in arrivals.kinds.items()],
        "held": None if arrivals.held is None else held_of(arrivals.held),
        "labels": _pairs(machine.labels.values),
        "states": [
            (name, [None if s is None else _pairs(s) for s in states]) for name, states in machine.states.items()
        ],
        "last": [(window, [(k, row) for k, row in rows.items()]) for window, rows in live.last.items()],
        "lane": None if machine.lane is None else _lane(machine.lane),
        "row_lane": None if machine.row_lane is None else _row_lane(machine.row_lane),
        "called": machine.called if live.query.store is not None else None,
        "stored": [(name, _stored(lane), lane.shelf.reference()) for name, lane in machine.stored.items()],
    }
    data = sealed(("live query", LAYOUT, _pairs(state)))
    for shelf in machine.shelves:
        shelf.confirm()
    return data


def restore(live: Live, data: bytes) -> None:
    """Sets a new live query to a saved state."""
    content = opened(data)
    if not isinstance(content, tuple) or len(content) != 3 or content[0] != "live query":
        raise SnapshotError("this is a snapshot, but not one of a live query")
    if content[1] == OWN:
        raise SnapshotError(f"the snapshot has all of its windows in itself: go on without store={live.query.store!r}")
    if content[1] != LAYOUT:
        raise SnapshotError(f"the snapshot has layout {content[1]}, this windrow reads layout {LAYOUT}")
    state = dict(content[2])
    _check_identity(live.query.identity(), dict(state["identity"]))
    _check_store(live.query.store, state["called"])
    arrivals, machine = live.arrivals, live.machine
    live.report, live.closed = Report(*state["report"]), state["closed"]
    live.template = from_outline(state["frame"])
    arrivals.newest, arrivals.watermark = state["newest"], state["watermark"]
    if state["unit"] is not None:
        assert live.query.time is not None
        arrivals.times = replace(live.template.time(live.query.time), unit=state["unit"])
    arrivals.codes = {tuple(one_nan(part) for part in key): i for i, key in enumerate(state["keys"])}
    arrivals.kinds = {name: (kind, np.dtype(dtype)) for name, kind, dtype in state["kinds"]}
    arrivals.held = None if state["held"] is None else held_from(state["held"])
    machine.labels.values = {name: list(values) for name, values in state["labels"]}
    machine.states = {name: [None if s is None else dict(s) for s in states] for name, states in state["states"]}
    live.last = {window: {k: tuple(row) for k, row in rows} for window, rows in state["last"]}
    machine.called = state["called"] or machine.called
    if state["lane"] is not None or state["row_lane"] is not None or state["stored"]:
        machine.begin(arrivals.nothing(), arrivals.ticks)
        if machine.lane is not None:
            _set_lane(machine.lane, state["lane"])
        if machine.row_lane is not None:
            _set_row_lane(machine.row_lane, state["row_lane"])
        for name, parts, reference in state["stored"]:
            lane = machine.stored[name]
            if isinstance(lane, StoredRowLane):
                _set_row_lane(lane, parts)
            else:
                _set_lane(lane, parts)
            lane.shelf.reopen(reference, lane.aggregate)


def _check_identity(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    for part, mine in ours.items():
        if theirs.get(part) != mine:
            raise SnapshotError(
                f"the snapshot is of another query: its {part} is {_spelled(theirs.get(part))}, "
                f"here it is {_spelled(mine)}"
            )


def _check_store(ours: Any, theirs: str | None) -> None:
    if ours is None and theirs is not None:
        raise SnapshotError("the snapshot refers to windows in a store: the query needs the same store=")
    if ours is not None and theirs is None:
        raise SnapshotError(f"the snapshot has all of its windows in itself: go on without store={ours!r}")


def _stored(lane: StoredLane | StoredRowLane) -> tuple:
    return _row_lane(lane) if isinstance(lane, StoredRowLane) else _lane(lane)


def _spelled(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _pairs(mapping: Mapping) -> list:
    return [(name, value) for name, value in mapping.items()]


def _column(column: Column) -> tuple:
    values = column.values.tolist() if column.values.dtype == object else column.values
    return values, column.mask, column.dtype.str


def _column_from(parts: tuple) -> Column:
    values, mask, dtype = parts
    return Column(object_array(values) if isinstance(values, list) else values, mask, np.dtype(dtype))


def columns_of(columns: Mapping[str, Column]) -> list:
    """Columns as plain values, and so the functions below: each has an inverse of the name `..._from`."""
    return [(name, _column(column)) for name, column in columns.items()]


def held_of(held: Held) -> tuple:
    return held.codes, held.times, columns_of(held.columns)


def held_from(parts: tuple) -> Held:
    codes, times, columns = parts
    return Held(codes, times, {name: _column_from(column) for name, column in columns})


def measured_of(by_measure: Mapping[Measure, np.ndarray]) -> list:
    return [(m.kind, m.column, values) for m, values in by_measure.items()]


def measured_from(parts: list) -> dict[Measure, np.ndarray]:
    known = {"time": TIME, "rows": ROWS}
    return {known.get(kind) or Measure(kind, column): values for kind, column, values in parts}


def partials_of(group: Group, slots: Any) -> Any:
    if not isinstance(slots, list):
        return slots
    return [None if partial is None else group.of.dump(partial) for partial in slots]


def partials_from(group: Group, parts: Any) -> Any:
    if isinstance(parts, tuple):
        return parts
    return [None if partial is None else group.of.load(partial) for partial in parts]


def _keys(keys: Keys) -> tuple:
    return keys.count, measured_of(keys.newest)


def _keys_from(parts: tuple) -> Keys:
    return Keys(parts[0], measured_from(parts[1]))


def _lane(lane: Lane) -> tuple:
    slices = lane.slices
    if slices is None:
        return lane.until, _keys(lane.keys), None
    partials = [partials_of(g, slots) for g, slots in zip(lane.arrangement.groups, slices.partials, strict=True)]
    kept = (
        slices.key,
        slices.pos,
        slices.rows,
        measured_of(slices.first),
        measured_of(slices.last),
        _pairs(slices.open),
        partials,
    )
    return lane.until, _keys(lane.keys), kept


def _set_lane(lane: Lane, parts: tuple) -> None:
    lane.until, keys, kept = parts
    lane.keys = _keys_from(keys)
    if kept is not None:
        key, pos, rows, first, last, open_, partials = kept
        groups = lane.arrangement.groups
        slots = [partials_from(g, p) for g, p in zip(groups, partials, strict=True)]
        lane.slices = Slices(key, pos, rows, measured_from(first), measured_from(last), dict(open_), slots)


def _row_lane(lane: RowLane) -> tuple:
    rows = lane.rows
    kept = None
    if rows is not None:
        kept = (rows.key, measured_of(rows.measures), columns_of(rows.columns))
    return lane.until, _keys(lane.keys), kept


def _set_row_lane(lane: RowLane, parts: tuple) -> None:
    lane.until, keys, kept = parts
    lane.keys = _keys_from(keys)
    if kept is not None:
        key, measures, columns = kept
        lane.rows = Rows(key, measured_from(measures), {n: _column_from(c) for n, c in columns}, {}, {})
