"""Saved state is checked before it is used: a checksum tells damage, not what somebody else has written.

Compiled loops trust positions and sizes. What is loaded must be so that no step leaves its arrays: types and lengths
fit, positions are in order, pointers lead to slots that there are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import numpy as np

from windrow.aggregates.base import Aggregate, same
from windrow.engine.algorithm import Algorithm
from windrow.engine.keyed import KeyedWindows
from windrow.engine.keyed_access import CAPACITY, LINKS, OPEN, SLICE_E, SLICE_F
from windrow.engine.state import by_hand
from windrow.engine.table import SMALLEST
from windrow.errors import SnapshotError

#: positions and numbers beyond it are none: they count rows or slices
FARTHEST = 2**62


def require(holds: Any, what: str) -> None:
    """`SnapshotError` where something does not hold, or not everywhere."""
    if not np.all(holds):
        raise SnapshotError(f"the saved state does not fit together: {what}")


def check_array(array: Any, dtype: Any, size: int | None, what: str) -> np.ndarray:
    """A column of a type and a length."""
    fits = isinstance(array, np.ndarray) and array.dtype == np.dtype(dtype) and array.ndim == 1
    require(fits and (size is None or len(array) == size), f"{what} are missing, too many or of another type")
    return array


def check_columns(dtypes: Sequence[Any], *slots: Any) -> None:
    """Slots as columns of these types, of one length."""
    for columns in slots:
        require(isinstance(columns, tuple) and len(columns) == len(dtypes), "columns of partials are missing")
        for column, dtype in zip(columns, dtypes, strict=True):
            check_array(column, dtype, len(columns[0]), "partials")


def check_window(algorithm: Algorithm, capacity: Any, registers: list, links: list, vals: Any, aggs: Any) -> None:
    """One window's registers and slots."""
    require(_whole(capacity) and capacity >= 2 and capacity & (capacity - 1) == 0, "a window's capacity")
    r = algorithm.registers._make(registers)
    require([_whole(v) for n, v in zip(r._fields, r, strict=True) if n not in algorithm.partial_registers], "registers")
    require(isinstance(links, list) and all(map(_whole, links)), "pointers")
    rooms = [len(slots[0]) if isinstance(slots, tuple) and slots else len(slots) for slots in (vals, aggs)]
    require((*rooms, len(links)) == tuple(algorithm.layout(capacity)), "a window has other slots than it should")
    require(algorithm.fits is None or algorithm.fits(r, links, capacity), f"positions of {algorithm.name}")


def check_numbers(dtypes: Sequence[np.dtype], partial: Any) -> tuple:
    """A partial as numbers of these types."""
    require(isinstance(partial, tuple) and len(partial) == len(dtypes), "a partial")
    for value, dtype in zip(partial, dtypes, strict=True):
        whole = type(value) in (int, bool) and -(2**63) <= value < 2**63
        require(whole or (type(value) is float and dtype.kind == "f"), "a partial")
    return partial


def _whole(value: Any) -> bool:
    return type(value) is int and -FARTHEST < value < FARTHEST


def check_keyed(part: KeyedWindows, keys: np.ndarray) -> None:
    """The windows of some keys."""
    if not part.form.compiled:
        for key in keys.tolist():
            _check_cell(part, key)
        return
    algorithm, what = part.algorithm, f"positions of {part.algorithm.name}"
    first, end, capacity = (part.word(keys, word) for word in (SLICE_F, SLICE_E, CAPACITY))
    r = algorithm.registers._make(
        None if name in part.partials else part.register(keys, name) for name in algorithm.registers._fields
    )
    for name in part.fields:
        require(np.abs(getattr(r, name)) < FARTHEST, what)
    require((first >= 0) & (first <= end) & (end < FARTHEST), what)
    require(np.isin(part.word(keys, OPEN), (0, 1)), what)
    size = by_hand(algorithm, part.form)[1].size(r)
    require(size == end - first, f"{what}: the window has another number of slices")
    require((capacity > 0) | (size == 0), what)
    if algorithm.fits is None:
        return
    if not algorithm.layout(8)[2]:
        require((capacity == 0) | algorithm.fits(r, None, capacity), what)
        return
    base = part.word(keys, LINKS)
    column, sizes = part.slots[2].columns[0], part.slots_of(capacity, 2)
    for j in np.flatnonzero(capacity).tolist():
        mine = algorithm.registers._make(None if values is None else int(values[j]) for values in r)
        links = column[base[j] : base[j] + sizes[j]]
        require(algorithm.fits(mine, links, int(capacity[j])), what)


def check_capacity(capacity: np.ndarray) -> None:
    """Room of windows, before any is made: a power of two, or none."""
    fits = (capacity >= SMALLEST) & (capacity < FARTHEST) & (capacity & (capacity - 1) == 0)
    require((capacity == 0) | fits, "a window's capacity")


def _check_cell(part: KeyedWindows, key: int) -> None:
    algorithm, store, what = part.algorithm, part.plain.stores[key], f"positions of {part.algorithm.name}"
    first, end, is_open, _, r = part.plain.cells[key]
    require([_whole(first), _whole(end), is_open in (0, 1)], what)
    require(0 <= first <= end and (r is None) == (store is None) and (r is not None or first == end), what)
    if r is None:
        return
    require([_whole(v) for n, v in zip(r._fields, r, strict=True) if n not in part.partials], what)
    require(by_hand(algorithm, part.form)[1].size(r) == end - first, f"{what}: the window has another number of slices")
    if algorithm.new_store is None or isinstance(store, tuple):
        capacity = store.mask + 1
        rooms = len(store.vals), len(store.aggs), len(store.links)
        require(rooms == tuple(algorithm.layout(capacity)), f"{what}: slots are missing")
        require([_whole(i) for i in store.links], what)
        require(algorithm.fits is None or algorithm.fits(r, store.links, capacity), what)


#: values of each kind of column; None: a row number
_TIMES = np.datetime64(0, "us"), np.timedelta64(1, "us")
_SAMPLES: dict[str | None, tuple] = {
    None: (1,), "int64": (1, *_TIMES), "float64": (1.0,), "bool": (True,),
    "object": (
        "x", 1, 1.0, Decimal(1), b"x", datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), date(1970, 1, 1),
        timedelta(1), time(1), *_TIMES,
    ),
}  # fmt: skip
#: what a function raises that is given another sort of partial than it makes; an overflow is the data's
_WRONG = (TypeError, IndexError, KeyError, AttributeError, UnicodeError)


class Partials:
    """Partials that are objects, as they are loaded: each must combine with one of its kind, and give an answer."""

    def __init__(self, of: Aggregate, kinds: Sequence[str | None]) -> None:
        """`kinds`: of the columns."""
        self.of, self._load = of, getattr(of, "load", same)
        self.one_sort = False  # all partials are of one window
        self.fixed = False  # partials are as many numbers each
        #: of a join, whose columns may be of one sort each
        self.parts = [
            Partials(part, [kinds[c] if c < len(kinds) else "object" for c in columns])
            for part, columns in getattr(of, "parts", ())
        ]
        with contextlib.suppress(Exception):
            self.fixed = of.numeric(["int64"] * max(1, len(kinds))) is not None
        self.samples = [] if self.parts else self._sampled(kinds or [None])

    @classmethod
    def of_any(cls, of: Aggregate) -> Partials:
        """Of one window of an aggregate whose columns are not known."""
        made = cls(of, ["object"])
        made.one_sort = True
        for columns in () if made.parts else (2, 3):
            made.samples = made.samples or made._sampled(["object"] * columns)
        return made

    def _sampled(self, kinds: Sequence[str | None]) -> list:
        samples = []
        for values in zip_longest(*(_SAMPLES[kind] for kind in kinds)):
            row = [_SAMPLES[kind][0] if value is None else value for value, kind in zip(values, kinds, strict=True)]
            with contextlib.suppress(Exception):  # it may be no row that the aggregate takes
                samples.append(self.of.monoid_lift(*row))
        return samples

    def load(self, saved: Any) -> Any:
        """The partial that was saved."""
        return self.checked(self._load(saved))

    def load_counted(self, saved: Any) -> Any:
        """The same with the number of its rows beside it."""
        pair = self._load(saved)
        if self.parts:  # each part has its own number of rows
            require(isinstance(pair, tuple) and len(pair) == len(self.parts), "a partial")
            for part, own in zip(self.parts, pair, strict=True):
                part.check_pair(own)
        else:
            self.check_pair(pair)
        return pair

    def check_pair(self, pair: Any) -> None:
        """Whether it is a number of rows and a partial of them; None: no rows."""
        if pair is not None:
            require(isinstance(pair, tuple) and len(pair) == 2 and _whole(pair[0]), "a partial")
            self.checked(pair[1])

    def checked(self, partial: Any) -> Any:
        """The partial, if it can be one."""
        if self.parts:
            if not isinstance(partial, tuple) or len(partial) != len(self.parts):
                raise self._refused()
            for part, own in zip(self.parts, partial, strict=True):
                if own is not None:
                    part.checked(own)
        try:
            self.of.monoid_lower(partial)
        except _WRONG as error:
            raise self._refused() from error
        except Exception:  # what a window of these rows would raise, too
            return partial
        for i, sample in enumerate(self.samples):
            if self._combines(sample, partial):
                # the next one is likely to be of the same sort; in one window it has to be
                self.samples = [sample, *([] if self.one_sort else self.samples[:i] + self.samples[i + 1 :])]
                return partial
        if self.samples:
            raise self._refused()
        return partial

    def _combines(self, one: Any, other: Any) -> bool:
        if self.fixed and isinstance(one, tuple) and (not isinstance(other, tuple) or len(one) != len(other)):
            return False
        try:
            self.of.monoid_combine(one, other)
            self.of.monoid_combine(other, one)
        except _WRONG:
            return False
        except Exception:
            return True
        return True

    def _refused(self) -> SnapshotError:
        return SnapshotError(f"the saved state does not fit together: a partial of {self.of.name}")
