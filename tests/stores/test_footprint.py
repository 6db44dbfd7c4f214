"""A window of 2^25 rows over RocksDB, in a process that is looked at from outside."""

from __future__ import annotations

import pytest

from benchmarks import child, footprint


@pytest.mark.slow
def test_two_to_the_25_rows_in_512_megabytes():
    largest, held = 2**25, {}
    for said in child.lines(child.calling("benchmarks.footprint", "grow"), ["amta rocksdb", largest]):
        held[said["window"]] = footprint.resident(said["pid"]) / 2**20
    print(f"{held[largest]:.0f} MB")
    assert held[largest] < 512
