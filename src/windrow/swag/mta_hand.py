"""Single steps on a window of columns: plain partials, read from and written to columns of numbers.

A window that `slide` has made into columns would be turned back into objects, row by row, before a step by hand. That
is linear in the window, and a bulk eviction is to be O(log n). So the tree aggregators take their steps on the columns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.engine.columns import Journal, read, write
from windrow.engine.forms import Form, plain_form


class ColumnJournal(Journal):
    """`Journal` for columns: what was there is kept as a tuple of numbers."""

    def rollback(self, start: int = 0) -> None:
        while len(self.undo) > start:
            slots, i, before = self.undo.pop()
            if isinstance(slots, tuple):
                write(slots, i, before)
            else:
                slots[i] = before


def by_hand(form: Form, aggregate: Aggregate) -> Form:
    """The plain form over the slots that `form` has."""
    if not form.compiled:
        return form
    plain, journal = plain_form(aggregate), ColumnJournal()
    freeze, thaw = form.freeze, form.thaw
    assert freeze is not None and thaw is not None

    def get(slots: Any, i: int) -> Any:
        return thaw(read(slots, i))

    def put(slots: Any, i: int, partial: Any) -> None:
        journal.undo.append((slots, i, read(slots, i)))
        write(slots, i, freeze(partial))

    return replace(plain, get=get, put=put, put_link=journal.put, journal=journal)
