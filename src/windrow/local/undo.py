"""A batch that fails is as if it had not been: what a live query must be set back to."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.local.old_live import OldLive as Live


@contextlib.contextmanager
def all_or_nothing(live: Live) -> Iterator[None]:
    """Sets the query back where what is done within raises.

    Arrays are never changed in place, so to keep the old ones is enough; what only grows is cut to its old length.
    """
    arrivals, machine = live.arrivals, live.machine
    shallow = [(part, dict(vars(part))) for part in (live, arrivals, machine)]
    lanes = [(lane, dict(vars(lane)), copy.copy(lane.keys)) for lane in machine.lanes]
    newest = [dict(keys.newest) for _, _, keys in lanes]
    grown: list[Any] = [arrivals.codes, arrivals.kinds]
    lengths = [len(part) for part in grown]
    labels = {name: len(values) for name, values in machine.labels.values.items()}
    states = dict(machine.states)
    last = {name: dict(rows) for name, rows in live.last.items()} if live.query.changes_only else live.last
    try:
        with contextlib.ExitStack() as trees:
            for shelf in machine.shelves:
                trees.enter_context(shelf.all_or_nothing())
            yield
    except BaseException:
        for part, before in shallow:
            vars(part).update(before)
        for (lane, before, keys), values in zip(lanes, newest, strict=True):
            vars(lane).update(before)
            keys.newest = values
            lane.keys = keys
        for part, length in zip(grown, lengths, strict=True):
            while len(part) > length:
                part.popitem()
        machine.labels.cut(labels)
        machine.states, live.last = states, last
        raise
