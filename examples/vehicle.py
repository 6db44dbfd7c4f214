"""Windows over time and over distance in one query: paper 3's vehicle (Carbone et al., Fig. 6).

A vehicle reports its time, mileage and speed. Two sliding windows run over the same rows: 10 minutes every 6 minutes
(seconds in the paper, where nothing has to drive so fast), and 10 kilometres every 5 kilometres. Both are known by the
row with which they begin, so they share their slices, and each row is combined into one slice only. That needs all rows
to be in both: `strict=True` refuses a report without a mileage, which would be in the windows over time alone.

    python examples/vehicle.py
"""

from __future__ import annotations

import numpy as np

import windrow
from windrow import agg, win


def reports() -> dict[str, np.ndarray]:
    """One report a minute for half an hour: slow, then fast, then a stop."""
    speed = np.array([12.0] * 8 + [90.0] * 12 + [0.0] * 4 + [48.0] * 6)  # km/h
    ts = np.datetime64("2024-05-01T12:00", "us") + np.arange(30) * np.timedelta64(1, "m")
    driven = np.concatenate([[0.0], np.cumsum(speed[:-1])]) / 60
    return {"ts": ts, "mileage": np.round(driven, 1), "speed": speed}


query = windrow.Query(
    time="ts",
    windows={
        "time": win.sliding("10 minutes", every="6 minutes"),
        "distance": win.sliding(10.0, every=5.0, on="mileage"),
    },
    aggregates={"reports": agg.count(), "fastest": agg.max("speed")},
    strict=True,
)


def main() -> None:
    rows = reports()
    found = query.run(rows)
    print("window        from       to  reports  fastest")
    for i, name in enumerate(found["window"]):
        if name == "time":
            edges = (str(found[edge][i])[11:16] for edge in ("start", "end"))
        else:
            edges = (f"{found[edge][i]:.0f} km" for edge in ("start_mileage", "end_mileage"))
        numbers = f"{found['reports'][i]:7}  {found['fastest'][i]:7.0f}"
        print(f"{name:<8}", *(f"{edge:>8}" for edge in edges), f" {numbers}")
    print()
    plan = query.explain(rows).splitlines()
    print(*dict.fromkeys(line.strip() for line in plan if "slicing" in line or "measured " in line), sep="\n")


if __name__ == "__main__":
    main()
