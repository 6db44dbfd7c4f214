"""The longest increasing run, with a policy that drops what can never matter again: paper 4 §5.6 (Villalba et al.).

A server reports its memory usage. Over the last 4,096 readings, how long is the longest run of readings that only
rise? What lies before that run is older than it, so it would leave the window first, and can never be part of an
answer. The policy drops it at once: the window becomes much smaller, and the answers stay the same.

    python examples/rising.py
"""

from __future__ import annotations

import numpy as np

import windrow
from windrow import agg, win
from windrow.swag.policies import longest_run

SIZE = 4_096


def useless(total, old) -> bool:
    """Whether the oldest part goes: it is beyond the size, or wholly before the longest run.

    `run` is (rows, rows before the longest run, its length).
    """
    return total.run[0] - old.run[0] >= SIZE or old.run[0] <= total.run[1]


def readings(count: int = 20_000) -> dict[str, np.ndarray]:
    """Memory usage in MB: it rises more often than it falls, and is freed now and then."""
    rng = np.random.default_rng(4)
    steps = rng.choice([-1.0, 1.0, 2.0], count, p=[0.3, 0.5, 0.2])
    steps[rng.random(count) < 0.001] = -500.0
    return {"mb": 8_000.0 + np.cumsum(steps)}


query = windrow.Query(
    windows=win.policy(useless, over={"run": longest_run()("mb")}),
    aggregates={"longest": agg.longest_increasing_run("mb"), "kept": agg.count()},
)


def main() -> None:
    rows = readings()
    found = query.run(rows)
    count = len(rows["mb"])
    print(f"{count:,} readings, the longest run of the last {SIZE:,}")
    print("row     longest  rows kept  without the policy")
    for row in range(1_999, count, 3_000):
        print(f"{row + 1:<6,}  {found['longest'][row]:7}  {found['kept'][row]:9,}  {min(row + 1, SIZE):18,}")
    whole = np.minimum(np.arange(count) + 1, SIZE).mean()
    print(f"rows kept on average: {found['kept'].mean():,.0f} of {whole:,.0f}")


if __name__ == "__main__":
    main()
