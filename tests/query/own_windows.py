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


# Windows that event time ends, too.


@dataclass
class Quiet:
    """A session: ends when nothing has come for `gap`. Nothing is left of it then, so that its key can be forgotten."""

    gap: int = 5
    last: int | None = None

    def discretize(self, row):
        begins = int(self.last is None)
        self.last = row.ts
        return begins, 0

    def ends_at(self):
        if self.last is None:
            return None
        return self.last + self.gap

    def ended(self, time):
        self.last = None


@dataclass
class Spells:
    """A window for each row with a price above 10, two above 11, for `size`; all end with a row whose flag is up."""

    size: int = 10
    ends: list[int] = field(default_factory=list)

    def discretize(self, row):
        over = 0
        if row.flag is not None and row.flag:
            over = len(self.ends)
            while len(self.ends) > 0:
                self.ends.pop()
        if row.price is None or row.price <= 10.0:
            return 0, over
        begins = 2 if row.price > 11.0 else 1
        for _ in range(begins):
            self.ends.append(row.ts + self.size)
        return begins, over

    def ends_at(self):
        if len(self.ends) == 0:
            return None
        return self.ends[0]

    def ended(self, time):
        if self.ends.pop(0) != time:
            raise ValueError("another time than it said")


# Windows that are not deterministic: the oldest rows leave.


@dataclass
class LastRows:
    """Paper 3 §3.2: every so often the last n rows."""

    n: int = 3
    every: int = 10
    rows: int = 0
    end: int | None = None

    def discretize(self, row):
        if self.end is not None:
            return 0, 0
        self.end = (row.ts // self.every + 1) * self.every
        return 1, 0

    def evict(self, row):
        if self.rows == self.n:
            return 1
        self.rows += 1
        return 0

    def ends_at(self):
        return self.end

    def ended(self, time):
        self.end = None


@dataclass
class Marked:
    """From each row whose flag is up, at most the newest `most` rows, until the next such row, which is alone at first.

    Without a flag nothing leaves but what is too much. It keeps text, so it is not compiled.
    """

    most: int = 4
    held: int = 0
    open: int = 0
    seen: str = ""

    def discretize(self, row):
        up = row.flag is not None and bool(row.flag)
        self.seen = "up" if up else ""
        if not up:
            return 0, 0
        ends, self.open = self.open, 2
        return 2, ends

    def evict(self, row):
        if self.seen == "up":
            leaves, self.held = self.held, 1
            return leaves
        leaves = max(0, self.held + 1 - self.most)
        self.held += 1 - leaves
        return leaves
