"""The code of the documentation that asks for a Spark runs, as tests/docs does it for all other pages."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.docs.blocks import PAGES, ROOT, blocks, on_spark, run

PATH = re.compile(r'(?:parquet\(|"(?:path|checkpointLocation)", )"([\w./-]+)"')


def placed(page, folder):
    """Puts the paths in a page's code below the folder: Spark would take them from where its JVM was started."""
    names = {name for block in blocks(page) for name in PATH.findall(block.text)}
    quoted = re.compile("|".join(re.escape(f'"{name}"') for name in sorted(names, key=len, reverse=True)) or "$^")
    return lambda text: quoted.sub(lambda found: f'"{folder}/{found[0][1:]}', text)


def calls(folder):
    """The table that the pages read: calls of two days."""
    rng = np.random.default_rng(1)
    ts = np.sort(rng.integers(0, 2 * 86_400, 500)) * 10**6 + 1_714_521_600_000_000
    rows = {
        "ts": pa.array(ts, pa.timestamp("us", "UTC")),
        "region": pa.array(rng.choice(["north", "south"], 500)),
        "caller": pa.array(rng.choice(["Ann", "Bob", "Cem"], 500)),
        "len": pa.array(rng.integers(1, 60, 500)),
    }
    (folder / "calls").mkdir()
    pq.write_table(pa.table(rows), folder / "calls" / "0.parquet")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if on_spark(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_blocks(page, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    calls(tmp_path)
    before = {query.id for query in spark.streams.active}
    try:
        assert run(page, {"spark": spark}, placed(page, tmp_path)) > 1
    finally:
        for query in spark.streams.active:
            if query.id not in before:
                query.stop()
    if page.stem == "spark":
        assert spark.read.parquet(str(tmp_path / "longest")).count() > 1000
