"""One Spark for all tests here."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(items):
    """All tests here are marked `spark`, except for those that need none."""
    for item in items:
        if HERE in item.path.parents and item.path.stem not in ("test_passes", "test_buckets", "test_chunks"):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    import windrow.spark

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = windrow.spark.session(
            "local[2]", spark__sql__shuffle__partitions=3, spark__sql__warehouse__dir=tmp_path_factory.mktemp("spark")
        )
    yield session
    session.stop()
