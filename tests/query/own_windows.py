"""Windows of a user's own, for the tests: plain dataclasses with `discretize(row) -> (begins, ends)`."""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE = 60_000_000


@dataclass
class Stock:
    """Paper 3, Fig. 1: 10 minutes every 5; 5 minutes every 2 where the price is at most $10."""

    started: bool = False
    next: int = 0
    ends: list[int] = field(default_factory=list)

    def discretize(self, row):
        over = 0
        while len(self.ends) > 0 and self.ends[0] <= row.ts:
            self.ends.pop(0)
            over += 1
        begins = 0
        if not self.started or row.ts >= self.next:
            low = row.price is not None and row.price <= 10.0
            self.started = True
            self.next = row.ts + (2 * MINUTE if low else 5 * MINUTE)
            self.ends.append(row.ts + (5 * MINUTE if low else 10 * MINUTE))
            begins = 1
        return begins, over


@dataclass
class Counted:
    """Paper 3, §3.2: windows of `range` rows, one every `slide` rows."""

    range: int = 4
    slide: int = 2
    k: int = 0

    def discretize(self, row):
        begins = 1 if self.k % self.slide == 0 else 0
        ends = 1 if self.k >= self.range and (self.k - self.range) % self.slide == 0 else 0
        self.k += 1
        return begins, ends


@dataclass
class Bursts:
    """Two windows begin where the flag is up; all end where it goes down. It keeps text, so it is not compiled."""

    open: int = 0
    seen: str = ""

    def discretize(self, row):
        up = row["flag"] is not None and bool(row["flag"])
        before, self.seen = self.seen, "up" if up else "down"
        if up and before != "up":
            self.open += 2
            return 2, 0
        if not up:
            ends, self.open = self.open, 0
            return 0, ends
        return 0, 0
