"""A live query whose keys lie in pages of some keys each, kept by somebody else: a bucket of a stream.

A step loads the pages of the keys that got rows, takes in the rows of all of them at once, and cuts the same pages out
of the state again. A page numbers its own keys and labels from 0. A key of which nothing is known, and of which no row
waits, is in no page: keys that fall silent cost nothing. Of a key with many slices, most lie in chunks beside the page
(`step.chunks`), of which a step loads and writes those that it touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from windrow.engine.snapshot import believed
from windrow.errors import SnapshotError
from windrow.frames import Frame
from windrow.local.labels import Labels
from windrow.local.live import Live
from windrow.query import Query, Report
from windrow.step import saving
from windrow.step.chunks import Chunk, Chunks, Rings
from windrow.step.held import Held
from windrow.step.keys import one_nan
from windrow.step.pending_slices import Folded

#: the state of some keys, as plain values
Page = Mapping[str, Any]


class Beside(Protocol):
    """Where chunks lie, as plain values."""

    def new_owner(self) -> int: ...

    def get(self, owner: int, chunk: int) -> Mapping[str, Any]: ...

    def put(self, owner: int, chunk: int, content: Mapping[str, Any]) -> None: ...

    def remove(self, owner: int, chunk: int) -> None: ...


def in_pages(query: Query, columns: Frame, watermark: int, beside: Beside | None = None) -> Pages:
    """A live query without keys; an empty frame tells the types of the columns. Without `beside`, pages are whole."""
    live = Live(query)
    live.begin(columns)
    live.set_watermark(watermark)
    return Pages(live, beside)


class Pages:
    """What a bucket needs of a live query."""

    def __init__(self, live: Live, beside: Beside | None = None) -> None:
        self.live = live
        if beside is not None:
            live.begun.chunks = Chunks(live.begun, _Entries(live.labels, beside))

    @property
    def report(self) -> Report:
        """Counts of the rows of this step."""
        return self.live.report

    @property
    def watermark(self) -> int:
        """How far event time has come."""
        return self.live.door.watermark

    def load(self, pages: Iterable[Page]) -> None:
        """Takes up the state of the keys of some pages; before there are rows."""
        for page in pages:
            with believed("a page"):
                self._load(page)
        self.live.pending.commit()
        self.live.labels.renew()

    def _load(self, page: Page) -> None:
        live, keys, state = self.live, self.live.door.keys, self.live.begun
        columns = [list(map(one_nan, part)) if isinstance(part, list) else part for part in page["keys"]]
        try:
            numbers = keys.extend(columns)
        except ValueError as error:
            raise SnapshotError(f"the saved state does not fit together: {error}") from None
        state.grow(len(keys))
        if page["pending"] is not None:
            live.pending.load(page["pending"], numbers, live.door.kinds)
        content = saving.saved(page["state"])
        saving.relabel(state, content, _taken_up(live.labels, page["labels"]))
        saving.load(state, content, numbers[: page["known"]])
        for window, rows in page["last"]:
            live.last[window].update({int(numbers[k]): tuple(row) for k, row in rows})

    def push(self, rows: Any, watermark: int) -> tuple[Any, Any]:
        """Takes in rows; event time has come to `watermark`. The results, and the rows that are late."""
        self.live.set_watermark(watermark)
        results = self.live.push(rows)
        return results, self.live.late

    def keys(self) -> np.ndarray:
        """The numbers of the keys that have to be remembered, ascending."""
        keys = self.live.door.keys.all()
        return keys[self.live.begun.known(keys) | self.live.pending.waiting.any(keys)]

    def values(self, keys: np.ndarray, column: str) -> np.ndarray:
        return np.array(self.live.door.keys.column(keys, self.live.query.by.index(column)))

    def due(self, keys: np.ndarray) -> np.ndarray:
        """For each key when it has to be looked at: something becomes final, or what waits may enter the step."""
        when = self.live.begun.due_at(keys)
        waits = self.live.pending.all()
        if waits is not None:
            np.minimum.at(when, np.searchsorted(keys, waits.codes), self.live.pending.due())
        return when

    def cut(self, keys: np.ndarray, page: np.ndarray) -> dict[int, Page]:
        """The pages of all keys; what lies beside them is written."""
        known = self.live.begun.known(keys)
        if self.live.begun.chunks is not None:
            self.live.begun.chunks.settle(keys[known])
        # by page; keys of which anything is known first, because the others have rows that wait and no state
        at = np.lexsort([~known, page])
        keys, page, known = keys[at], page[at], known[at]
        numbers, begin, count = np.unique(page, return_index=True, return_counts=True)
        waiting = self._waiting(keys)
        return {
            number: self._cut(keys[b:e], int(known[b:e].sum()), _between(waiting, b, e))
            for number, b, e in zip(numbers.tolist(), begin.tolist(), (begin + count).tolist(), strict=True)
        }

    def _waiting(self, keys: np.ndarray) -> Held | Folded | None:
        """What waits, by the places of its keys among `keys`; that of a key in the order in which it came."""
        waits = self.live.pending.all()
        if waits is None:
            return None
        places = np.full(len(self.live.door.keys), -1)
        places[keys] = np.arange(len(keys))
        codes = places[waits.codes]
        at = np.argsort(codes, kind="stable")
        return waits.at(at).coded(codes[at])

    def _cut(self, keys: np.ndarray, known: int, waiting: Any) -> Page:
        live, state = self.live, self.live.begun
        labels = _Labels(live.labels.values)
        content = saving.dump(state, keys[:known])
        saving.relabel(state, content, labels.renumbered)
        return {
            "keys": live.door.keys.saved(keys),
            "pending": None if waiting is None else live.pending.plain(waiting),
            "known": known,
            "state": list(content.items()),
            "last": [
                (window, [(i, rows[k]) for i, k in enumerate(keys.tolist()) if k in rows])
                for window, rows in live.last.items()
            ],
            "labels": list(labels.values.items()),
        }


@dataclass(frozen=True)
class _Entries:
    """Chunks as plain values. Each has the labels that it refers to."""

    labels: Labels
    beside: Beside

    def new_owner(self) -> int:
        return self.beside.new_owner()

    def read(self, rings: Rings, owner: int, chunk: int) -> Chunk:
        with believed("a chunk"):
            return self._read(rings, self.beside.get(owner, chunk))

    def _read(self, rings: Rings, content: Mapping[str, Any]) -> Chunk:
        change = _taken_up(self.labels, content["labels"])
        self.labels.renew()
        parts = zip(rings.parts, content["partials"], strict=True)
        partials = [saving.load_partials(part, group, values, change) for (part, group), values in parts]
        found = Chunk(content["ring"], partials)
        if not found.whole:
            raise SnapshotError("the saved state does not fit together: a chunk has too few slices")
        return found

    def write(self, rings: Rings, owner: int, chunk: int, content: Chunk) -> None:
        labels = _Labels(self.labels.values)
        parts = zip(rings.parts, content.partials, strict=True)
        dumped = [saving.dump_partials(part, group, values, labels.renumbered) for (part, group), values in parts]
        content_of = {"ring": content.ring, "partials": dumped, "labels": list(labels.values.items())}
        self.beside.put(owner, chunk, content_of)

    def remove(self, owner: int, chunk: int) -> None:
        self.beside.remove(owner, chunk)


def _taken_up(labels: Labels, more: Iterable[tuple[str, list]]) -> saving.Change:
    """Adds labels that somebody has numbered from 0; how these numbers become those that they have now."""
    start = {}
    for name, values in more:
        mine = labels.values.setdefault(name, [])
        start[name] = len(mine)
        mine.extend(values)
    return lambda of, numbers: np.where(numbers < 0, numbers, numbers + start.get(of, 0))


class _Labels:
    """The labels of one page: those that its state refers to, numbered from 0."""

    def __init__(self, pool: Mapping[str, list]) -> None:
        self.pool = pool
        self.values: dict[str, list] = {}
        self._numbers: dict[str, dict[int, int]] = {}

    def renumbered(self, of: str, numbers: np.ndarray) -> np.ndarray:
        """Numbers of a column's labels among those of the page; one that means nothing becomes -1."""
        pool = self.pool.get(of, [])
        mine, known = self.values.setdefault(of, []), self._numbers.setdefault(of, {})
        used, at = np.unique(numbers, return_inverse=True)
        new = np.full(len(used), -1)
        for i, number in enumerate(used.tolist()):
            if 0 <= number < len(pool):
                if number not in known:
                    known[number] = len(mine)
                    mine.append(pool[number])
                new[i] = known[number]
        return new[at]


def _between(waits: Held | Folded | None, begin: int, end: int) -> Held | Folded | None:
    """What waits of the keys from one place on to another, counted from the first; None: nothing does."""
    if waits is None:
        return None
    first, last = np.searchsorted(waits.codes, [begin, end]).tolist()
    if first == last:
        return None
    mine = waits.at(slice(first, last))
    return mine.coded(mine.codes - begin)
