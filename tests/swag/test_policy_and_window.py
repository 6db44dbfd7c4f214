"""A policy that uses the window it decides about is refused, and nothing has happened."""

from __future__ import annotations

import numpy as np
import pytest

from windrow import agg, stores, swag
from windrow.errors import WindrowError

USES = {
    "insert": lambda w: w.insert("z"),
    "insert_many": lambda w: w.insert_many(["y", "z"]),
    "an array": lambda w: w.insert_many(np.array(["y", "z"], object)),
    "evict": lambda w: w.evict(),
    "evict_many": lambda w: w.evict_many(2),
    "query": lambda w: w.query(),
    "enforce": lambda w: w.enforce(lambda total, old: True),
    "slide": lambda w: w.slide(["z"], 3),
    "slide_policy": lambda w: w.slide_policy(["z"], lambda total, old: True),
    "snapshot": lambda w: w.snapshot(),
}
ROWS = [chr(65 + i % 26) for i in range(120)]


def windows():
    for cls in (swag.AMTA, swag.LogMTA):
        yield cls(agg.concat())
        yield cls(agg.concat(), store=stores.memory(), cache=16, buffer=16)


@pytest.mark.parametrize("when", [0, 3, 6])  # at once, among single evictions, in the search from the root
@pytest.mark.parametrize("use", USES)
def test_refused(use, when):
    for w in windows():
        w.insert_many(ROWS)
        asked = []

        def policy(total, old, w=w, asked=asked):
            asked.append(old)
            if len(asked) > when:
                USES[use](w)
            return len(old) <= 90

        with pytest.raises(WindrowError, match="a policy cannot use the window"):
            w.enforce(policy)
        with pytest.raises(WindrowError, match="a policy cannot use the window"):
            w.slide_policy(["a", "b"], policy)
        assert w.query() == "".join(ROWS) and len(w) == len(ROWS)
        w.check_invariants()
        # and one that catches the error has done no harm

        def careful(total, old, w=w):
            with pytest.raises(WindrowError):
                USES[use](w)
            return len(old) <= 50

        assert w.enforce(careful) == 50
        w.insert("!")
        assert w.query() == "".join(ROWS[50:]) + "!"
        w.check_invariants()


def test_over_columns_of_numbers():
    """A window that `slide` has turned into columns takes its steps there."""
    w = swag.AMTA(agg.sum())
    w.slide(np.arange(100), 100)
    for use in (lambda: w.insert(1), lambda: w.evict(), lambda: w.evict_many(3), lambda: w.query()):
        with pytest.raises(WindrowError, match="a policy cannot use"):
            w.enforce(lambda total, old, use=use: use() is None)
    assert w.query() == 4950 and w.enforce(lambda total, old: old < 10) == 4
    w.check_invariants()


def test_another_window_is_free():
    w, seen = swag.AMTA(agg.concat()), swag.AMTA(agg.concat())
    w.insert_many(ROWS)
    w.enforce(lambda total, old: seen.insert(old[-1]) is None and len(old) < 5)
    assert seen.query() == "ABCDE" and w.query() == "".join(ROWS[4:])
