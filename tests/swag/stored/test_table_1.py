"""Paper 4, Table 1: combines, store reads and what is held in memory."""

import math
import random
import time

from tests.swag.stored.windows import both, small, text, text_length
from windrow import stores
from windrow.stores.keys import CHECKPOINT, of_window
from windrow.swag import AMTA
from windrow.swag.counting import counting


def visits(w, step):
    before = w.pager.reads
    step()
    return w.pager.reads - before


def test_table_1_amortised_constant():
    """AMTA: O(1) combines a row on average, and store reads of one page for every P rows of each level: 2/P a row."""
    for n in (100, 3000):
        total = counting(text_length())
        w = small(AMTA, total)
        w.insert_many([1] * n)
        reads, before = w.pager.reads, total.combines
        for _ in range(2000):
            w.insert(1)
            w.evict()
        assert (total.combines - before) / 4000 <= 3
        assert (w.pager.reads - reads) / 2000 <= 2 / w.page + 0.02


@both
def test_table_1_bulk_evictions(algorithm):
    """At most c log2 n combines and page reads, however many rows go."""
    rng, total = random.Random(4), counting(text_length())
    w = small(algorithm, total)
    for _ in range(60):
        if len(w) < 100:
            w.insert_many([1] * rng.randrange(500, 4000))
            w.pager.flush()  # so that reads are reads
        n = len(w)
        k = rng.choice([rng.randrange(30), n // 2, rng.randint(0, n)])
        before = total.combines
        if rng.random() < 0.5:
            reads = visits(w, lambda: w.evict_many(k))
            assert total.combines - before <= 4 * math.log2(n) + 8
        else:
            reads = visits(w, lambda: w.enforce(lambda total, old: old <= k))
            assert total.combines - before <= 12 * math.log2(n) + 12
        assert reads <= 4 * math.log2(n) + 4
        w.insert(1)
    w.check_invariants()


@both
def test_table_1_log_mta_single(algorithm):
    total = counting(text_length())
    w = small(algorithm, total)
    w.insert_many([1] * 3000)
    for _ in range(500):
        before = total.combines
        w.insert(1)
        w.evict()
        assert total.combines - before <= 6 * math.log2(3000)


@both
def test_table_1_local_memory(algorithm):
    """O(log n) pages: the slots grow by a level for each doubling, whatever the window holds."""
    held = []
    for exponent in (8, 10, 12, 14):
        w = small(algorithm, text_length(), capacity=4)
        w.insert_many([1] * 2**exponent)
        w.pager.flush()
        held.append(sum(slot is not None for slot in w.s.vals))
        assert len(w.s.vals) <= 3 * w.cache * (exponent + 4)
        assert not w.pager.waiting and not w.pager.puts
    assert held[3] - held[2] <= 3 * w.cache * 2 and held[3] < 2**13


def test_a_page_in_the_buffer_is_not_read_from_the_store():
    class Deaf(type(stores.memory())):
        def write(self, batch, **options):
            if len(batch.puts) != 1:  # all but the mark of the owner
                time.sleep(0.05)
            super().write(batch, **options)

        def get_many(self, keys):
            assert keys == [of_window("window", CHECKPOINT)], "read"  # whether there is such a window already
            return [None]

    w = small(AMTA, text, Deaf(), buffer=256)
    w.insert_many("abcdefgh" * 60)
    w.evict_many(100)
    assert w.query() == ("abcdefgh" * 60)[100:]
