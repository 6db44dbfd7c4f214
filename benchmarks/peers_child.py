"""What `peers` runs in a process of its own: rates, the check of answers, the history test. Prints JSON lines."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.base import Row
from benchmarks.peer_calls import Prepare, libraries
from benchmarks.timing import Setup, interleaved

POISONS = {"one 1e300": [1e300], "two 1.7e308": [1.7e308] * 2, "one inf": [math.inf], "one nan": [math.nan]}


def main(given: Mapping[str, Any]) -> None:
    """Each line is a list of rows."""
    warnings.simplefilter("ignore")
    x = np.random.default_rng(given["seed"]).standard_normal(given["rows"])
    known = libraries()
    for aggregate in given["aggregates"]:
        for window in given["windows"]:
            say(race(known, aggregate, x, window, given))
    say(history(known, given["history"]))
    for aggregate in given["aggregates"]:
        say(growth(known["windrow"], aggregate, x, given))


def say(rows: list[Row]) -> None:
    print(json.dumps(rows), flush=True)


def race(
    known: dict[str, dict[str, Prepare]], aggregate: str, x: np.ndarray, window: int, given: Mapping[str, Any]
) -> list[Row]:
    """All libraries that have this aggregate, on as many rows as the patience allows each."""
    rows: list[Row] = []
    runs: dict[str, Setup] = {}
    counts: dict[str, int] = {}
    sample = x[: min(len(x), max(2 * window, 1000))]
    if window > len(sample):
        return rows
    ours = floats(known["windrow"][aggregate](sample)(window))
    for name, calls in known.items():
        if aggregate not in calls:
            continue
        head = {"library": name, "aggregate": aggregate, "window": window}
        count = len(x) if name == "windrow" else affordable(calls[aggregate], x, window, given["seconds"])
        if count is None:
            continue
        if name != "windrow":
            part = sample[:count]
            agrees, why = alike(floats(calls[aggregate](part)(window)), ours[: len(part)])
            rows.append({"kind": "check", **head, "agrees": agrees, "why": why})
        ask = calls[aggregate](x[:count])
        runs[name] = lambda ask=ask: lambda: ask(window)  # type: ignore[misc]
        counts[name] = count
    x.copy()
    runs["copy"], counts["copy"] = (lambda: x.copy), len(x)  # the limit: the column read and written, nothing computed
    for name, repetition, seconds in interleaved(runs, given["repetitions"]):
        head = {
            "library": name,
            "aggregate": aggregate,
            "window": window,
            "repetition": repetition,
            "rows": counts[name],
        }
        kind = "copy" if name == "copy" else "rate"
        rows.append({"kind": kind, **head, "seconds": seconds, "mrows": counts[name] / seconds / 1e6})
    return rows


def affordable(prepare: Prepare, x: np.ndarray, window: int, seconds: float) -> int | None:
    """How many rows end within the time; None where two windows take five times that.

    Tried at a small window, and at a quarter of it: what takes all of the window for each row would not end at the
    large one, so its cost there is foreseen from how it grows. Tried on more and more rows until a run takes a tenth
    of the time: what a call costs whatever its rows is not a cost of each row.
    """
    rows = min(len(x), 10_000)
    small = min(window, 1000, rows)

    def taken(ask: Callable[[int], Any], w: int) -> float:
        start = time.perf_counter()
        ask(w)
        return time.perf_counter() - start

    ask = prepare(x[:rows])
    taken(ask, small)  # compiles where there is something to compile
    passed = taken(ask, small)
    while passed < seconds / 10 and rows < len(x):
        rows = min(len(x), 8 * rows)
        ask = prepare(x[:rows])
        passed = taken(ask, small)
    cost = passed / rows
    if window > small >= 4:
        growth = passed / taken(ask, small // 4)
        cost *= (window / small) ** (math.log(growth, 4) if growth > 1.5 else 0.0)
    least = min(len(x), 2 * window)
    count = min(len(x), int(seconds / cost))
    if count >= least:
        return count
    return least if least * cost <= 5 * seconds else None


def floats(answers: Any) -> np.ndarray:
    """Answers of any library as float64, a null as NaN."""
    if isinstance(answers, np.ma.MaskedArray):
        return np.ma.filled(answers.astype(np.float64), np.nan)
    return np.asarray(answers, np.float64)


def alike(theirs: np.ndarray, ours: np.ndarray) -> tuple[bool, str]:
    """Whether both say the same; a null of ours is NaN, as it is in pandas."""
    ours, theirs = ours[: len(theirs)], theirs[: len(ours)]
    scale = float(np.nanmax(np.abs(ours))) if len(ours) else 0.0
    differ = ~((np.abs(theirs - ours) <= 1e-6 * max(scale, 1.0)) | (np.isnan(theirs) & np.isnan(ours)))
    if not differ.any():
        return True, ""
    i = int(differ.argmax())
    return False, f"row {i}: {theirs[i]} for {ours[i]}; {int(differ.sum())} of {len(ours)} rows"


def history(
    known: dict[str, dict[str, Prepare]], aggregates: list[str], window: int = 10, rows: int = 200
) -> list[Row]:
    """A poison enters and leaves; later windows must be what an exact sum of them alone gives."""
    clean = np.random.default_rng(7).standard_normal(rows)
    found: list[Row] = []
    for library, calls in known.items():
        for aggregate in aggregates:
            if aggregate not in calls:
                continue
            for poison, values in POISONS.items():
                given = np.concatenate([values, clean])
                row = {"kind": "history", "library": library, "aggregate": aggregate, "poison": poison}
                try:
                    answers = floats(calls[aggregate](given)(window))
                    passed = all(
                        right(aggregate, clean[i - window + 1 : i + 1].tolist(), float(answers[len(values) + i]))
                        for i in range(window - 1, rows)
                    )
                    found.append({**row, "passed": passed, "why": ""})
                except Exception as error:  # an error about rows that have gone is a failure as well
                    found.append({**row, "passed": False, "why": f"{type(error).__name__}: {error}"[:120]})
    return found


def right(aggregate: str, values: list[float], answer: float) -> bool:
    """Within n·ε·Σ|x| of the exact sum (and what follows from that for mean and stddev)."""
    n, size = len(values), math.fsum(map(abs, values))
    tolerance = float(n * np.finfo(float).eps * size)
    total = math.fsum(values)
    if aggregate == "sum":
        return abs(answer - total) <= tolerance
    if aggregate == "mean":
        return abs(answer - total / n) <= tolerance
    variance = math.fsum((x - total / n) ** 2 for x in values) / (n - 1)
    return abs(answer - math.sqrt(variance)) <= 1e-9 * max(1.0, math.sqrt(variance))


def growth(calls: dict[str, Prepare], aggregate: str, x: np.ndarray, given: Mapping[str, Any]) -> list[Row]:
    """Our cost a row at a small and at a large window."""
    ask: Callable[[int], Any] = calls[aggregate](x)
    windows = [w for w in given["growth"] if w <= len(x)]
    for window in windows:
        ask(window)
    runs: dict[str, Setup] = {str(w): (lambda w=w: lambda: ask(w)) for w in windows}  # type: ignore[misc]
    return [
        {
            "kind": "growth",
            "library": "windrow",
            "aggregate": aggregate,
            "window": int(w),
            "repetition": r,
            "ns_a_row": s / len(x) * 1e9,
        }
        for w, r, s in interleaved(runs, given["repetitions"])
    ]
