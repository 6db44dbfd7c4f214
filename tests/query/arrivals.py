"""Streams for tests: cases whose rows come late within the lateness, in pushes of any size."""

from __future__ import annotations

import random

import pyarrow as pa

from tests.query.cases import Case, Table, arrow_rows, draw_case


def stream(kind: str, seed: int, **how) -> Case:
    """A case whose rows come in the order of time; the columns that windows are measured on grow with it."""
    case = draw_case(kind, 5000 + seed, in_order=True, **how)
    case.time = "ts"
    rng = random.Random(f"stream {kind} {seed}")
    rows = [row for row in case.table.rows() if row["ts"] is not None]
    far, whole = 0, 0
    for row in rows:
        far, whole = far + rng.choice([0, 1, 2, 12]), whole + rng.choice([0, 1, 1, 5])
        row["d"], row["e"] = far / 8 - 2, whole - 3
    case.table = Table.of(rows, case.table)
    return case


def shuffled(rows: list[dict], lateness: int, rng: random.Random) -> list[dict]:
    """An arrival in which no row is late, and rows of one time stay in their order."""
    arrival = sorted(rows, key=lambda row: row["ts"] + rng.randint(0, lateness))
    waiting: dict[int, list[dict]] = {}
    for row in rows:
        waiting.setdefault(row["ts"], []).append(row)
    return [waiting[row["ts"]].pop(0) for row in arrival]


def pushes(rows: list[dict], rng: random.Random, most: int = 7) -> list[list[dict]]:
    parts, at = [], 0
    while at < len(rows):
        size = rng.randint(0, most)
        parts.append(rows[at : at + size])
        at += size
    return parts


def frame(rows: list[dict], case: Case) -> pa.Table:
    return Table.of(rows, case.table).arrow()


def fed(live, parts: list[list[dict]], case: Case) -> list[dict]:
    got: list[dict] = []
    for part in parts:
        got += arrow_rows(live.push(frame(part, case)))
    return got


def lateness_of(case: Case, rng: random.Random) -> int:
    times = [row["ts"] for row in case.table.rows()] or [0]
    return rng.choice([0, 1, (max(times) - min(times)) // 5, (max(times) - min(times)) * 2])


def spelled(lateness: int) -> str:
    return f"{lateness} microseconds"
