"""Queries and files with random damage: whatever it is, the command ends with one line, and no half of a result."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import CALLS, QUERY

WORDS = ["=", "[", "]", "{", "}", '"', "'", "\n", ".", ",", "0", "-1", "9e99", "true", "window", "windows", "max", "()"]
WORDS += [
    "range",
    "every",
    "lateness",
    "nan",
    "1979-05-27",
    "#",
    "\\u0000",
    "é",
    "kind",
    '"landmark"',
    '"policy"',
    "1 day",
]


def damaged(rng: random.Random, text: str) -> str:
    """Some pieces of the text go, come twice, or become something else."""
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(text) + 1), rng.choice([0, 1, 1, 3, 12])
        text = text[:at] + rng.choice(["", rng.choice(WORDS), text[at : at + size] * 2]) + text[at + size :]
    return text


def ended(code: int, err: str, allowed: tuple[int, ...]) -> None:
    assert code in allowed, err
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("rejected: "))
    assert err.count("\n") == (code != 0), err
    assert not code or err.startswith("windrow: "), err


@pytest.mark.parametrize("seed", range(10))
def test_damaged_queries(said, place, seed):
    rng = random.Random(seed)
    for _ in range(15):
        Path("query.toml").write_text(damaged(rng, QUERY))
        code, _, err = said("explain", "query.toml")
        ended(code, err, (0, 2))


@pytest.mark.parametrize("seed", range(6))
def test_damaged_files(said, place, seed):
    rng = random.Random(seed)
    ms = pa.array(range(0, 4000, 1000), pa.timestamp("ms"))
    pq.write_table(
        pa.table({"ts": ms, "region": list("abab"), "caller": list("uvwx"), "len": [1, 2, 3, 4]}), "good.parquet"
    )
    whole = Path("good.parquet").read_bytes()
    rows = [f'{{"ts": "2024-05-01 06:{i}0", "region": "n", "caller": "c{i}", "len": {i}}}\n' for i in range(5)]
    for name in ("a.csv", "a.jsonl", "a.parquet"):
        if name == "a.parquet":
            damage = bytearray(whole)
            for _ in range(rng.randint(1, 20)):
                damage[rng.randrange(len(damage))] = rng.randrange(256)
            Path(name).write_bytes(damage)
        else:
            Path(name).write_text(damaged(rng, CALLS if name == "a.csv" else "".join(rows)))
        for stream in ((), ("--stream",)):
            code, _, err = said("run", "query.toml", "-i", name, "-o", "out", *stream)
            ended(code, err, (0, 1, 2))
            assert Path("out").exists() == (code == 0)
            shutil.rmtree("out", ignore_errors=True)
        assert {entry.name for entry in place.iterdir()} <= {
            "query.toml", "calls.csv", "good.parquet", "a.csv", "a.jsonl", "a.parquet",
        }  # fmt: skip
