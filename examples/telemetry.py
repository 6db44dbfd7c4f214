"""Sessions of devices: when each was on, for how long, and how hot it became.

Devices send a reading every so often while they are on, and nothing while they are off. A session ends when nothing
came for ten minutes. Readings come in batches, as from a queue; some come late, by five minutes at most. Each session
is sent once, when no reading can belong to it any more.

    python examples/telemetry.py
"""

from __future__ import annotations

import numpy as np

import windrow
from windrow import agg, win

MINUTE = np.timedelta64(1, "m")


def readings() -> dict[str, np.ndarray]:
    """Three devices for half a day, each on now and then, in the order in which their readings arrive."""
    rng = np.random.default_rng(7)
    devices, times, warmth = [], [], []
    for device, pauses in (("pump", 90), ("fan", 150), ("press", 200)):
        minute = int(rng.integers(0, 60))
        while minute < 720:
            for since in range(0, int(rng.integers(20, 80)), 2):
                devices.append(device)
                times.append(minute + since)
                warmth.append(20.0 + round(30 * (1 - 0.95**since), 1))
            minute = times[-1] + pauses
    arrival = np.argsort(np.array(times) + rng.integers(0, 5, len(times)), kind="stable")  # up to 4 minutes late
    at = np.datetime64("2024-05-01T06:00", "us") + np.array(times) * MINUTE
    return {"device": np.array(devices)[arrival], "at": at[arrival], "celsius": np.array(warmth)[arrival]}


query = windrow.Query(
    time="at",
    by="device",
    windows=win.session("10 minutes"),
    aggregates={"readings": agg.count(), "hottest": agg.max("celsius")},
    lateness="5 minutes",
)


def main() -> None:
    rows = readings()
    live = query.open()
    print("sent after  device  from   to     readings  hottest")
    for begin in range(0, len(rows["at"]), 40):
        show(live.push({name: column[begin : begin + 40] for name, column in rows.items()}), f"{begin + 40:,} rows")
    show(live.close(), "the end")
    print(f"{live.report.rows_in} readings, {live.report.late} too late, {live.report.rows_out} sessions")


def show(sessions: dict[str, np.ndarray], when: str) -> None:
    columns = (sessions[name] for name in ("device", "start", "end", "readings", "hottest"))
    for device, start, end, count, hottest in zip(*columns, strict=True):
        last = end - 10 * MINUTE  # a session ends ten minutes after its last reading
        print(f"{when:<11} {device:<7} {str(start)[11:16]}  {str(last)[11:16]}  {count:8}  {hottest:7.1f}")


if __name__ == "__main__":
    main()
