"""A window that follows the price: paper 3's dynamic stock window (Carbone et al., Fig. 1).

A trader wants the volume-weighted average price of the last 10 minutes, every 5 minutes. While the price is at most
$10, of the last 5 minutes, every 2 minutes. No periodic window can say that; a class can, in a few lines: for each
trade it tells how many windows begin with it and how many of the oldest open ones end before it.

    python examples/stock.py
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import windrow
from windrow import win

MINUTE = 60_000_000  # microseconds, as times come to `discretize`
LOW = 10.0


@dataclass
class FollowsThePrice:
    """10 minutes every 5; 5 minutes every 2 while the price is low. The attributes are the state that is saved."""

    next: int = -(2**62)
    ends: list[int] = field(default_factory=list)

    def discretize(self, row):
        over = 0
        while len(self.ends) > 0 and self.ends[0] <= row.ts:
            self.ends.pop(0)
            over += 1
        if row.ts < self.next:
            return 0, over
        every, length = (2, 5) if row.price <= LOW else (5, 10)
        self.next = row.ts + every * MINUTE
        # windows end in the order in which they began: a short one waits for a long one before it
        last = self.ends[-1] if len(self.ends) > 0 else row.ts
        self.ends.append(max(row.ts + length * MINUTE, last))
        return 1, over


vwap = windrow.Aggregate(
    lift=lambda price, volume: (price * volume, volume),
    combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
    lower=lambda sums: sums[0] / sums[1],
    identity=(0.0, 0.0),
)


def trades() -> dict[str, np.ndarray]:
    """A trade a minute: the price falls below $10 in minute 25, and is above it again from minute 34 on."""
    minutes = np.arange(50)
    rng = np.random.default_rng(3)
    price = np.where((minutes >= 25) & (minutes < 34), 9.5, 11.0) + rng.integers(-4, 5, 50) / 10
    ts = np.datetime64("2024-05-01T09:30", "us") + minutes * np.timedelta64(1, "m")
    return {"ts": ts, "price": price, "volume": rng.integers(1, 9, 50) * 100.0}


query = windrow.Query(
    time="ts", windows=win.user_defined(FollowsThePrice), aggregates={"vwap": vwap("price", "volume")}
)


def main() -> None:
    found = query.run(trades())
    print("from   to     average price")
    for start, end, price in zip(found["start"], found["end"], found["vwap"], strict=True):
        print(f"{str(start)[11:16]}  {str(end)[11:16]}  {price:.2f}")


if __name__ == "__main__":
    main()
