"""Snapshots of live queries: version, checksum and plain values (`engine.snapshot`); nothing in one can name code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from windrow.engine.batch import KINDS_KEPT
from windrow.engine.loaded import FARTHEST, require
from windrow.engine.snapshot import believed, opened, sealed
from windrow.engine.walks import HIGHEST, LOWEST
from windrow.errors import SnapshotError
from windrow.frames.saving import emptied, loaded_times, loaded_type, saved_times, saved_type
from windrow.query import Query, Report
from windrow.step import saving
from windrow.step.keys import one_nan

if TYPE_CHECKING:
    from windrow.local.live import Live

#: 1 had slices, and rows of windows that are kept by partials now; in 2 all that waits were rows; 3 had no types,
#: 4 no order of categories
LAYOUT = 5


def saved(live: Live, key: bytes | None = None) -> bytes:
    """All of a live query's state; of what is in a store a reference, to what is durable there when this returns.

    Nothing in the store takes the place of the snapshot before, which can be gone on from until the next one is made.
    """
    keys = live.door.keys.all()
    if live.state is not None:
        live.state.checkpoint()
    state = {
        "identity": list(live.query.identity().items()),
        "report": [live.report.rows_in, live.report.rows_out, live.report.late, live.report.rejected],
        "closed": live.closed,
        "in a store": live.query.store is not None,
        "frame": (live.template.library, live.template.form),
        "types": [(name, saved_type(kind)) for name, kind in live.door.types.items()],
        "door": (
            live.door.newest,
            live.door.watermark,
            None if live.door.times is None else saved_times(live.door.times),
        ),
        "kinds": [(name, kind, dtype.str) for name, (kind, dtype) in live.door.kinds.items()],
        "keys": live.door.keys.saved(keys) if live.query.by else [],
        "pending": _pending(live, keys),
        "labels": list(live.labels.values.items()),
        "last": [(window, _last(rows, keys)) for window, rows in live.last.items()],
        "until": None if live.state is None else live.state.until,
        "state": None if live.state is None else list(saving.dump(live.state, keys).items()),
    }
    data = sealed(("live query", LAYOUT, list(state.items())), key)
    if live.state is not None:
        live.state.confirm()
    return data


def restore(live: Live, data: bytes, key: bytes | None = None) -> None:
    """Sets a new live query to a saved state."""
    content = opened(data, key)
    if not isinstance(content, tuple) or len(content) != 3 or content[0] != "live query":
        raise SnapshotError("this is a snapshot, but not one of a live query")
    if content[1] != LAYOUT:
        raise SnapshotError(f"the snapshot has layout {content[1]}, this windrow reads layout {LAYOUT}")
    with believed("the snapshot"):
        _restore(live, dict(content[2]))


def _restore(live: Live, state: dict[str, Any]) -> None:
    check_identity(live.query.identity(), dict(state["identity"]))
    _check_store(live.query.store, state.get("in a store", False))
    door, live.closed, live.report = live.door, state["closed"], Report(*state["report"])
    require(live.closed in (True, False) and all(map(_counts, state["report"])), "its counts")
    door.settle({name: loaded_type(kind) for name, kind in state["types"]})
    library, form = state["frame"]
    live.template = emptied(library, form, {n: k for n, k in door.types.items() if n not in live.query.inputs})
    door.newest, door.watermark, times = state["door"]
    require([_instant(when) for when in (door.newest, door.watermark)], "how far event time has come")
    if times is not None:
        require(live.query.time in door.types, "the time column")
        assert live.query.time is not None
        door.times = loaded_times(times, door.types[live.query.time].own)
    if state["types"]:
        live.type_results()
    door.kinds = {name: (kind, np.dtype(dtype)) for name, kind, dtype in state["kinds"]}
    _check_kinds(live)
    if live.query.by:
        door.keys.extend(
            [column if isinstance(column, np.ndarray) else list(map(one_nan, column)) for column in state["keys"]]
        )
    live.labels.values = {name: list(values) for name, values in state["labels"]}
    for window, rows in state["last"]:
        require([_counts(k) and k < len(door.keys) and _answers(live.query, row) for k, row in rows], "last answers")
        live.last[window].update({k: tuple(row) for k, row in rows})
    if state["state"] is not None:
        begun = live._begin(door.nothing())
        keys = np.arange(len(door.keys))
        begun.grow(len(keys))
        begun.until = state["until"]
        require(_instant(begun.until), "how far event time has come")
        saving.load(begun, saving.saved(state["state"]), keys)
        if state["pending"] is not None:
            live.pending.load(state["pending"], keys, door.kinds)
            live.pending.commit()
        for name, numbers in saving.label_columns(begun):
            require(numbers < max(1, len(live.labels.values.get(name, ()))), f"labels of '{name}'")


def _counts(number: Any) -> bool:
    return type(number) is int and 0 <= number < FARTHEST


def _instant(number: Any) -> bool:
    return type(number) is int and LOWEST <= number <= HIGHEST


def _answers(query: Query, row: Any) -> bool:
    return isinstance(row, (tuple, list)) and len(row) == len(query.aggregates)


def _check_kinds(live: Live) -> None:
    """The columns that are kept are those that the query reads, or all."""
    kinds, names = live.door.kinds, {*live.template.names, *live.query.inputs}
    fits = [kind in KINDS_KEPT and dtype.kind in KINDS_KEPT[kind] for kind, dtype in kinds.values()]
    require(fits, "the columns' types")
    require(kinds.keys() <= names, "the columns that are kept")  # nothing may be known of some yet
    require(live.door.keeps_all or kinds.keys() <= set(live.door.named), "the columns that are kept")


def check_identity(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Saved state is of one query."""
    ours, theirs = ({"emit": "final", **parts} for parts in (ours, theirs))  # it is told where it is another
    for part, mine in ours.items():
        if theirs.get(part) != mine:
            raise SnapshotError(
                f"the snapshot is of another query: its {part} is {_spelled(theirs.get(part))}, "
                f"here it is {_spelled(mine)}"
            )


def _check_store(ours: Any, theirs: bool) -> None:
    if ours is None and theirs:
        raise SnapshotError("the snapshot refers to windows in a store: the query needs the same store=")
    if ours is not None and not theirs:
        raise SnapshotError(f"the snapshot has all of its windows in itself: go on without store={ours!r}")


def _spelled(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def _pending(live: Live, keys: np.ndarray) -> Any:
    """What waits, with the places of its keys among `keys`."""
    waits: Any = live.pending.all()
    return None if waits is None else live.pending.plain(waits.coded(np.searchsorted(keys, waits.codes)))


def _last(rows: Mapping[int, tuple], keys: np.ndarray) -> list:
    places = {int(key): i for i, key in enumerate(keys.tolist())}
    return [(places[k], row) for k, row in rows.items() if k in places]
