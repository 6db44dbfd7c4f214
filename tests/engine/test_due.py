"""Due keys: taken out in the order of their times, and put back as if they had stayed."""

from __future__ import annotations

import heapq
import random

import numpy as np

from windrow.engine.due import Due


def test_against_a_heap_of_tuples() -> None:
    rnd = random.Random(5)
    due, heap, backs = Due(), list[tuple[int, int]](), 0
    words = np.zeros((9, 2), np.int64)  # when each key is due, in the second column: other entries do not count
    for _ in range(300):
        new = [(rnd.randrange(100), rnd.randrange(9)) for _ in range(rnd.randrange(8))]
        due.push(np.array([k for _, k in new], np.int64), np.array([t for t, _ in new], np.int64))
        for entry in new:
            heapq.heappush(heap, entry)
            words[entry[1], 1] = entry[0]
        until = rnd.randrange(-1, 100)
        passed = sorted(entry for entry in heap if entry[0] <= until)
        wanted = sorted({k for t, k in passed if words[k, 1] == t})
        assert due.pop(words, 1, until).tolist() == wanted
        assert int(due.size[0]) == len(heap) - len(passed)
        if rnd.random() < 0.5:
            due.rollback()
            due.rollback()  # nothing is left to put back
            backs += bool(passed)
        else:
            due.commit()
            heap = [entry for entry in heap if entry[0] > until]
        assert int(due.size[0]) == len(heap)
    assert backs > 50
