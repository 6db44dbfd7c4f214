"""A table as a stream: its rows come again, in event time, out of order and twice where that is asked for.

    times ── a seeded delay for each row ──> arrival order ── a range of it, by the clock or by count ──> one trigger

The arrival order is a fixed permutation of the table, given the seed, and an offset is a place in it: the same offsets
are the same rows, in this run and after any restart. The driver's side knows the order, and tells each task which rows
of which row groups to read; tasks sort nothing and open no other files.

Options of `.readStream.format("windrow_replay")`, once the source is registered, are those of `replay`, as text:
`path` (or `.load(path)`), `time`, `speed` ("none": as fast as triggers go), `rows_per_trigger`, `disorder`,
`duplicates`, `seed`.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from windrow.errors import WindrowError
from windrow.windows.durations import micros

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
except ImportError:
    raise WindrowError("windrow.spark.replay needs Spark 4.2 or newer") from None

FORMAT = "windrow_replay"
#: of a task; the numbers of its rows travel with it
ROWS_A_TASK = 65_536
#: options that may be None
OPEN = ("speed", "rows_per_trigger")
#: where rows without a time are in the order of arrival
FIRST = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Options:
    """What is replayed, and how. Checked when it is made; the table is looked at by `Table`."""

    path: str
    time: str
    speed: float | None = 60.0
    rows_per_trigger: int | None = None
    disorder: int = 0  # microseconds
    duplicates: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kinds in (
            ("speed", (int, float)),
            ("rows_per_trigger", int),
            ("duplicates", (int, float)),
            ("seed", int),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, kinds) or (value is None and name in OPEN)):
                raise WindrowError(f"replay: {name} is a number, not {value!r}")
        if self.speed is not None and not (math.isfinite(self.speed) and self.speed > 0):
            raise WindrowError(f"replay: speed is event seconds a second, above 0, or None, not {self.speed!r}")
        if self.rows_per_trigger is not None and self.rows_per_trigger < 1:
            raise WindrowError(f"replay: rows_per_trigger is 1 or more, or None, not {self.rows_per_trigger!r}")
        if self.disorder < 0:
            raise WindrowError("replay: disorder is a duration of 0 or more")
        if not 0 <= self.duplicates <= 1:
            raise WindrowError(f"replay: duplicates is a share from 0 to 1, not {self.duplicates!r}")

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Options:
        """From Spark's options, which are texts."""
        for name in ("path", "time"):
            if not given.get(name):
                raise WindrowError(f"replay: option {name!r} is missing")
        return cls(
            path=given["path"],
            time=given["time"],
            speed=_read("speed", given.get("speed", "60"), float),
            rows_per_trigger=_read("rows_per_trigger", given.get("rows_per_trigger", "none"), int),
            disorder=micros(given.get("disorder", "10 minutes")),
            duplicates=_read("duplicates", given.get("duplicates", "0.01"), float) or 0.0,
            seed=_read("seed", given.get("seed", "0"), int) or 0,
        )

    def texts(self) -> dict[str, str]:
        """As Spark's options; `of` reads them back."""
        found = {
            "path": self.path,
            "time": self.time,
            "speed": str(self.speed).lower(),
            "rows_per_trigger": str(self.rows_per_trigger).lower(),
            "disorder": f"{self.disorder} microseconds",
            "duplicates": str(self.duplicates),
        }
        return {**found, "seed": str(self.seed)}


def replay(
    spark: Any,
    path: Any,
    time: str,
    *,
    speed: float | None = 60.0,
    rows_per_trigger: int | None = None,
    disorder: Any = "10 minutes",
    duplicates: float = 0.01,
    seed: int = 0,
) -> Any:
    """A streaming DataFrame of a Parquet file, or of a folder of them, whose rows arrive in event time.

    The stream goes on when all rows were sent: it waits, as any stream does. With `trigger(availableNow=True)` it sends
    all of them, whatever `speed` is, and ends. A restart from a checkpoint goes on with the row after the last one;
    `speed` and `rows_per_trigger` may then be others, the table and the other options may not.

    Args:
        spark: a session; the source is registered there as the format `windrow_replay`.
        path: of the Parquet file, or of a folder of them (not of folders), as the driver and the workers see it.
        time: the column of event times, timestamps or dates. Rows that have none arrive first, all at once.
        speed: event seconds in a second of the clock; 60 replays an hour in a minute. None: as fast as triggers go.
        rows_per_trigger: the most rows of a trigger. With `speed=None` every trigger but the last has just so many,
            so that two runs are the same trigger for trigger; without either, all rows are in the first trigger.
        disorder: each row arrives up to that much event time after its own, by a random delay. A row is never
            further behind the newest one before it, so a stream with such a `lateness` has no late rows.
        duplicates: about this share of the rows arrives twice, the second time with a delay of its own.
        seed: of the delays, and of which rows come twice.
    """
    if not isinstance(path, (str, Path)):
        raise WindrowError(f"replay reads Parquet files: path is a text, not a {type(path).__name__}; write it first")
    options = Options(
        str(path), time, speed, rows_per_trigger, micros("0 s" if disorder is None else disorder), duplicates, seed
    )
    if "connect" not in type(spark).__module__:  # over Connect, files are where the server is, which says the same
        Table(options).check()
    spark.dataSource.register(Replay)
    return spark.readStream.format(FORMAT).options(**options.texts()).load()


class Replay(DataSource):
    """The format `windrow_replay`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> Any:
        table = Table(Options.of(self.options))
        table.check()
        return from_arrow_schema(pa.schema([field.with_nullable(True) for field in table.schema.remove_metadata()]))

    def streamReader(self, schema: Any) -> Reader:
        return Reader(Options.of(self.options), to_arrow_schema(schema, timezone="UTC"))


@dataclass
class Piece:
    """Rows of one row group: their places in it, in order, and where each goes in the task's rows."""

    file: str
    group: int
    rows: np.ndarray
    places: np.ndarray


@dataclass
class Task(InputPartition):
    """Rows that one task reads, which are next to each other in the order of arrival."""

    pieces: list[Piece]


class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are places in the order of arrival, with a fingerprint of what the order was made from."""

    def __init__(self, options: Options, schema: pa.Schema, clock: Callable[[], float] = time.monotonic) -> None:
        self.options, self.schema, self.clock = options, schema, clock
        self.everything = False  # is there, whatever the clock says
        self.since: tuple[float, int] | None = None  # what the clock said when event time was there

    @cached_property
    def arrivals(self) -> Arrivals:
        return Table(self.options).arrivals()

    def initialOffset(self) -> dict:
        return self._offset(0)

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self.options.rows_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict, limit: ReadLimit) -> dict:
        begin = self._place(start)
        end = self._due(begin)
        if isinstance(limit, ReadMaxRows):
            end = min(end, begin + limit.max_rows)
        return self._offset(max(begin, end))

    def prepareForTriggerAvailableNow(self) -> None:
        self.everything = True

    def partitions(self, start: dict, end: dict) -> Sequence[Task]:
        begin, stop = self._place(start), self._place(end)
        tasks = max(1, -(-(stop - begin) // ROWS_A_TASK))
        cuts = np.linspace(begin, stop, tasks + 1).astype(np.int64).tolist()
        return [Task(self.arrivals.pieces(low, high)) for low, high in pairwise(cuts) if low < high]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        tables = []
        for piece in partition.pieces:
            group = ds.ParquetFileFormat().make_fragment(piece.file, LocalFileSystem(), row_groups=[piece.group])
            found = group.to_table(columns=self.schema.names).take(pa.array(piece.rows))
            # Spark's times are microseconds: only there may something be lost
            columns = [
                c.cast(f.type, safe=not pa.types.is_timestamp(f.type)) for c, f in zip(found, self.schema, strict=True)
            ]
            tables.append(pa.Table.from_arrays(columns, schema=self.schema))
        order = np.argsort(np.concatenate([piece.places for piece in partition.pieces]), kind="stable")
        # one batch: parts of it would be copied with the whole of their buffers
        yield from pa.concat_tables(tables).take(order).combine_chunks().to_batches()

    def _due(self, begin: int) -> int:
        """Up to where rows have arrived. The clock starts where the stream does, also after a restart."""
        arrivals = self.arrivals
        if self.everything or self.options.speed is None or begin >= arrivals.count:
            return arrivals.count
        if self.since is None:
            begin = max(begin, arrivals.untimed)  # rows without a time are before any clock
            if begin == arrivals.count:
                return begin
            self.since = self.clock(), int(arrivals.when[begin])
        began, event = self.since
        passed = (self.clock() - began) * self.options.speed * 1e6
        now = min(event + int(passed), int(arrivals.when[-1]))
        return int(np.searchsorted(arrivals.when, now, side="right"))

    def _offset(self, row: int) -> dict:
        return {"row": row, "of": self.arrivals.fingerprint}

    def _place(self, offset: dict) -> int:
        if offset.get("of") != self.arrivals.fingerprint:
            raise WindrowError(
                "replay: the checkpoint is of another table, or of other values of time, disorder, duplicates or seed: "
                "its offsets are other rows here. Start with a new checkpoint"
            )
        return offset["row"]


@dataclass
class Arrivals:
    """The order in which rows arrive: `rows` by number, each at its time `when`, the first `untimed` without one."""

    rows: np.ndarray
    when: np.ndarray
    groups: list[tuple[str, int]]
    begins: np.ndarray  # the number of each group's first row, and of all rows
    fingerprint: str

    @property
    def count(self) -> int:
        return len(self.rows)

    @cached_property
    def untimed(self) -> int:
        return int(np.searchsorted(self.when, FIRST, side="right"))

    def pieces(self, low: int, high: int) -> list[Piece]:
        """Where the rows of a range are, one piece for each row group."""
        rows = self.rows[low:high]
        places = np.argsort(rows, kind="stable")
        rows = rows[places]
        at = np.searchsorted(rows, self.begins)
        return [
            Piece(file, group, (rows[a:b] - begin).astype(np.uint32), places[a:b].astype(np.uint32))
            for (file, group), begin, a, b in zip(self.groups, self.begins, at[:-1], at[1:], strict=False)
            if a < b
        ]


class Table:
    """The Parquet files of a path."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @cached_property
    def data(self) -> ds.Dataset:
        path = Path(self.options.path)
        if not path.exists():
            raise WindrowError(f"replay: there is no file or folder {self.options.path!r}")
        files = [path] if path.is_file() else [file for file in sorted(path.iterdir()) if file.is_file()]
        names = [str(file.absolute()) for file in files if not file.name.startswith(("_", "."))]  # as Spark does
        if not names:
            raise WindrowError(f"replay: there are no Parquet files in {self.options.path!r}")
        try:
            return ds.dataset(names, format="parquet")
        except pa.ArrowInvalid:
            raise WindrowError(f"replay: {names[0]!r} is no Parquet file") from None

    @property
    def schema(self) -> pa.Schema:
        return self.data.schema

    def check(self) -> None:
        """Refuses a table that has no times in the column of that name."""
        name, schema = self.options.time, self.schema
        if name not in schema.names:
            raise WindrowError(f"replay: there is no column {name!r}; the columns are: {', '.join(schema.names)}")
        kind = schema.field(name).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            raise WindrowError(f"replay: column {name!r} holds {kind}, and times are timestamps or dates")

    def arrivals(self) -> Arrivals:
        """Who comes when: from the time column alone."""
        self.check()
        groups, counts, facts = list[tuple[str, int]](), list[int](), list[str]()
        for file in self.data.get_fragments():
            facts.append(Path(file.path).name)
            for group in file.row_groups:
                groups.append((file.path, group.id))
                counts.append(group.num_rows)
                facts.append(f"{group.num_rows} {group.total_byte_size}")
        options = self.options
        facts += [options.time, str(options.disorder), str(options.duplicates), str(options.seed), str(self.schema)]
        rows, when = order(self._times(), options.disorder, options.duplicates, options.seed)
        begins = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return Arrivals(rows, when, groups, begins, hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16])

    def _times(self) -> np.ndarray:
        column = self.data.to_table(columns=[self.options.time])[self.options.time]
        ticks = column.cast(pa.timestamp("us"), safe=False) if pa.types.is_date(column.type) else column
        if pa.types.is_timestamp(column.type):
            ticks = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        return pc.fill_null(ticks.cast(pa.int64()), int(FIRST)).to_numpy()


def order(times: np.ndarray, disorder: int, duplicates: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows in the order of their arrival, some of them twice, and when each arrives.

    >>> order(np.array([30, 10, 20]), disorder=0, duplicates=0.0, seed=0)[0].tolist()
    [1, 2, 0]
    """
    number = np.arange(len(times), dtype=np.int64)
    twice = number[_random(number, seed, 1) < duplicates * 2.0**64] if duplicates < 1 else number
    rows = np.concatenate([number, twice])
    delays = np.concatenate([_random(number, seed, 2), _random(twice, seed, 3)]) % np.uint64(disorder + 1)
    when = times[rows]
    when = np.where(when == FIRST, when, when + delays.astype(np.int64))
    at = np.lexsort((rows, when))
    return rows[at], when[at]


def _random(numbers: np.ndarray, seed: int, stream: int) -> np.ndarray:
    """64 random bits for each row, by its number (SplitMix64): the same for ever, which NumPy's generators do not
    promise, and a checkpoint may outlive them."""
    with np.errstate(over="ignore"):
        bits = (numbers.astype(np.uint64) * np.uint64(4) + np.uint64(stream)) * np.uint64(0x9E3779B97F4A7C15)
        bits += np.uint64(seed * 0xD1342543DE82EF95 % 2**64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        return bits ^ (bits >> np.uint64(31))


def _read(name: str, text: str, kind: type) -> Any:
    """A number, or None for "none"."""
    if text.strip().lower() == "none":
        return None
    try:
        return kind(text)
    except ValueError:
        raise WindrowError(f"replay: {name} is a number or 'none', not {text!r}") from None
