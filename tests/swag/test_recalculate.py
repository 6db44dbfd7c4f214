"""The oracle itself, against what a list and the definitions say."""

import random

from windrow import agg
from windrow.swag import Recalculate


def test_folds_the_rows_from_the_oldest_to_the_newest() -> None:
    rnd = random.Random(20)
    window, rows = Recalculate(agg.concat()), []
    for _ in range(500):
        if rows and rnd.random() < 0.48:
            window.evict()
            rows.pop(0)
        else:
            rows.append(rnd.choice("abcdef"))
            window.insert(rows[-1])
        assert (len(window), window.query()) == (len(rows), "".join(rows) or None)
        window.check_invariants()


def test_answers_by_definition() -> None:
    rows = [3, 1, 4, 1, 5, 9, 2, 6]
    for make, definition in ((agg.sum, sum), (agg.max, max), (agg.count, len), (agg.first, lambda v: v[0])):
        window = Recalculate(make())
        for i, row in enumerate(rows):
            window.insert(row)
            if i >= 3:
                window.evict()
            assert window.query() == definition(rows[max(0, i - 2) : i + 1])
