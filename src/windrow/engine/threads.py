"""Work in parts, over several threads.

How the work is cut into parts never depends on how many threads there are, wherever that could change an answer. So the
answers are the same bits for any number of threads.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from windrow.engine.kernel import compiling, mode_now
from windrow.errors import WindrowError

#: names the number of threads where a query does not
VARIABLE = "WINDROW_THREADS"
#: tables of fewer rows run in one thread: the threads would take longer to start than to work
MANY_ROWS = 1 << 19

Part = TypeVar("Part")
Done = TypeVar("Done")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked(threads: Any, what: str = "threads") -> int:
    """A number of threads that was given, as an int."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise WindrowError(f"{what} is a whole number of at least 1, not {threads!r}")
    return threads


def wanted(threads: int | None, rows: int) -> int:
    """The threads for a table: those asked for, else those of WINDROW_THREADS, else all cores where it is large."""
    if threads is not None:
        return threads
    named = os.environ.get(VARIABLE)
    if named:
        return checked(int(named) if named.isdecimal() else named, VARIABLE)
    return cores() if rows >= MANY_ROWS else 1


class Threads:
    """Some threads, for the time of one run; the caller's own is one of them. `close` ends the others."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[Part], Done], parts: Sequence[Part]) -> list[Done]:
        """`work` on each part. Where some fail, the error is that of the first of them, whichever failed first.

        Parts begin in order: when one fails, those before it have begun and come to their end, those after it need not.
        """
        if self.count == 1 or len(parts) < 2:
            return [work(part) for part in parts]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.count - 1, "windrow")
        mode = mode_now()
        run = _Run(lambda part: compiling(mode, work, part), parts)
        futures = [self._pool.submit(run) for _ in range(min(self.count, len(parts)) - 1)]
        try:
            run()
        finally:  # after Ctrl-C, too: the arrays are in use until the parts that run are done
            run.stopped = True
            wait(futures)
        if run.errors:
            raise run.errors[min(run.errors)]
        return run.done

    def close(self) -> None:
        """Ends the threads, when the parts that run are done."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class _Run:
    """What the threads share: each takes the next part until there is none, or one has failed."""

    def __init__(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> None:
        self.work, self.parts = work, parts
        self.done: list[Any] = [None] * len(parts)
        self.errors: dict[int, Exception] = {}
        self.stopped = False
        self._next = itertools.count()  # one step of it is one step of the interpreter: no two threads get one number

    def __call__(self) -> None:
        while not self.stopped:
            i = next(self._next)
            if i >= len(self.parts):
                return
            try:
                self.done[i] = self.work(self.parts[i])
            except Exception as error:
                self.errors[i] = error
                self.stopped = True


#: no threads but the caller's own
ONE = Threads()


def ranges(n: int, size: int) -> list[tuple[int, int]]:
    """0 to n in stretches of `size`; the last may be shorter.

    >>> ranges(5, 2), ranges(0, 2)
    ([(0, 2), (2, 4), (4, 5)], [])
    """
    return [(a, min(n, a + size)) for a in range(0, n, size)]
