"""One Spark for all tests here; with pytest-xdist they run in one worker: a second JVM would only be in the way."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks for groups
def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents and "spark" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))


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
