"""Work in parts: the results in order, the first error, and no thread that goes on after Ctrl-C."""

from __future__ import annotations

import threading
import time

import pytest

from windrow.engine.threads import MANY_ROWS, Threads, cores, ranges, wanted


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_results_come_in_order(count: int) -> None:
    with Threads(count) as threads:
        for n in (0, 1, 2, 50):
            assert threads.map(lambda i: i * i, range(n)) == [i * i for i in range(n)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_error_is_that_of_the_first_part_that_fails(count: int) -> None:
    def work(i: int) -> int:
        if i == 3:
            time.sleep(0.05)  # another fails before it
        if i >= 3:
            raise ValueError(i)
        return i

    with Threads(count) as threads:
        for _ in range(5):
            with pytest.raises(ValueError, match="3"):
                threads.map(work, range(20))
        assert threads.map(abs, [1, -2]) == [1, 2]  # they go on


def test_after_an_interrupt_no_part_begins() -> None:
    begun: list[int] = []
    main, before = threading.main_thread(), threading.enumerate()

    def work(i: int) -> None:
        begun.append(i)
        if threading.current_thread() is main:
            raise KeyboardInterrupt
        time.sleep(0.02)

    with Threads(3) as threads, pytest.raises(KeyboardInterrupt):
        threads.map(work, range(1000))
    count = len(begun)
    assert count < 1000
    time.sleep(0.1)
    assert len(begun) == count
    assert not [t for t in threading.enumerate() if t not in before and t.is_alive()]


def test_parts_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=20)
    with Threads(2) as threads:
        threads.map(lambda i: both.wait(), range(2))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINDROW_THREADS", raising=False)
    assert wanted(3, 1) == 3
    assert wanted(None, MANY_ROWS - 1) == 1
    assert wanted(None, MANY_ROWS) == cores()
    monkeypatch.setenv("WINDROW_THREADS", "2")
    assert wanted(None, 1) == 2 and wanted(5, 1) == 5


def test_ranges() -> None:
    assert ranges(0, 3) == []
    assert ranges(7, 3) == [(0, 3), (3, 6), (6, 7)]
