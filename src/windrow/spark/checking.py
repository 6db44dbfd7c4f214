"""What a session that somebody else made lacks, said in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import windrow
from windrow.errors import WindrowError, how_to_install

#: what an error of the workers means, by what it says; the first that fits
MEANINGS = (
    (
        r"No module named '?windrow",
        "Spark's workers have no windrow: install it on every node, or send a zip of the package with --py-files "
        "(over Connect: spark.addArtifacts('windrow.zip', pyfile=True))",
    ),
    (
        r"No module named '?(\w+)|(\w+) >= [\d.]+ must be installed|PACKAGE_NOT_INSTALLED.{0,20}?(\w+) >=",
        "the Python of Spark's workers has no {0}: set PYSPARK_PYTHON to one that has what windrow needs "
        f"({how_to_install('spark')})",
    ),
    (
        r"PYTHON_VERSION_MISMATCH|different version .* than that in driver",
        "Spark's workers run another Python than this one: set PYSPARK_PYTHON to the same version",
    ),
    (r"Cannot run program", "Spark's workers find no Python: set PYSPARK_PYTHON to one that is there"),
)


def check(spark: Any) -> None:
    """Runs a small job; a `WindrowError` says in one line what the session's workers lack. Nothing is changed.

    A query runs when its result is asked for, so that what is missing shows only then, in a long trace of Spark's.
    """
    try:
        found = spark.range(1).mapInArrow(_versions, "windrow string").collect()
    except Exception as error:  # of py4j's, of grpc's or of Spark's own, by where it goes wrong
        said = meaning(str(error))
        raise WindrowError(said or f"Spark's workers cannot run windrow: {_last_line(str(error))}") from error
    if found[0][0] != windrow.__version__:
        raise WindrowError(f"Spark's workers have windrow {found[0][0]}, and here is {windrow.__version__}")


#: where streams keep what they know
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def check_state_store(data: Any) -> None:
    """Streams need Spark's RocksDB state store and the package protobuf; a `WindrowError` says what is missing."""
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise WindrowError(f"a stream needs the package protobuf: {how_to_install('spark')}")
    if data.sparkSession.conf.get(PROVIDER, "") != ROCKSDB:
        raise WindrowError(f"a stream needs Spark's RocksDB state store: spark.conf.set('{PROVIDER}', '{ROCKSDB}')")


def meaning(error: str) -> str | None:
    """What an error's text means, in one line; None where it is of another kind.

    >>> meaning("ModuleNotFoundError: No module named 'pyarrow'")[:45]
    "the Python of Spark's workers has no pyarrow:"
    """
    for pattern, line in MEANINGS:
        if match := re.search(pattern, error):
            return line.format(next((group for group in match.groups() if group), ""))
    return None


def _versions(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    import windrow.local  # with all that it needs

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"windrow": [windrow.__version__]})


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and "SQLSTATE" not in line]
    return lines[-1] if lines else "no reason was given"
