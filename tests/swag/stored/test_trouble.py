"""A store that is slow, or gone."""

import threading
import time

import pytest

from tests.swag.stored.windows import small, text, text_length
from windrow import stores
from windrow.errors import StoreUnavailable
from windrow.stores.keys import all_of
from windrow.swag import AMTA


class Moody(type(stores.memory())):
    """A memory store that can be slow or away."""

    away, pause, peak = False, 0.0, 0

    def write(self, batch, **options):
        if self.away:
            raise StoreUnavailable("the moody store does not answer")
        time.sleep(self.pause)
        super().write(batch, **options)

    def get_many(self, keys):
        if self.away:
            raise StoreUnavailable("the moody store does not answer")
        return super().get_many(keys)


def test_backpressure_bounds_the_buffer():
    store = Moody()
    w = small(AMTA, text_length(), store)
    store.pause = 0.15
    most = 0
    for _ in range(4000):
        w.insert(1)
        most = max(most, len(w.pager.waiting) + len(w.pager.puts))
    assert 20 * w.pager.batch < most <= 40 * w.pager.batch + 40
    store.pause = 0
    w.pager.flush()
    assert w.query() == 4000 and not w.pager.waiting


def test_evicted_pages_are_deleted_even_from_a_slow_store():
    store = Moody()
    w = small(AMTA, text_length(), store)
    w.insert_many([1] * 200)
    store.pause = 0.02
    for _ in range(6000):
        w.insert(1)
        w.evict()
    store.pause = 0
    w.pager.flush()
    held = len(list(store.scan(*all_of("window"))))
    assert held <= 450  # what is in use, and of each level up to 64 pages that are not worth a range yet; of 1,500


def test_a_store_that_is_gone_says_so_and_comes_back():
    store = Moody()
    w = small(AMTA, text, store)
    rows = "abcdefgh" * 300
    for letter in rows[:600]:
        w.insert(letter)
    w.checkpoint()
    store.away, i, refused, said = True, 600, 0, []
    while i < 2400:
        try:
            w.insert(rows[i])
            i += 1
        except StoreUnavailable as error:
            said.append(str(error))
            refused += 1
            store.away = refused < 3
        if refused < 3 and i > 2300:
            pytest.fail("the buffer has no bound")
    assert all("does not answer" in text and "pages wait" in text for text in said)
    store.away = True
    with pytest.raises(StoreUnavailable):
        w.checkpoint()
    store.away = False
    w.check_invariants()
    assert w.query() == rows
    w.checkpoint()
    assert AMTA.open(text, store).query() == rows


def test_threads_end():
    w = small(AMTA, text_length())
    w.insert_many([1] * 500)
    w.close()
    until = time.monotonic() + 5
    while any(thread.name == "windrow window" for thread in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)
