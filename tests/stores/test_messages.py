"""What stores say where something is wrong from the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow import agg, stores, swag
from windrow.errors import StoreError
from windrow.stores.rocksdb import _told


def test_an_unknown_option_in_a_redis_url() -> None:
    pytest.importorskip("redis")
    with pytest.raises(StoreError, match="has an option that is not known: colour"):
        stores.redis("redis://localhost:1/0?colour=red", patience=0)


def test_damage_is_not_taken_for_a_lock(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    store = stores.rocksdb(tmp_path / "db")
    with pytest.raises(StoreError, match="has it open"):
        stores.rocksdb(tmp_path / "db")
    window = swag.AMTA(agg.max(), store=store)
    window.insert_many(range(5000))
    window.checkpoint()
    window.close()
    store.close()
    for file in (tmp_path / "db").glob("MANIFEST*"):
        data = file.read_bytes()
        file.write_bytes(data[:20] + b"\xff" * 20 + data[40:])
    with pytest.raises(StoreError, match="a file is damaged") as caught:
        stores.rocksdb(tmp_path / "db")
    assert "has it open" not in str(caught.value)
    assert _told(Exception("Corruption: block checksum mismatch")).startswith("a file is damaged")
