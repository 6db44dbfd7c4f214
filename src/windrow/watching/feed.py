"""Numbers as they change: read a few times a second, whoever looks, and sent to all who do."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

#: between two looks, and over how long rates are taken
EVERY, OVER = 0.25, 3.0
#: looks that the line of rates shows
SHOWN = 120
#: after so long without news a sign of life is sent, so that a client that has gone is noticed
QUIET = 5.0


class Feed:
    """Reads numbers in a thread of its own, and sends them to clients as server-sent events.

    `read()` gives what is to be sent, as plain values. It is called by one thread.
    """

    def __init__(self, read: Callable[[], dict[str, Any]]) -> None:
        self._read = read
        self._news = threading.Condition()
        self._event, self._number, self.closed = b"", 0, False
        self._thread = threading.Thread(target=self._look, name="windrow-feed", daemon=True)
        self._thread.start()

    def _look(self) -> None:
        last = None
        while not self.closed:
            read = self._read()
            if read != last:
                last = read
                body = json.dumps(read).encode()
                with self._news:
                    self._number += 1
                    self._event = b"id: %d\ndata: %s\n\n" % (self._number, body)
                    self._news.notify_all()
            with self._news:
                self._news.wait_for(lambda: self.closed, EVERY)

    def events(self) -> Iterator[bytes]:
        """The newest event at once, then each that follows; those that a slow client misses are left out."""
        yield b"retry: 1000\n\n"
        sent = 0
        while not self.closed:
            with self._news:
                self._news.wait_for(lambda: self.closed or self._number > sent, QUIET)  # noqa: B023 - at once
                number, event = self._number, self._event
            yield event if number > sent else b": still here\n\n"
            sent = number

    def close(self) -> None:
        """Ends all streams of events."""
        with self._news:
            self.closed = True
            self._news.notify_all()
        self._thread.join()


class Rates:
    """How much counters have grown per second, lately."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self._seen: deque[tuple[float, tuple[int, ...]]] = deque()
        self.history: dict[str, deque[float]] = {name: deque(maxlen=SHOWN) for name in names}

    def add(self, counts: dict[str, int], now: float | None = None) -> dict[str, float]:
        """The rates, with these counts as the newest."""
        now = time.monotonic() if now is None else now
        self._seen.append((now, tuple(counts[name] for name in self.names)))
        while len(self._seen) > 2 and now - self._seen[1][0] >= OVER:
            self._seen.popleft()
        (before, old), (_, new) = self._seen[0], self._seen[-1]
        passed = max(now - before, 1e-9)
        rates = {
            name: (b - a) / passed if len(self._seen) > 1 else 0.0
            for name, a, b in zip(self.names, old, new, strict=True)
        }
        for name, rate in rates.items():
            self.history[name].append(rate)
        return rates
