"""LogMTA and AMTA over a store: the answers, the counts of paper 4's Table 1, checkpoints, refusals."""

import math
import random
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow import Aggregate, agg, stores, swag
from windrow.errors import DamagedPage, SnapshotError, StoreError, StoreUnavailable, Unsupported
from windrow.stores.keys import all_of, of_page, of_window
from windrow.swag import AMTA, LogMTA, policies
from windrow.swag.counting import counting

text = Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity="", name="text")
both = pytest.mark.parametrize("algorithm", [AMTA, LogMTA])
PRIME = 1_000_003

#: order matters, and it is numbers: the hash of a sequence, and what the next one is multiplied by
order = Aggregate(
    lift=lambda x: (x, 31),
    combine=lambda a, b: ((a[0] * b[1] + b[0]) % 1_000_003, a[1] * b[1] % 1_000_003),
    lower=lambda p: p[0],
    identity=(0, 1),
    name="order",
)


def hashed(rows):
    value = 0
    for row in rows:
        value = (value * 31 + row) % PRIME
    return value


def small(algorithm, aggregate, store=None, **options):
    return algorithm(aggregate, store=store or stores.memory(), **{"cache": 16, "buffer": 16, **options})


steps = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), st.integers(1, 70)),
        st.tuples(st.just("evict"), st.integers(1, 40)),
        st.tuples(st.just("bulk"), st.floats(0, 1)),
        st.tuples(st.just("policy"), st.floats(0, 1)),
        st.tuples(st.just("checkpoint"), st.none()),
        st.tuples(st.just("crash"), st.none()),
    ),
    max_size=30,
)


@both
@given(steps=steps, aggregate=st.sampled_from(["concat", "text", "join"]))
@settings(max_examples=25)
def test_as_recalculated(algorithm, steps, aggregate):
    """Any sequence of operations, checkpoints and crashes."""
    make = {
        "concat": agg.concat,
        "text": lambda: text,
        "join": lambda: agg.join(agg.concat(), agg.last_n(n=2), agg.count()),
    }
    store, letters = stores.memory(), iter("abcdefghijklmnopqrstuvwxyz" * 400)
    w, truth = small(algorithm, make[aggregate](), store), swag.Recalculate(make[aggregate]())
    durable = None
    for what, size in steps:
        n = len(truth)
        if what == "insert":
            for _ in range(size):
                letter = next(letters)
                w.insert(letter)
                truth.insert(letter)
        elif what == "evict":
            for _ in range(min(size, n)):
                w.evict()
                truth.evict()
        elif what == "bulk":
            w.evict_many(int(size * n))
            truth.evict_many(int(size * n))
        elif what == "policy":
            k = int(size * n)
            long = (lambda a: len(a or "")) if aggregate != "join" else (lambda a: a[2])
            assert w.enforce(lambda total, old: long(old) <= k) == k
            truth.evict_many(k)
        elif what == "checkpoint":
            w.checkpoint(note=n)
            durable = truth.snapshot()
        elif durable is not None:
            w = algorithm.open(make[aggregate](), store)
            truth = swag.Recalculate.resume(make[aggregate](), durable)
        w.check_invariants()
        assert len(w) == len(truth) and w.query() == truth.query()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [AMTA, LogMTA])
def test_compiled_and_by_hand_in_turn(algorithm, tmp_path):
    rng, rows = np.random.default_rng(3), []
    store = stores.rocksdb(tmp_path / "db")
    w = small(algorithm, order, store)
    for step in range(40):
        kind = rng.integers(6)
        new = rng.integers(0, 1000, rng.integers(1, 150))
        if kind == 0:
            w.insert_many(new)
            rows += new.tolist()
        elif kind == 1:
            size = max(len(rows), int(rng.integers(1, 900)))
            got = w.slide(new, size)
            for i, row in enumerate(new.tolist()):
                rows = [*rows, row][-size:]
                if i % 50 == 0 or i == len(new) - 1:
                    assert got[i] == hashed(rows), step
        elif kind == 2:
            for row in new.tolist()[:60]:
                w.insert(row)
                rows.append(row)
        elif kind == 3:
            k = int(rng.integers(0, len(rows) + 1))
            w.evict_many(k)
            del rows[:k]
        elif kind == 4:
            for _ in range(min(len(rows), 40)):
                w.evict()
                del rows[0]
        elif kind == 5:
            w.checkpoint(note=[step, "x"])
            w.close()
            w = algorithm.open(order, store)
            assert w.note == [step, "x"]
        if step % 8 == 0:
            w.check_invariants()
        assert len(w) == len(rows) and (w.query() or 0) == hashed(rows), step
    store.close()


@pytest.mark.parametrize(
    "aggregate", [agg.sum, agg.max, agg.mean, agg.stddev, agg.count, lambda: agg.top_k(k=3), agg.longest_increasing_run]
)
def test_aggregates_as_in_memory(aggregate):
    """Partials go through pages without a change: the same answers, to the last bit."""
    hand, mine = small(AMTA, aggregate()), AMTA(aggregate())
    for i, value in enumerate(np.random.default_rng(1).normal(size=500).tolist()):
        for w in (hand, mine):
            w.insert(None if i % 5 == 3 else value)
            if len(w) > 233:
                w.evict()
        assert hand.query() == mine.query()


@pytest.mark.parametrize(
    ("aggregate", "nulls"), [(agg.sum, False), pytest.param(agg.mean, True, marks=pytest.mark.slow)]
)  # a kernel takes seconds to compile
def test_compiled_as_by_hand(aggregate, nulls):
    values = np.random.default_rng(1).normal(size=500)
    if nulls:
        values = np.ma.masked_array(values, np.random.default_rng(2).random(500) < 0.2)
    got, w = small(AMTA, aggregate()).slide(values, 233), AMTA(aggregate())
    for answer, value in zip(got.tolist(), values.tolist(), strict=True):
        w.insert(value)
        if len(w) > 233:
            w.evict()
        assert answer == pytest.approx(w.query(), rel=1e-12, nan_ok=True)


def test_text_and_wide_ints_and_sketches():
    for make, rows in (
        (agg.concat, ["ä", "", "b"] * 60),
        (agg.max, [2**70, 3, -1] * 60),
        (agg.approx_count_distinct, list(range(180))),
        (lambda: agg.collect_list(), [1, "x", None, 2.5] * 45),
    ):
        store = stores.memory()
        w, truth = small(AMTA, make(), store), swag.Recalculate(make())
        for row in rows:
            w.insert(row)
            truth.insert(row)
        w.checkpoint()
        w = AMTA.open(make(), store)
        w.evict_many(100)
        truth.evict_many(100)
        assert str(w.query()) == str(truth.query())


# Paper 4, Table 1.


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


def text_length():
    return Aggregate(lift=lambda x: x, combine=lambda a, b: a + b, identity=0, name="length")


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
            raise AssertionError("read")

        def get(self, key):
            return None

    w = small(AMTA, text, Deaf(), buffer=256)
    w.insert_many("abcdefgh" * 60)
    w.evict_many(100)
    assert w.query() == ("abcdefgh" * 60)[100:]


# Policies and dimensions.


@pytest.mark.parametrize("where", [pytest.param("memory", marks=pytest.mark.slow), "store"])
def test_the_papers_policies(where):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 6, 250).astype(np.float64)
    times = np.cumsum(rng.choice([0, 1, 3, 40], 250))

    def window(aggregate):
        return AMTA(aggregate) if where == "memory" else small(AMTA, aggregate)

    def check(aggregate, policy, columns, keep, view, compiled=False):
        """Compiled, and by hand, against rows that are kept by definition."""
        w, hand, rows = window(aggregate), window(aggregate), []
        got = w.slide_policy(columns, policy) if compiled else None
        assert w.form.compiled == compiled
        w.check_invariants()
        for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            rows = keep([*rows, row])
            hand.insert(*row)
            hand.enforce(policy)
            assert len(hand) == len(rows)
            if i % 40 == 0:
                hand.check_invariants()
            if rows and compiled:
                assert tuple(part[i] for part in got) == view(hand.query())
        assert not compiled or len(w) == len(rows)

    count = agg.count()
    check(
        agg.join(rows=count, peak=agg.max()),
        policies.at_most(37),
        (values,),
        lambda rows: rows[-37:],
        tuple,
        where == "store",
    )
    check(
        agg.join(newest=agg.max("ts"), sum=agg.sum("x")),
        policies.within(60),
        (times, values),
        lambda rows: [row for row in rows if rows[-1][0] - row[0] < 60],
        tuple,
    )

    def add_up(rows):
        while sum(row[0] for row in rows) > 10:
            rows = rows[1:]
        return rows

    check(agg.join(sum=agg.sum(), last=agg.last()), policies.sum_at_most(10), (values,), add_up, tuple)

    def from_maximum(rows):
        return rows[max(range(len(rows)), key=lambda i: (rows[i][0], -i)) :]

    check(agg.join(peak=agg.max()), policies.from_the_maximum(), (values,), from_maximum, tuple, where == "memory")


def run_start(rows):
    best, begin, start = 0, 0, 0
    for i in range(len(rows)):
        if i and not rows[i - 1] < rows[i]:
            start = i
        if i + 1 - start > best:
            best, begin = i + 1 - start, start
    return begin, best


@pytest.mark.parametrize("where", ["memory", "store"])
def test_the_longest_run(where):
    rng, rows = random.Random(6), []
    w = AMTA(policies.longest_run()) if where == "memory" else small(AMTA, policies.longest_run())
    for _ in range(900):
        rows.append(float(rng.randrange(50)))
        w.insert(rows[-1])
        begin, best = run_start(rows)
        assert w.query() == (len(rows), begin, best)
        if rng.random() < 0.3:
            assert w.enforce(policies.from_the_longest_run()) == begin
            del rows[:begin]


def test_a_bulk_eviction_in_a_compiled_policy():
    """Every 500 rows all but a few go at once, which takes more than log n single evictions."""
    values = np.arange(3000.0)

    def policy(total, old):
        return total[0] % 500 == 0 and old[0] <= total[0] - 3

    for w in (small(AMTA, agg.join(agg.max(), agg.count())),):
        peak, count = w.slide_policy(values, policy)
        assert w.form.compiled and peak.tolist() == values.tolist()
        assert count[499] == 500
        assert count[500] == 3 and count[501] == 4 and count[2999] == 502 and len(w) == 502
        w.check_invariants()


def test_policies_that_only_python_can_run():
    w = small(AMTA, agg.join(agg.max(), agg.count()))
    seen = {}
    got = w.slide_policy(
        np.arange(50.0), lambda total, old: seen.setdefault("n", str(total)) is None or old[1] < total[1] - 4
    )
    assert got[-1] == (49.0, 5) and "n" in seen
    with pytest.raises(ZeroDivisionError):
        w.slide_policy(np.arange(9.0), lambda total, old: str(1 / 0))
    assert w.query() == (49.0, 5)


def test_dimensions_share_one_window():
    """`join`: one structure, one policy, each aggregate as it would be alone."""
    parts = [agg.max(), agg.sum(), agg.last_n(n=3), agg.count()]
    w, alone = small(AMTA, agg.join(*parts)), [small(AMTA, part) for part in parts]
    for i in range(300):
        for window in (w, *alone):
            window.insert(i % 7)
            if len(window) > 90:
                window.evict()
        assert w.query() == tuple(window.query() for window in alone)


# Names, versions, damage.


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
        (agg.top_k(k=4), AMTA, "w", "functions or options differ"),
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
    monkeypatch.setattr(mta_checkpoint, "LAYOUT", 2)
    w.checkpoint()
    monkeypatch.setattr(mta_checkpoint, "LAYOUT", 1)
    with pytest.raises(SnapshotError, match="layout version 2, this windrow reads version 1"):
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


def test_errors_leave_the_window():
    def combine(a, b):
        if "!" in a + b:
            raise ArithmeticError("no")
        return a + b

    store = stores.memory()
    w = small(AMTA, Aggregate(lift=lambda x: x, combine=combine, identity="", name="fragile"), store)
    w.insert_many("abcdefgh" * 60)
    for change in (
        lambda: w.insert("!"),
        lambda: w.insert_many("x" * 500 + "!"),
        lambda: w.enforce(lambda t, o: 1 / 0),
    ):
        with pytest.raises(ArithmeticError):
            change()
        w.check_invariants()
        assert w.query() == "abcdefgh" * 60 and w.inserted == 480
    w.insert_many("ijkl" * 90)
    w.checkpoint()
    again = AMTA.open(w.of, store)
    again.check_invariants()
    assert again.query() == "abcdefgh" * 60 + "ijkl" * 90


@both
@pytest.mark.parametrize("fatal", [1, 2, 3, 5, 8])
def test_a_cut_that_raises_leaves_the_window(algorithm, fatal):
    """Whichever of its combines it is: what was put into pages that had come for it goes back with them."""
    left = [10**9]

    def combine(a, b):
        left[0] -= 1
        if not left[0]:
            raise ArithmeticError("no")
        return a + b

    w = small(algorithm, Aggregate(lift=lambda x: x, combine=combine, identity="", name="fragile"))
    w.insert_many("abcdefghijkl" * 80)
    left[0] = fatal
    with pytest.raises(ArithmeticError):
        w.evict_many(512)  # full pairs at the head of most levels: many combines
    left[0] = 10**9
    w.check_invariants()
    w.evict()
    w.check_invariants()
    assert w.query() == ("abcdefghijkl" * 80)[1:]


@both
def test_every_cut_brings_its_pages(algorithm):
    """From windows whose levels begin on either side of a pair, to heads on either side of a page."""
    letters = "abcdefghijklmnopqrstuvwxyz" * 20
    for begin in (0, 1, 2, 3, 7):
        for k in range(1, 380, 9):
            w = small(algorithm, text)
            for letter in letters[:400]:
                w.insert(letter)
            for _ in range(begin):
                w.evict()
            w.evict_many(k)
            w.check_layers()
            for i in range(min(20, len(w))):
                assert w.query() == letters[begin + k + i : 400]
                w.evict()


def test_pages_that_a_checkpoint_needs_are_not_deleted():
    store = stores.memory()
    w, rows = small(AMTA, text, store), "abcdefgh" * 400
    w.insert_many(rows)
    w.checkpoint()
    for _ in range(2500):
        w.evict()
    w.insert_many("x" * 500)
    w.pager.flush()
    before = len(list(store.scan(*all_of("window"))))
    again = AMTA.open(text, store)
    again.check_invariants()
    assert again.query() == rows
    again.evict_many(3000)
    again.checkpoint()  # and now they are
    again.pager.flush()
    assert len(list(store.scan(*all_of("window")))) < before / 4


def test_positions_are_never_used_twice():
    """Not even by a window that was empty and changed its form: a page's key would be another page's, too."""
    w = small(AMTA, order)
    w.insert_many(np.arange(300))
    w.evict_many(300)
    end = w._marks(0)[1]
    w.insert(1)
    assert not w.form.compiled and w._marks(0)[:2] == (end, end + 1)


def test_a_step_over_compiled_columns_that_raises_leaves_the_window():
    asked = []

    def policy(total, old):
        asked.append(old)
        return len(asked) < 12 or 1 / 0

    w, rows = small(AMTA, order), np.arange(600)
    w.insert_many(rows)
    w.evict_many(333)
    assert w.form.compiled
    with pytest.raises(ZeroDivisionError):
        w.enforce(policy)
    w.check_invariants()
    for k in range(40):
        assert w.query() == hashed(rows[333 + k :].tolist())
        w.evict()


# A store that is slow, or gone.


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
