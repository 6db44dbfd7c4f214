"""What a window over a store refuses by name: others' windows, other layouts, damaged pages."""

import pytest

from tests.swag.stored.windows import small, text
from windrow import Aggregate, agg, stores
from windrow.errors import DamagedPage, SnapshotError, StoreError, Unsupported
from windrow.stores.keys import all_of, of_page, of_window
from windrow.swag import AMTA, LogMTA


def test_windows_in_one_store():
    store = stores.memory()
    one, two = small(AMTA, text, store, name="one"), small(LogMTA, text, store, name="two")
    for i in range(300):
        one.insert(chr(97 + i % 26))
        two.insert(chr(65 + i % 26))
    one.checkpoint()
    two.checkpoint()
    AMTA.open(text, store, name="one").check_invariants()
    assert LogMTA.open(text, store, name="two").query() == two.query() != one.query()
    type(one).forget(store, "one")
    assert not list(store.scan(*all_of("one"))) and list(store.scan(*all_of("two")))


def test_refusals():
    store = stores.memory()
    w = small(AMTA, agg.top_k(k=3), store, name="w")
    w.insert_many(range(100))
    w.checkpoint()
    for aggregate, cls, name, word in (
        (agg.max(), AMTA, "w", r"window 'w' is of amta with top_k\(\), and cannot go on as amta with max\(\)"),
        (agg.top_k(k=3), LogMTA, "w", "is of amta with .* cannot go on as log_mta"),
        (agg.top_k(k=4), AMTA, "w", "its functions, options, parts or identity differ"),
        (agg.top_k(k=3), AMTA, "v", "'v' has no checkpoint"),
    ):
        with pytest.raises(SnapshotError, match=word):
            cls.open(aggregate, store, name=name)
    with pytest.raises(StoreError, match=r"in stores\.memory.* already"):
        small(AMTA, agg.top_k(k=3), store, name="w")
    store.put(of_window("v", b"c"), store.get(of_window("w", b"c")))
    with pytest.raises(SnapshotError, match="is of window 'w', and not of 'v'"):
        AMTA.open(agg.top_k(k=3), store, name="v")
    assert AMTA.open(agg.top_k(k=3), store, name="w").query() == w.query()
    with pytest.raises(TypeError, match=r"windrow\.stores"):
        AMTA(agg.max(), store={})
    with pytest.raises(ValueError, match="at least 16"):
        AMTA(agg.max(), store=stores.memory(), cache=8)
    for ask in (
        lambda: w.slide([1], 2, times=[1]),
        lambda: w.slide([1], 2, keys=[1]),
        lambda: w.slide_between([1], [0], [1]),
    ):
        with pytest.raises(Unsupported):
            ask()


def test_another_layout_is_refused(monkeypatch):
    from windrow.swag import mta_checkpoint

    store = stores.memory()
    w = small(AMTA, text, store)
    w.insert("a")
    monkeypatch.setattr(mta_checkpoint, "LAYOUT", 3)
    w.checkpoint()
    monkeypatch.setattr(mta_checkpoint, "LAYOUT", 2)
    with pytest.raises(SnapshotError, match="layout version 3, this windrow reads version 2"):
        AMTA.open(text, store)


def test_a_process_that_was_given_up_cannot_write():
    store = stores.memory()
    old = small(AMTA, text, store)
    old.insert_many("abc")
    old.checkpoint()
    new = AMTA.open(text, store)
    with pytest.raises(StoreError, match="taken it over"):
        old.checkpoint()
    with pytest.raises(StoreError, match="taken it over"):
        old.insert_many("x" * 4000)
    assert new.query() == "abc"
    new.insert("d")
    new.checkpoint()
    assert AMTA.open(text, store).query() == "abcd"


def test_a_damaged_page_is_named():
    store = stores.memory()
    w = small(AMTA, text, store, name="load")
    w.insert_many("abcdefgh" * 100)
    w.checkpoint()
    key = next(
        k for k, _ in store.scan(*all_of("load")) if k.startswith(of_window("load", b"p") + bytes([0])) and k[-1] == 60
    )
    store.put(key, store.get(key)[:-1] + b"?")
    with pytest.raises(DamagedPage, match="page 60 of level 0 of window 'load' is damaged"):
        w.evict_many(60 * w.page + 1)
    assert len(w) == 800 and w.query() == "abcdefgh" * 100  # nothing has happened


def page(store, level, number):
    key = of_page("window", level, number)
    return key, store.get(key)


def test_a_page_under_another_key_is_found_out():
    store = stores.memory()
    w = small(AMTA, text, store)
    w.insert_many("abcdefgh" * 100)
    w.checkpoint()
    store.put(page(store, 0, 60)[0], page(store, 0, 61)[1])
    with pytest.raises(DamagedPage, match=r"page 60 of level 0 .* checksum"):
        w.evict_many(60 * w.page + 1)


def test_a_page_of_another_life_is_found_out():
    """Written before a crash, after the checkpoint; and what the next process wrote in its place was lost."""
    store = stores.memory()
    w = small(AMTA, text, store)
    w.insert_many("abcdefgh" * 50)
    w.checkpoint()
    w.insert_many("before the crash" * 50)
    w.pager.flush()
    key, stale = page(store, 0, 60)
    w = AMTA.open(text, store)
    w.insert_many("after the crash!" * 50)
    w.checkpoint()
    assert stale is not None and store.get(key) != stale
    store.put(key, stale)
    for window in (w, AMTA.open(text, store)):
        with pytest.raises(DamagedPage, match=r"page 60 of level 0 .* another life"):
            window.evict_many(60 * w.page + 1)


def test_what_cannot_be_stored_is_said_at_once():
    w = small(AMTA, Aggregate(lift=lambda x: {x}, combine=lambda a, b: a | b, lower=len, identity=set(), name="sets"))
    with pytest.raises(SnapshotError, match="a set cannot be saved"):
        w.insert(1)
    assert len(w) == 0


def test_snapshots_refer_to_the_store():
    store = stores.memory()
    w = small(AMTA, text, store, name="n")
    w.insert_many("abc" * 50)
    data = w.snapshot()
    assert len(data) < 200
    assert AMTA.resume(text, data, store=store).query() == "abc" * 50
    with pytest.raises(SnapshotError, match="give store="):
        AMTA.resume(text, data)
    v = AMTA.open(text, store, name="n")
    v.checkpoint()
    with pytest.raises(SnapshotError, match=r"refers to checkpoint 1 .* has checkpoint 2"):
        AMTA.resume(text, data, store=store)


@pytest.mark.parametrize("cls", [AMTA, LogMTA])
def test_who_is_refused_has_taken_nothing_over(cls):
    """The window's owner goes on, whatever somebody else tried to open in its place."""
    store, other = stores.memory(), LogMTA if cls is AMTA else AMTA
    owner = cls(agg.concat(), store=store, cache=16, buffer=16)
    owner.insert_many("abc" * 50)
    old = owner.snapshot()
    owner.insert("d")
    new = owner.snapshot()
    mine = Aggregate(str, lambda a, b: b + a, identity="", name="concat")
    attempts = [
        lambda: cls.resume(agg.max(), new, store=store),
        lambda: cls.resume(agg.first(), new, store=store),
        lambda: cls.resume(mine, new, store=store),
        lambda: other.resume(agg.concat(), new, store=store),
        lambda: cls.resume(agg.concat(), old, store=store),  # not the last checkpoint any more
        lambda: cls.open(agg.max(), store),
        lambda: other.open(agg.concat(), store),
    ]
    for attempt in attempts:
        with pytest.raises(SnapshotError):
            attempt()
        owner.insert("e")
        owner.checkpoint()
    assert owner.query() == "abc" * 50 + "d" + "e" * len(attempts)
    again = cls.resume(agg.concat(), owner.snapshot(), store=store)
    assert again.query() == owner.query()
    with pytest.raises(StoreError, match="taken it over"):
        owner.checkpoint()
